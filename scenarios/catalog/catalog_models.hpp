// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/huggingface/huggingface.hpp"

namespace foretrain {

/// Whether a published parameter count is exact, or what was done to its last digit.
enum class CountRounding { exact, nearest, down };
FORETRAIN_ENUM_NAMES(CountRounding, {CountRounding::exact, "exact"},
                     {CountRounding::nearest, "nearest"}, {CountRounding::down, "down"});

enum class CountScope { all, without_embeddings };
FORETRAIN_ENUM_NAMES(CountScope, {CountScope::all, "all"},
                     {CountScope::without_embeddings, "without-embeddings"});

/// The parameter count that a model's publisher states.
struct PublishedCount {
  double parameters = 0.0;
  double last_digit = 1.0;  ///< value of one unit of the last printed digit: 1e8 for "145.6 B"
  CountRounding rounding = CountRounding::exact;
  CountScope scope = CountScope::all;
};

struct ModelEntry {
  LlmShape shape;
  std::optional<PublishedCount> published;
  std::optional<PackedCheckpoint> packed{};  ///< of a config.json
};

/// A model of the catalog, or of the file that the request names by a path.
[[nodiscard]] std::optional<ModelEntry> load_model_entry(const CatalogRequest& request,
                                                         CatalogContext& context);
/// The same for a known file. `prefix` and `asked_by` as for read_item().
[[nodiscard]] std::optional<ModelEntry> read_model(const CatalogFile& file,
                                                   const std::string& prefix,
                                                   CatalogContext& context,
                                                   const CatalogRequest* asked_by = nullptr);

[[nodiscard]] const FieldTable& model_fields();

}  // namespace foretrain
