// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <optional>

#include "topologies/imports/internal/network_builder.hpp"

namespace foretrain {
namespace {

using imports::decimal_number;
using imports::import_lines;
using imports::in_quotes;

/// One end as a port line names it: LID and port, which are unique in a subnet.
struct LinkEnd {
  int lid = 0;
  int port = 0;
};

/// A line with ==( ... )==>.
struct LinkLine {
  std::string guid;  ///< of the near end; empty where the line has none
  std::string name;  ///< the same
  LinkEnd near;
  bool up = false;
  double gbit_per_second = 0.0;
  LinkEnd far;
  std::string far_guid;
  std::string far_name;
  int line = 0;
};

std::string take_quoted(std::string_view& text) {
  const std::size_t open = text.find('"');
  const std::size_t close = open == text.npos ? text.npos : text.find('"', open + 1);
  if (close == text.npos) return {};
  std::string name(trimmed(text.substr(open + 1, close - open - 1)));
  text = text.substr(0, open);
  return name;
}

/// "LID PORT[  ]", perhaps with a GUID before it.
std::optional<LinkEnd> end_of(std::string_view text, std::string& guid) {
  text = text.substr(0, text.find('['));
  const auto parts = blank_words(text);
  if (parts.size() < 2) return std::nullopt;
  const auto lid = count_in(parts[parts.size() - 2]);
  const auto port = count_in(parts.back());
  if (!lid || !port || *port > 1024) return std::nullopt;
  if (parts.front().starts_with("0x")) guid = parts.front();
  return LinkEnd{*lid, *port};
}

/// "4X 106.25 Gbps Active/ LinkUp": the rate is that of a lane.
void read_state(std::string_view state, LinkLine& link) {
  const auto parts = blank_words(state);
  link.up = state.find("LinkUp") != state.npos;
  if (!link.up) return;
  const int width =
      parts.empty() ? 0 : count_in(parts[0].substr(0, parts[0].find('X'))).value_or(0);
  const auto signalling = parts.size() < 2 ? std::nullopt : decimal_number(parts[1]);
  const auto lane = signalling ? lane_gbit(*signalling) : std::nullopt;
  if (!lane || width < 1 || width > 12)
    throw ImportError(link.line, in_quotes(trimmed(state)) +
                                     " is not a link state such as 4X 106.25 Gbps Active/ LinkUp");
  link.gbit_per_second = width * *lane;
}

LinkLine link_line(std::string_view line, int number) {
  LinkLine link;
  link.line = number;
  const std::size_t arrow = line.find("==(");
  const std::size_t head = line.find(")==>", arrow);
  if (head == line.npos) throw ImportError(number, "==( without )==>");
  std::string_view near = line.substr(0, arrow);
  if (near.find('"') != near.npos) {  // --line: GUID "NAME" LID PORT[ ]
    const std::size_t close = near.rfind('"');
    std::string_view before = near.substr(0, close + 1);
    link.name = take_quoted(before);
    link.guid = std::string(trimmed(before));
    near = near.substr(close + 1);
  }
  const auto end = end_of(near, link.guid);
  if (!end) throw ImportError(number, "no LID and port before ==(");
  link.near = *end;
  read_state(line.substr(arrow + 3, head - arrow - 3), link);
  if (!link.up) return link;
  std::string_view far = line.substr(head + 4);
  link.far_name = take_quoted(far);
  const auto other = end_of(far, link.far_guid);
  if (!other) throw ImportError(number, "no LID and port after ==>");
  link.far = *other;
  return link;
}

class LinkInfoReader {
 public:
  explicit LinkInfoReader(ImportNotes& notes) : builder_{notes}, notes_{notes} {}

  void read(std::string_view line, int number) {
    if (line.empty() || line.front() == '#') return;
    if (line.find("==(") != line.npos) return add(link_line(line, number));
    if (line.starts_with("Switch:") || line.starts_with("CA:") || line.starts_with("RT:"))
      return read_header(line, number);
    throw ImportError(number, in_quotes(line) +
                                  " is not a line of iblinkinfo: Switch:, CA: or a port "
                                  "with ==( ... )==> belongs there");
  }

  NetworkDescription finish() {
    if (links_.empty()) throw ImportError(0, "has no link that is up; write it with iblinkinfo");
    if (down_ > 0) notes_.ignored.push_back(std::to_string(down_) + " ports without a link");
    // Without headers, a node with more ports than adapters have is a switch.
    for (const LinkLine& link : links_)
      if (!link.name.empty()) is_switch_[link.near.lid] = ports_[link.near.lid] > 2;
    for (const LinkLine& link : links_) {
      builder_.add_node(id(link.near), switch_at(link.near), name_at(link), ports_[link.near.lid],
                        link.line);
      builder_.add_node(id(link.far), switch_at(link.far), link.far_name, 0, 0);
    }
    for (const LinkLine& link : links_)
      builder_.add_cable({id(link.near), link.near.port}, {id(link.far), link.far.port},
                         link.gbit_per_second, link.line);
    return builder_.finish();
  }

 private:
  void read_header(std::string_view line, int number) {
    header_switch_ = line.starts_with("Switch:");
    std::string_view name = trimmed(line.substr(line.find(':') + 1));
    if (name.ends_with(':')) name.remove_suffix(1);
    if (header_switch_ && name.starts_with("0x"))
      name = trimmed(name.substr(std::min(name.find(' '), name.size())));
    header_ = std::string(name);
    if (header_.empty()) throw ImportError(number, "a node without a name");
  }

  void add(LinkLine link) {
    if (link.name.empty() && header_.empty())
      throw ImportError(link.line, "a port before any Switch: or CA:");
    int& ports = ports_[link.near.lid];
    ports = std::max(ports, link.near.port);
    if (link.name.empty()) {
      is_switch_[link.near.lid] = header_switch_;
      names_[link.near.lid] = header_;
    }
    if (!link.up) {
      ++down_;
      return;
    }
    if (link.near.lid == 0 || link.far.lid == 0)
      throw ImportError(link.line, "LID 0 on a link that is up: is a subnet manager running?");
    links_.push_back(std::move(link));
  }

  [[nodiscard]] static std::string id(const LinkEnd& end) { return std::to_string(end.lid); }
  [[nodiscard]] bool switch_at(const LinkEnd& end) const {
    const auto found = is_switch_.find(end.lid);
    return found != is_switch_.end() && found->second;
  }
  [[nodiscard]] std::string name_at(const LinkLine& link) const {
    if (!link.name.empty()) return link.name;
    return names_.at(link.near.lid);
  }

  NetworkBuilder builder_;
  ImportNotes& notes_;
  std::vector<LinkLine> links_;
  std::map<int, bool> is_switch_;
  std::map<int, std::string> names_;
  std::map<int, int> ports_;
  std::string header_;
  bool header_switch_ = false;
  int down_ = 0;
};

}  // namespace

NetworkDescription import_iblinkinfo(std::string_view text, ImportNotes& notes) {
  LinkInfoReader reader(notes);
  int number = 0;
  for (const std::string_view line : import_lines(text)) reader.read(trimmed(line), ++number);
  return reader.finish();
}

}  // namespace foretrain
