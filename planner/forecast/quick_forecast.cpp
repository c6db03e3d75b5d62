// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/quick_forecast.hpp"

#include <algorithm>
#include <utility>

#include "models/base/require.hpp"
#include "planner/answer/json_of.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/text/json.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

/// Each value that a family knows takes about a kilobyte.
constexpr std::size_t most_values = 20'000;

FamilyBase base_of(const fs::path& file, const std::vector<fs::path>& catalogs) {
  Diagnostics diagnostics;
  const auto text = read_text_file(file, file.string(), YamlLimits{}.file_bytes, diagnostics);
  diagnostics.throw_if_any();
  FamilyBase base;
  base.text = *text;
  base.name = file.string();
  base.folder = file.parent_path();
  base.options.catalogs = catalogs;
  base.options.root = repository_of(base.folder);
  return base;
}

}  // namespace

bool known_early(std::string_view section) {
  return section != "reasons" && section != "run" && section != "power" && section != "warnings";
}

std::optional<std::string> section_json(const Prediction& prediction, std::string_view section) {
  FORETRAIN_REQUIRE(known_early(section));
  const Prediction shown = as_if_it_fit(prediction);
  const Json tree = json_of(value_of_rows(quantities().table(), &shown, section));
  const auto found = tree.find(std::string(section));
  if (found == tree.end()) return std::nullopt;
  return found->dump(-1, ' ', false, Json::error_handler_t::replace);
}

QuickForecasts::QuickForecasts(const fs::path& file, const std::vector<std::string>& keys,
                               const std::vector<fs::path>& catalogs,
                               const std::vector<std::string>& values) {
  FORETRAIN_REQUIRE(file.is_absolute() && keys.size() == values.size());
  files_[file.string()] = stamp_of(file.string());
  std::vector<FamilyKey> family;
  for (std::size_t key = 0; key < keys.size(); ++key) family.push_back({keys[key], {values[key]}});
  family_ = std::make_unique<ScenarioFamily>(base_of(file, catalogs), std::move(family));
  watch();
}

std::optional<Prediction> QuickForecasts::forecast(const std::vector<std::string>& values) {
  std::vector<std::size_t> chosen;
  for (std::size_t key = 0; key < values.size(); ++key) {
    chosen.push_back(family_->value_number(key, values[key]));
    values_seen_ = std::max(values_seen_, chosen.back());
  }
  const FamilyMember& member = family_->resolve(chosen);
  watch();
  if (!member.errors.empty()) return std::nullopt;
  if (family_->job().memory.recompute.kind == RecomputeKind::unknown) return std::nullopt;
  return forecast_job(family_->job(), AttentionFlops::full, EngineKind::closed_form);
}

bool QuickForecasts::fresh() const {
  return values_seen_ < most_values && std::ranges::all_of(files_, [](const auto& file) {
           return !file.second || stamp_of(file.first) == file.second;
         });
}

std::optional<QuickForecasts::Stamp> QuickForecasts::stamp_of(const std::string& file) {
  std::error_code error;
  Stamp stamp{fs::last_write_time(file, error), 0};
  if (error) return std::nullopt;
  stamp.size = fs::file_size(file, error);
  return error ? std::nullopt : std::optional(stamp);
}

/// Takes note of files that were read since. Those of the installation's catalogs, whose names are
/// not absolute, are taken to stay as they are.
void QuickForecasts::watch() {
  if (files_.size() >= family_->files_read().size()) return;
  for (const std::string& file : family_->files_read())
    if (files_.count(file) == 0)
      files_[file] = fs::path(file).is_absolute() ? stamp_of(file) : std::nullopt;
}

}  // namespace foretrain
