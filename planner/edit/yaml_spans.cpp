// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "planner/edit/internal/yaml_spans.hpp"

namespace foretrain {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_break(char c) { return c == '\n' || c == '\r'; }

}  // namespace

YamlSpans::YamlSpans(std::string_view text) : text_{text}, lines_{0} {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") lines_.front() = 3;
  for (std::size_t at = 0; at < text.size(); ++at)
    if (text[at] == '\n') lines_.push_back(at + 1);
}

std::size_t YamlSpans::offset(const Mark& mark) const {
  if (mark.line < 1 || static_cast<std::size_t>(mark.line) > lines_.size()) return text_.size();
  const std::size_t line = lines_[static_cast<std::size_t>(mark.line - 1)];
  return std::min(text_.size(), line + static_cast<std::size_t>(std::max(0, mark.column - 1)));
}

bool YamlSpans::is_flow(const YamlNode& node) const {
  if (!node.is_map() && !node.is_sequence()) return false;
  const std::size_t at = offset(node.mark);
  return at < text_.size() && (text_[at] == '{' || text_[at] == '[');
}

Span YamlSpans::of(const YamlNode& node, bool in_flow) const {
  const std::size_t begin = offset(node.mark);
  if (begin >= text_.size()) return {begin, begin};
  if (is_flow(node)) return {begin, bracket_end(begin)};
  std::size_t end = begin;
  if (node.is_scalar()) {
    const char first = text_[begin];
    if (first == '"' || first == '\'') return {begin, quoted_end(begin)};
    if (!in_flow && (first == '|' || first == '>')) return {begin, block_scalar_end(begin)};
    return {begin, plain_end(begin, in_flow)};
  }
  for (const YamlEntry& entry : node.entries) end = std::max(end, of(entry, false).end);
  for (const YamlNode& item : node.items)
    if (!item.is_null()) end = std::max(end, of(item, false).end);
  return {begin, end};
}

Span YamlSpans::of(const YamlEntry& entry, bool in_flow) const {
  const std::size_t begin = offset(entry.mark);
  if (entry.value.is_null() && !entry.value.refused) return {begin, behind_colon(entry)};
  return {begin, std::max(behind_colon(entry), of(entry.value, in_flow).end)};
}

std::size_t YamlSpans::behind_colon(const YamlEntry& entry) const {
  std::size_t at = offset(entry.mark);
  if (at >= text_.size()) return text_.size();
  at = text_[at] == '"' || text_[at] == '\'' ? quoted_end(at) : at + entry.key.size();
  while (at < text_.size() && is_blank(text_[at])) ++at;
  return at < text_.size() && text_[at] == ':' ? at + 1 : at;
}

std::size_t YamlSpans::line_begin(std::size_t at) const {
  const auto after = std::upper_bound(lines_.begin(), lines_.end(), at);
  return after == lines_.begin() ? lines_.front() : *(after - 1);
}

std::size_t YamlSpans::line_end(std::size_t at) const {
  std::size_t end = std::min(text_.find('\n', at), text_.size());
  if (end > at && end < text_.size() && text_[end - 1] == '\r') --end;
  return end;
}

std::size_t YamlSpans::next_line(std::size_t at) const {
  const std::size_t end = text_.find('\n', at);
  return end == std::string_view::npos ? text_.size() : end + 1;
}

std::size_t YamlSpans::quoted_end(std::size_t begin) const {
  const char quote = text_[begin];
  for (std::size_t at = begin + 1; at < text_.size(); ++at) {
    if (quote == '"' && text_[at] == '\\') {
      ++at;
    } else if (text_[at] == quote) {
      if (quote != '\'' || at + 1 >= text_.size() || text_[at + 1] != '\'') return at + 1;
      ++at;
    }
  }
  return text_.size();
}

std::size_t YamlSpans::plain_end(std::size_t begin, bool in_flow) const {
  std::size_t at = begin;
  for (; at < text_.size() && !is_break(text_[at]); ++at) {
    if (text_[at] == '#' && at > begin && is_blank(text_[at - 1])) break;
    if (in_flow && (text_[at] == ',' || text_[at] == '}' || text_[at] == ']')) break;
  }
  while (at > begin && is_blank(text_[at - 1])) --at;
  return at;
}

std::size_t YamlSpans::block_scalar_end(std::size_t begin) const {
  const auto indent = [&](std::size_t line) {
    const std::size_t first = text_.find_first_not_of(' ', line);
    return first == std::string_view::npos ? text_.size() - line : first - line;
  };
  const std::size_t own = indent(line_begin(begin));
  std::size_t end = line_end(begin);
  for (std::size_t line = next_line(begin); line < text_.size(); line = next_line(line)) {
    const bool empty = line_end(line) == line + indent(line);
    if (!empty && indent(line) <= own) break;
    if (!empty) end = line_end(line);
  }
  return end;
}

std::size_t YamlSpans::bracket_end(std::size_t begin) const {
  std::size_t depth = 0;
  for (std::size_t at = begin; at < text_.size(); ++at) {
    const char c = text_[at];
    const bool word_begin = is_blank(text_[at - (at > begin ? 1 : 0)]) || at == begin ||
                            text_[at - 1] == ',' || text_[at - 1] == '[' || text_[at - 1] == '{' ||
                            text_[at - 1] == ':' || is_break(text_[at - 1]);
    if ((c == '"' || c == '\'') && word_begin) {
      at = quoted_end(at) - 1;
    } else if (c == '#' && (is_blank(text_[at - 1]) || is_break(text_[at - 1]))) {
      at = line_end(at);
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return text_.size();
}

}  // namespace foretrain
