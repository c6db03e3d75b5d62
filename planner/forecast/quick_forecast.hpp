// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/forecast/closed_form.hpp"
#include "scenarios/resolve/scenario_family.hpp"

namespace foretrain {

/// What evaluate() starts from: the engine's forecast, with the step of a plan that lacks nothing
/// but memory. @pre engine is closed_form or path; what is recomputed is known
[[nodiscard]] Prediction forecast_job(const Job& job, AttentionFlops convention, EngineKind engine);

/// Whether this part of a forecast's JSON is the same before and after report_on() completes it:
/// all but remedies, percentiles, power and warnings.
[[nodiscard]] bool known_early(std::string_view section);

/// A top-level key of the JSON, with the values of report_json(), in one line; nothing for keys
/// that do not come from the prediction alone. @pre known_early(section)
[[nodiscard]] std::optional<std::string> section_json(const Prediction& prediction,
                                                      std::string_view section);

/// Forecasts of one scenario under ever new values of the same keys, as evaluate() makes them in
/// closed form, thousands a second: files are read once and only what differs is resolved anew.
class QuickForecasts {
 public:
  /// @param file an absolute path @param keys each once, none a group around another
  /// @throws ScenarioError where no choice of values can be forecast
  QuickForecasts(const std::filesystem::path& file, const std::vector<std::string>& keys,
                 const std::vector<std::filesystem::path>& catalogs,
                 const std::vector<std::string>& values);

  /// The forecast with these values, as for --set, in the order of the keys. Nothing where the plan
  /// must be read and judged as a whole: its values contradict each other, or what it recomputes is
  /// unknown. @throws ScenarioError for a value that its key refuses
  [[nodiscard]] std::optional<Prediction> forecast(const std::vector<std::string>& values);

  /// Whether no file changed that was read, and so few values were seen that they may be kept.
  [[nodiscard]] bool fresh() const;

 private:
  struct Stamp {
    std::filesystem::file_time_type time;
    std::uintmax_t size = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  [[nodiscard]] static std::optional<Stamp> stamp_of(const std::string& file);
  void watch();

  std::unique_ptr<ScenarioFamily> family_;
  std::map<std::string, std::optional<Stamp>> files_;
  std::size_t values_seen_ = 0;
};

}  // namespace foretrain
