// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// A stretch of text, as byte offsets.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Where the nodes of a parsed text begin and end in it. Texts in forms that are not followed here
/// (plain scalars over several lines, explicit keys) give spans that are too short: whoever edits
/// by spans reads the result again.
class YamlSpans {
 public:
  explicit YamlSpans(std::string_view text);

  [[nodiscard]] std::size_t offset(const Mark& mark) const;
  [[nodiscard]] bool is_flow(const YamlNode& node) const;
  /// From its first to behind its last character. @pre node is not null
  [[nodiscard]] Span of(const YamlNode& node, bool in_flow) const;
  /// From the key to behind the value, or behind the colon where there is no value.
  [[nodiscard]] Span of(const YamlEntry& entry, bool in_flow) const;
  /// Behind the colon of an entry.
  [[nodiscard]] std::size_t behind_colon(const YamlEntry& entry) const;

  /// Start of the line that holds the offset.
  [[nodiscard]] std::size_t line_begin(std::size_t at) const;
  /// Behind the last character of that line, before its line end.
  [[nodiscard]] std::size_t line_end(std::size_t at) const;
  /// Start of the next line, or the end of the text.
  [[nodiscard]] std::size_t next_line(std::size_t at) const;

 private:
  [[nodiscard]] std::size_t quoted_end(std::size_t begin) const;
  [[nodiscard]] std::size_t plain_end(std::size_t begin, bool in_flow) const;
  [[nodiscard]] std::size_t block_scalar_end(std::size_t begin) const;
  [[nodiscard]] std::size_t bracket_end(std::size_t begin) const;

  std::string_view text_;
  std::vector<std::size_t> lines_;  ///< offsets of their first characters
};

}  // namespace foretrain
