// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/fields/field_reader.hpp"
#include "scenarios/yaml/load_options.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// A scenario document with its `extends` chain and the overrides folded in. Every node keeps the
/// mark of the file or flag it comes from.
struct ComposedDocument {
  YamlNode root;
  Document state = Document::whole;  ///< partial: a base or an override could not be read
  bool readable = false;             ///< false: the scenario file itself gave no tree
  std::vector<SourceFile> files;     ///< the scenario first, then its bases
};

/// Longest chain of `extends`.
inline constexpr int extends_depth = 8;

/// Folds `text`, the bases that it extends, and `options.overrides` into one document,
/// without `options.left_out`.
/// `name` stands for the file in messages; `folder` is where it lies. Bases must lie in `folder`,
/// in a folder below it, below `options.root`, or in one of `options.catalogs`, also after
/// following symbolic links.
[[nodiscard]] ComposedDocument compose_scenario(const std::string& text, const std::string& name,
                                                const std::filesystem::path& folder,
                                                const LoadOptions& options,
                                                Diagnostics& diagnostics);

/// `over` wins over `base`: groups are merged key by key, everything else is replaced. A base
/// group in scalar form counts as the group that it stands for; a scalar in `over` replaces a whole
/// group. Marks of merged groups are `over`'s.
[[nodiscard]] YamlNode merge_documents(YamlNode base, YamlNode over, const FieldTable& table,
                                       const std::string& path = {});

/// The one-value document that `--set path=value` stands for; `ordinal` counts the flags from 1 and
/// is the line number in messages. Nothing, with diagnostics, when it is malformed.
[[nodiscard]] std::optional<YamlNode> parse_override(const std::string& text, int ordinal,
                                                     const FieldTable& table,
                                                     Diagnostics& diagnostics);

}  // namespace foretrain
