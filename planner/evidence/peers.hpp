// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/validate/peer_errors.hpp"
#include "planner/answer/answer.hpp"

namespace foretrain {

/// The shipped calibration/peers/errors.yaml with our errors of these step times.
/// @throws UsageError when it cannot be read or no record belongs to a family, ScenarioError
[[nodiscard]] std::vector<PeerComparison> compare_with_peers(
    const std::vector<RecordCheck>& checks, const std::vector<std::filesystem::path>& catalogs);

/// A table of mean absolute errors and where those of the others are from; `left_out`: ours are of
/// sources that the profiles were not fitted on.
[[nodiscard]] Answer peers_answer(const std::vector<PeerComparison>& lines, bool left_out);
/// {"left_out": bool, "families": [...]}, errors in percent
[[nodiscard]] std::string peers_json(const std::vector<PeerComparison>& lines, bool left_out);

}  // namespace foretrain
