// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

struct YamlEntry;

/// One node of a YAML document that passed every limit. Plain data: no alias, no tag, no cycle,
/// no duplicate key, and every map key is a scalar.
struct YamlNode {
  enum class Kind { null, scalar, sequence, map };

  Kind kind = Kind::null;
  std::string text;      ///< of a scalar, as written
  bool quoted = false;   ///< scalar written in quotes or as a block
  bool refused = false;  ///< stands for an alias or a tagged value; reported already
  Mark mark;
  std::vector<YamlNode> items;     ///< of a sequence
  std::vector<YamlEntry> entries;  ///< of a map, in file order

  [[nodiscard]] bool is_null() const { return kind == Kind::null; }
  [[nodiscard]] bool is_scalar() const { return kind == Kind::scalar; }
  [[nodiscard]] bool is_sequence() const { return kind == Kind::sequence; }
  [[nodiscard]] bool is_map() const { return kind == Kind::map; }
  /// The value under `key`; null pointer when this is no map or has no such key.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  Mark mark;  ///< of the key
  YamlNode value;
};

/// What a file may ask of us before we give up on it.
struct YamlLimits {
  std::size_t file_bytes = std::size_t{1} << 20;
  std::size_t nesting = 64;
  std::size_t nodes = 100'000;
  std::size_t string_bytes = 4096;
};

/// Where a text starts in what the user wrote; both from 1.
struct TextStart {
  int line = 1;
  int column = 1;
};

/// Parses one YAML 1.2 document (JSON is a subset of it). Anchors, aliases, tags, a second
/// document, duplicate keys, non-scalar keys, text that is not UTF-8 and anything over `limits`
/// become diagnostics under `name`.
/// @return the tree; nothing when an error left no usable tree. A tree may come back together with
///   new diagnostics, so that the rest of the file can be checked too.
[[nodiscard]] std::optional<YamlNode> parse_yaml(std::string_view text, const std::string& name,
                                                 const YamlLimits& limits, Diagnostics& diagnostics,
                                                 TextStart start = {});

}  // namespace foretrain
