// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/fit/internal/numeric_fit.hpp"
#include "models/base/require.hpp"
#include "scenarios/fields/key_rows.hpp"

namespace foretrain {

/// A constant that a fit moves: where it lies, the unit that the fit counts in, and its prior in
/// that unit.
struct FitSlot {
  std::string key;  ///< of the profile's file
  KeySlot slot;
  std::string unit;    ///< as files write it, " us"; empty: a number
  double scale = 1.0;  ///< of the unit in base units
  NumericConstant constant;

  /// @param owner the struct that the slot is of
  template <class T>
  void set(T& owner, double value) const {
    FORETRAIN_REQUIRE(slot.owner == &default_made<T>());
    slot.ops->set_number(slot.make(&owner), value * scale);
  }
};

/// The constant of a key of a profile's table. @pre the table has the key, a number
[[nodiscard]] inline FitSlot fit_slot(const RowTable& table, std::string_view key,
                                      const NumericConstant& constant) {
  const KeyRow* const row = table.find(key);
  FORETRAIN_REQUIRE(row != nullptr && row->slot.ops->number != nullptr);
  return {row->field.path, row->slot, "", 1.0, constant};
}

/// The same in a unit: " us" with 1e-6.
[[nodiscard]] inline FitSlot fit_slot(const RowTable& table, std::string_view key,
                                      const NumericConstant& constant, std::string unit,
                                      double scale) {
  FitSlot slot = fit_slot(table, key, constant);
  slot.unit = std::move(unit);
  slot.scale = scale;
  return slot;
}

[[nodiscard]] inline std::vector<NumericConstant> constants_of(const std::vector<FitSlot>& slots) {
  std::vector<NumericConstant> constants;
  for (const FitSlot& slot : slots) constants.push_back(slot.constant);
  return constants;
}

}  // namespace foretrain
