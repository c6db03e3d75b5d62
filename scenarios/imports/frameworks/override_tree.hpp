// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// A word `key=value`, `+key=value` or `~key=value` of Hydra, NeMo-Run or OmegaConf; false for
/// anything else.
[[nodiscard]] bool is_override(std::string_view word);

/// Words `key=value` at the end of a text, without the quotes of a shell and without the
/// backslashes of continued lines; they are taken off it.
[[nodiscard]] std::vector<std::string> split_overrides(std::string& text);

/// A scalar.
[[nodiscard]] YamlNode text_node(std::string text, const Mark& mark);

/// The empty map that stands at the top of a source.
[[nodiscard]] YamlNode empty_map(const Mark& mark);

/// Puts a value at a dotted path of a tree; what stands there is replaced, and a scalar on the way
/// becomes a map that keeps its text.
void put_value(YamlNode& root, const std::string& path, YamlNode value);

/// Puts `key=value` into a tree; a value in brackets or braces is read as YAML. Nothing for paths
/// of more than 20 keys.
void put_override(YamlNode& root, const std::string& word, const Mark& mark);

/// Puts every value of `over` into `root`: maps key by key, lists and scalars as a whole.
void merge_tree(YamlNode& root, const YamlNode& over);

/// Puts what `${group.key}` and `${.key}`, a key beside it, stand for in their place, as OmegaConf
/// reads them; references to references up to eight deep. What refers to nothing stays.
void resolve_references(YamlNode& root);

/// Takes the value at a dotted path out of a tree; nothing where there is none.
[[nodiscard]] std::optional<YamlNode> take_out(YamlNode& root, std::string_view path);

/// The node at a dotted path; null pointer where there is none.
[[nodiscard]] const YamlNode* node_at(const YamlNode& root, std::string_view path);

}  // namespace foretrain
