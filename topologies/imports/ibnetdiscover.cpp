// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "topologies/imports/internal/network_builder.hpp"

namespace foretrain {
namespace {

using imports::import_lines;
using imports::in_quotes;

/// Reads a line from left to right.
class Cursor {
 public:
  Cursor(std::string_view rest, int line) : rest_{rest}, line_{line} {}

  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
  }
  [[nodiscard]] bool takes(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// What stands up to `end`, which is taken too.
  [[nodiscard]] std::string_view until(char end, const char* what) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) fail(what);
    const std::string_view found = rest_.substr(0, at);
    rest_.remove_prefix(at + 1);
    return found;
  }
  /// [12], perhaps with [ext 3] behind it.
  [[nodiscard]] int port() {
    if (!takes('[')) fail("a port in brackets");
    const auto number = count_in(until(']', "the ] of a port"));
    if (!number || *number > 1024) fail("a port from 0 to 1024");
    if (rest_.starts_with("[ext")) (void)until(']', "the ] of an external port");
    return *number;
  }
  [[nodiscard]] std::string id() {
    skip_blanks();
    if (!takes('"')) fail("an id in quotes");
    return std::string(until('"', "the closing quote of an id"));
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[noreturn]] void fail(const char* wanted) const {
    throw ImportError(line_, std::string(wanted) + " is missing before " + in_quotes(rest_));
  }

 private:
  std::string_view rest_;
  int line_;
};

/// The text between the last two quotes.
std::string_view last_quoted(std::string_view text) {
  const std::size_t close = text.rfind('"');
  if (close == std::string_view::npos || close == 0) return {};
  const std::size_t open = text.rfind('"', close - 1);
  return open == std::string_view::npos ? std::string_view{}
                                        : text.substr(open + 1, close - open - 1);
}

/// 4xNDR at the end of a line.
double rate_of(std::string_view line, int number) {
  const auto parts = blank_words(line);
  const std::string_view rate = parts.empty() ? std::string_view{} : parts.back();
  const std::size_t x = rate.find('x');
  if (x == std::string_view::npos) return 0.0;  // old versions do not print it
  const int width = count_in(rate.substr(0, x)).value_or(0);
  const auto lane = lane_gbit(rate.substr(x + 1));
  if (!lane || width < 1 || width > 12)
    throw ImportError(number, in_quotes(rate) + " is not a rate such as 4xHDR");
  return width * *lane;
}

class DiscoverReader {
 public:
  explicit DiscoverReader(ImportNotes& notes) : builder_{notes}, notes_{notes} {}

  void read(std::string_view line, int number) {
    if (line.empty() || line.front() == '#') return;
    if (line.front() == '[') return read_port(line, number);
    const auto parts = blank_words(line);
    const std::string_view kind = parts.empty() ? std::string_view{} : parts.front();
    if (kind == "Switch" || kind == "Ca" || kind == "Rt") return read_node(line, kind, number);
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos && line.find(' ') == std::string_view::npos) return;
    if (line.starts_with("Chassis") || line.starts_with("Spine") || line.starts_with("Line") ||
        line.starts_with("DR path"))
      return;
    throw ImportError(number, in_quotes(line) +
                                  " is not a line of ibnetdiscover: Switch, Ca, Rt, [port] "
                                  "or key=value belongs there");
  }

  NetworkDescription finish() {
    if (current_.empty())
      throw ImportError(0,
                        "has no line that begins with Switch or Ca; write it with ibnetdiscover");
    return builder_.finish();
  }

 private:
  /// Switch  40 "S-b8ce..."   # "MF0;leaf-1:MQM8790/U1" enhanced port 0 lid 1 lmc 0
  void read_node(std::string_view line, std::string_view kind, int number) {
    const auto parts = blank_words(line);
    const auto ports = parts.size() > 1 ? count_in(parts[1]) : std::nullopt;
    if (!ports || *ports > 1024)
      throw ImportError(number,
                        in_quotes(line) + " has no number of ports after " + in_quotes(kind));
    Cursor cursor(line.substr(std::min(line.find('"'), line.size())), number);
    current_ = cursor.id();
    const std::string_view named = last_quoted(cursor.rest());
    builder_.add_node(current_, kind == "Switch", named.empty() ? current_ : named, *ports, number);
    if (kind == "Rt") notes_.ignored.push_back("the router " + in_quotes(named));
    skip_ = kind == "Rt";
  }

  /// [21]  "S-b8ce..."[1]   # "MF0;spine-1:MQM8790/U1" lid 2 4xHDR
  void read_port(std::string_view line, int number) {
    if (current_.empty()) throw ImportError(number, "a port before any Switch or Ca");
    if (skip_) return;
    Cursor cursor(line, number);
    const int port = cursor.port();
    if (cursor.takes('(')) (void)cursor.until(')', "the ) of a GUID");
    const std::string peer = cursor.id();
    const int peer_port = cursor.port();
    if (peer.starts_with("R-")) return;
    const std::string_view named = last_quoted(cursor.rest());
    builder_.add_node(peer, peer.starts_with("S-"), named.empty() ? peer : named, 0, 0);
    builder_.add_cable({current_, port}, {peer, peer_port}, rate_of(line, number), number);
  }

  NetworkBuilder builder_;
  ImportNotes& notes_;
  std::string current_;
  bool skip_ = false;
};

}  // namespace

NetworkDescription import_ibnetdiscover(std::string_view text, ImportNotes& notes) {
  DiscoverReader reader(notes);
  int number = 0;
  for (const std::string_view line : import_lines(text)) reader.read(trimmed(line), ++number);
  return reader.finish();
}

}  // namespace foretrain
