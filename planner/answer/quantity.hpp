// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/base/prediction.hpp"
#include "planner/answer/step_part.hpp"
#include "planner/answer/verdict.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {

/// What a row of a forecast measures; how people read it follows from it, and what units a limit on
/// it may have.
enum class Measure {
  text,
  flag,
  whole,  ///< a number of a stage or rank, a year
  count,
  tokens,
  seconds,   ///< of a step
  duration,  ///< of a run
  bytes,
  flop,
  flop_rate,
  tflop_rate,
  token_rate,
  token_rate_per_gpu,
  share,
  dollars,
  kwh,
  kilograms,
  watts,
  small_watts,  ///< of one GPU
  watts_per_second
};

/// Nothing: unknown. Numbers that are not finite are unknown, too.
using QuantityValue = std::variant<std::monostate, bool, double, std::string>;

/// One row per number, flag and name of a forecast: what it is called, measured in, where it comes
/// from and what it means. JSON, schema, CSV, sweeps, budgets, baselines, comparisons and `explain`
/// read the rows; whoever adds one finds it in all of them.
struct ForecastQuantity {
  std::string path;  ///< of the JSON, "*" for an index: "memory.stages.*.peak_bytes"
  std::string_view label;
  Measure measure = Measure::count;
  std::function<QuantityValue(const Prediction&, std::size_t index)> get;
  std::string_view meaning;
  std::string_view formula;  ///< in words and symbols
  /// Paths that it is computed from, separated by blanks: scenario keys, or "@" and a path of the
  /// forecast.
  std::string inputs;
  ConstantLayers constants{};
  bool more_is_better = false;
  bool left_out = false;  ///< of the JSON where it is unknown, instead of null

  [[nodiscard]] bool is_number() const {
    return measure != Measure::text && measure != Measure::flag;
  }
  [[nodiscard]] bool in_list() const { return path.find('*') != std::string::npos; }
};

/// A list of the JSON and how long it is.
struct QuantityList {
  std::string_view path;  ///< "memory.stages"
  std::size_t (*size)(const Prediction&);
  bool left_out = false;  ///< of the JSON where it is empty
};

/// A row, and which element of its list.
struct QuantityAt {
  const ForecastQuantity* quantity = nullptr;
  std::size_t index = 0;

  /// The number; nothing where it is unknown or the row is no number.
  [[nodiscard]] std::optional<double> number(const Prediction& prediction) const;
};

/// The rows in the order of the JSON.
class Quantities {
 public:
  explicit Quantities(std::span<const StepPart> parts = step_parts());

  [[nodiscard]] const std::vector<ForecastQuantity>& rows() const { return rows_; }
  /// The row of a path of the JSON, list indices included.
  [[nodiscard]] std::optional<QuantityAt> find(std::string_view path) const;
  /// Paths of the rows, index 0 in lists, of which `wanted` is true.
  [[nodiscard]] std::vector<std::string> paths(bool (*wanted)(const ForecastQuantity&)) const;
  /// Paths that limits and metrics of a sweep may name.
  [[nodiscard]] std::vector<std::string> number_paths() const;

 private:
  std::vector<ForecastQuantity> rows_;
};
[[nodiscard]] const Quantities& quantities();

[[nodiscard]] std::span<const QuantityList> quantity_lists();
/// The elements of the list that a row belongs to; 1 for a row beside them.
[[nodiscard]] std::size_t elements(const ForecastQuantity& quantity, const Prediction& prediction);

/// A value as people read it, unit included; "unknown" for nothing.
[[nodiscard]] std::string quantity_text(Measure measure, const QuantityValue& value);
/// What a number at a path measures: its row's, else what the unit in its name says.
[[nodiscard]] Measure measure_of(std::string_view path);
/// The same of the number at a path, which may be no quantity at all.
[[nodiscard]] std::string quantity_text(std::string_view path, std::optional<double> number);
/// "4,232 to 8,464"; "from 77.1 ms, no upper bound" where the high end is infinite.
[[nodiscard]] std::string range_text(std::string_view path, const Banded& range);
/// What units a limit on it may have.
[[nodiscard]] Dimension dimension_of(Measure measure);

}  // namespace foretrain
