// SPDX-License-Identifier: Apache-2.0

#include "scenarios/yaml/diagnostics.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace foretrain {
namespace {

/// A row of the table of well-formed byte sequences (Unicode 15, table 3-7): which second bytes may
/// follow these first ones. Further bytes are 0x80 to 0xBF.
struct Utf8Row {
  unsigned first;
  unsigned last;
  unsigned least_second;
  unsigned most_second;
  std::size_t length;
};
constexpr std::array<Utf8Row, 9> utf8_rows{{{0x00, 0x7F, 0, 0, 1},
                                            {0xC2, 0xDF, 0x80, 0xBF, 2},
                                            {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                            {0xE1, 0xEC, 0x80, 0xBF, 3},
                                            {0xED, 0xED, 0x80, 0x9F, 3},
                                            {0xEE, 0xEF, 0x80, 0xBF, 3},
                                            {0xF0, 0xF0, 0x90, 0xBF, 4},
                                            {0xF1, 0xF3, 0x80, 0xBF, 4},
                                            {0xF4, 0xF4, 0x80, 0x8F, 4}}};

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  if (at >= text.size()) return 1;
  for (const Utf8Row& row : utf8_rows) {
    if (byte(0) < row.first || byte(0) > row.last) continue;
    if (at + row.length > text.size()) return 0;
    if (row.length > 1 && (byte(1) < row.least_second || byte(1) > row.most_second)) return 0;
    for (std::size_t i = 2; i < row.length; ++i)
      if ((byte(i) & 0xC0U) != 0x80U) return 0;
    return row.length;
  }
  return 0;
}

char32_t code_point(std::string_view text, std::size_t at) {
  const std::size_t length = utf8_length(text, at);
  const auto lead = static_cast<unsigned char>(text[at]);
  char32_t code = length == 1 ? lead : lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i)
    code = (code << 6U) | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  return code;
}

bool acts_on_reader(char32_t code) {
  const auto within = [&](char32_t first, char32_t last) { return first <= code && code <= last; };
  return code < 0x20 || within(0x7F, 0x9F) || code == 0x61C || within(0x200E, 0x200F) ||
         within(0x2028, 0x202E) || within(0x2066, 0x2069) || within(0xFFFE, 0xFFFF);
}

std::optional<char32_t> find_acting(std::string_view text, std::string_view allowed) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length > 0) {
      const char32_t code = code_point(text, at);
      if (acts_on_reader(code) &&
          (code >= 0x80 || allowed.find(static_cast<char>(code)) == std::string_view::npos))
        return code;
    }
    at += length > 0 ? length : 1;
  }
  return std::nullopt;
}

std::string acting_refusal(char32_t code) {
  return fmt::format(
      "holds the character U+{:04X}, on which terminals, logs or browsers act; leave it out",
      static_cast<unsigned>(code));
}

std::string escaped(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const std::size_t bytes = length > 0 ? length : 1;
    if (length == 0 || acts_on_reader(code_point(text, at))) {
      for (const char byte : text.substr(at, bytes))
        result += byte == '\n' ? std::string("\\n")
                               : fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    } else {
      result += text.substr(at, bytes);
    }
    at += bytes;
  }
  return result;
}

std::string in_double_quotes(std::string_view text) {
  std::string quoted = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text, at));
    if (text[at] == '"' || text[at] == '\\') quoted += '\\';
    // Shown on terminals before anybody reads it back, who refuses it then.
    if (utf8_length(text, at) > 0 && acts_on_reader(code_point(text, at)))
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(code_point(text, at)));
    else
      quoted += text.substr(at, length);
    at += length;
  }
  return quoted + '"';
}

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

namespace {

constexpr std::size_t longest_quote = 60;

/// Short and made of letters, digits and `extra` only.
bool is_plain(std::string_view text, std::string_view extra) {
  const auto plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           extra.find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= longest_quote && std::ranges::all_of(text, plain);
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
  std::string result = escaped(file);
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
  std::ranges::stable_sort(result, [&](const Diagnostic& a, const Diagnostic& b) {
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
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text, at));
    result += escaped(text.substr(at, length));
    at += length;
  }
  return result + "'";
}

std::string printable_key(std::string_view key) {
  return is_plain(key, "_-+") ? std::string(key) : in_quotes(key);
}

std::string printable_path(std::string_view path) {
  return is_plain(path, "_-+.[]") ? std::string(path) : in_quotes(path);
}

std::string joined_or_none(const std::vector<std::string>& names) {
  return names.empty() ? "none" : joined(names);
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace foretrain
