// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"

namespace foretrain {

/// What became of a point of a sweep.
enum class PointStatus {
  ok,
  infeasible,  ///< the plan breaks a rule or does not fit
  invalid,     ///< the values contradict each other or the catalogs
  failed,      ///< no answer: a crash or a time-out of ours
};
FORETRAIN_ENUM_NAMES(PointStatus, {PointStatus::ok, "ok"}, {PointStatus::infeasible, "infeasible"},
                     {PointStatus::invalid, "invalid"}, {PointStatus::failed, "failed"});

/// The result of one point.
struct SweepRow {
  std::int64_t point = 0;
  std::string hash;  ///< of the resolved scenario, the program and the engine; empty where failed
  PointStatus status = PointStatus::ok;
  std::string rule;    ///< rules that were broken, "crash", "time-out" or "internal-error"
  std::string reason;  ///< in words; empty where ok
  std::vector<std::optional<double>> metrics;
};

/// Appends a row in the form that passes through pipes and messages between processes of one
/// machine type: a length, then the fields.
void encode_row(const SweepRow& row, std::string& bytes);

/// Takes the whole rows off the front of `bytes`; a row that is not complete yet stays.
[[nodiscard]] std::vector<SweepRow> decode_rows(std::string& bytes);

}  // namespace foretrain
