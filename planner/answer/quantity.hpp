// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/prediction.hpp"
#include "planner/answer/prediction_parts.hpp"
#include "planner/answer/value_rows.hpp"
#include "planner/answer/verdict.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {

/// A row, and which element of its list.
struct QuantityAt {
  const ValueRow* quantity = nullptr;
  std::size_t index = 0;

  /// The number; nothing where it is unknown or the row is no number.
  [[nodiscard]] std::optional<double> number(const Prediction& prediction) const;
};

/// The rows of a forecast in the order of the JSON.
class Quantities {
 public:
  explicit Quantities(std::span<const StepPart> parts = step_parts());

  [[nodiscard]] const std::vector<ValueRow>& rows() const { return table_.rows; }
  /// The same with its lists and groups, of Prediction.
  [[nodiscard]] const ValueRows& table() const { return table_; }
  /// The row of a path of the JSON, list indices included.
  [[nodiscard]] std::optional<QuantityAt> find(std::string_view path) const;
  /// Paths of the rows, index 0 in lists, of which `wanted` is true.
  [[nodiscard]] std::vector<std::string> paths(bool (*wanted)(const ValueRow&)) const;
  /// Paths that limits and metrics of a sweep may name.
  [[nodiscard]] std::vector<std::string> number_paths() const;

 private:
  ValueRows table_;
};
[[nodiscard]] const Quantities& quantities();

/// A value as people read it, unit included; "unknown" for nothing.
[[nodiscard]] std::string quantity_text(Measure measure, const Value& value);
/// What a number at a path measures: its row's, else what the unit in its name says.
[[nodiscard]] Measure measure_of(std::string_view path);
/// The same of the number at a path, which may be no quantity at all.
[[nodiscard]] std::string quantity_text(std::string_view path, std::optional<double> number);
/// "4,232 to 8,464"; "from 77.1 ms, no upper bound" where the high end is infinite.
[[nodiscard]] std::string range_text(std::string_view path, const Banded& range);
/// What units a limit on it may have.
[[nodiscard]] Dimension dimension_of(Measure measure);

}  // namespace foretrain
