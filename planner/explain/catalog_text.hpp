// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// The resolved scenario: every value with its origin, then the files that took part.
[[nodiscard]] Answer scenario_answer(const Scenario& scenario);
/// Where a value of `scenario` comes from, in few columns: "line 8" for the scenario's own file,
/// "dgx-h100:5" for other files, everything else as it is.
[[nodiscard]] std::string short_origin(const Scenario& scenario, const std::string& origin);
/// {schema: "scenario/1", scenario: {nested}, values: [{path, value, origin}], files: [...]}
[[nodiscard]] std::string scenario_json(const Scenario& scenario);

/// A catalog: per entry name, title and the numbers people choose by; then the files with errors.
[[nodiscard]] Answer catalog_answer(const CatalogListing& catalog, const std::string& kind);
/// {schema: "catalog/1", entries: [...], broken: [{name, problems}]}
[[nodiscard]] std::string catalog_json(const CatalogListing& catalog);

/// One entry: its summary, then its file with values, sources and dates as they stand, then what
/// it has from its relatives (`inherited_values()`), each with the place that says it.
/// @throws UsageError when the file cannot be read
[[nodiscard]] std::string catalog_entry_text(const CatalogEntry& entry,
                                             const std::vector<ResolvedValue>& inherited,
                                             const TextStyle& style);
[[nodiscard]] std::string catalog_entry_json(const CatalogEntry& entry,
                                             const std::vector<ResolvedValue>& inherited);

}  // namespace foretrain
