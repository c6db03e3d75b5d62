// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "scenarios/catalog/catalog.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/fields/field_reader.hpp"

namespace foretrain {

/// `like: NAME` in a catalog file: what the file does not say, the entry of that name and kind
/// says. scenarios/README.md, "Entries that are like others", has the rules.
inline constexpr std::string_view like_key = "like";

/// Longest chain of relatives.
inline constexpr std::size_t like_depth = 8;

/// The file that `like` names, of the kind of the last of `chain`: the file that says so and those
/// that are like it. A file is not its own relative, so that an entry of a catalog folder may be
/// like the built-in one of its name. Nothing after reporting why at `like`.
[[nodiscard]] std::optional<CatalogFile> find_relative(const YamlNode& like,
                                                       const std::vector<CatalogFile>& chain,
                                                       CatalogContext& context);

/// `own` completed by its relative's document, key by key; every node keeps the mark of the file
/// that says it. Keys about the file itself (name, sources, provenance, ...) are not inherited, a
/// deviation goes with its value.
[[nodiscard]] YamlNode completed_by(YamlNode relative, YamlNode own, const FieldTable& table);

/// Whether the file says the value itself; else a relative or a default does.
[[nodiscard]] bool is_own(const FieldValue& value, const CatalogFile& file);
[[nodiscard]] bool is_own(const Mark& mark, const CatalogFile& file);

}  // namespace foretrain
