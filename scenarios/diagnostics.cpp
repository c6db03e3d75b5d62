// SPDX-License-Identifier: Apache-2.0
#include "scenarios/diagnostics.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace foretrain {
namespace {

constexpr std::size_t longest_quote = 60;

/// Length of the UTF-8 sequence that starts at `at`; 0 when it is not well formed.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xC0U) != 0x80U) return 0;
  return length;
}

/// Acts on a terminal instead of being shown: C0, DEL and, as UTF-8, C1 (U+0080 to U+009F).
bool is_control(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte == 0xC2 && at + 1 < text.size()) return static_cast<unsigned char>(text[at + 1]) < 0xA0;
  return byte < 0x20 || byte == 0x7F;
}

/// Short and made of letters, digits and `extra` only.
bool is_plain(std::string_view text, std::string_view extra) {
  const auto plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           extra.find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= longest_quote &&
         std::all_of(text.begin(), text.end(), plain);
}

std::string join_lines(const std::vector<Diagnostic>& diagnostics) {
  std::string result;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!result.empty()) result += '\n';
    result += diagnostic.text();
  }
  return result;
}

}  // namespace

std::string Diagnostic::text() const {
  std::string result = file;
  if (line > 0)
    result += column > 0 ? fmt::format(":{}:{}", line, column) : fmt::format(":{}", line);
  if (!result.empty()) result += ": ";
  if (!path.empty()) result += path + ": ";
  return result + message;
}

ScenarioError::ScenarioError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(join_lines(diagnostics)), diagnostics_(std::move(diagnostics)) {}

std::string Mark::origin() const {
  if (!file) return {};
  return line > 0 && *file != "--set" ? fmt::format("{}:{}", *file, line) : *file;
}

void Diagnostics::add(const Mark& mark, std::string_view path, std::string message) {
  add({mark.file ? *mark.file : std::string{}, mark.line, mark.column, std::string(path),
       std::move(message)});
}

void Diagnostics::add(Diagnostic diagnostic) {
  ++count_;
  if (items_.size() < capacity) items_.push_back(std::move(diagnostic));
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::map<std::string, std::size_t> file_order;
  for (const Diagnostic& item : items_) file_order.emplace(item.file, file_order.size());
  std::vector<Diagnostic> result = items_;
  std::stable_sort(result.begin(), result.end(), [&](const Diagnostic& a, const Diagnostic& b) {
    return std::tuple(file_order.at(a.file), a.line, a.column) <
           std::tuple(file_order.at(b.file), b.line, b.column);
  });
  const auto same = [](const Diagnostic& a, const Diagnostic& b) { return a.text() == b.text(); };
  result.erase(std::unique(result.begin(), result.end(), same), result.end());
  if (count_ > items_.size())
    result.push_back(
        {{}, 0, 0, {}, fmt::format("{} more errors are not listed", count_ - items_.size())});
  return result;
}

void Diagnostics::throw_if_any() const {
  if (!empty()) throw ScenarioError(sorted());
}

std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (std::size_t at = 0; at < text.size();) {
    if (result.size() > longest_quote) {
      result += "...";
      break;
    }
    const std::size_t length = utf8_length(text, at);
    if (length == 0 || is_control(text, at)) {
      // Byte by byte; what follows the first byte of a sequence starts none, so it is escaped, too.
      const auto byte = static_cast<unsigned char>(text[at]);
      result += byte == '\n' ? std::string("\\n") : fmt::format("\\x{:02x}", byte);
      ++at;
    } else {
      result.append(text, at, length);
      at += length;
    }
  }
  return result + "'";
}

std::string printable_key(std::string_view key) {
  return is_plain(key, "_-+") ? std::string(key) : in_quotes(key);
}

std::string printable_path(std::string_view path) {
  return is_plain(path, "_-+.[]") ? std::string(path) : in_quotes(path);
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace foretrain
