// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "calibration/fit/own_constants.hpp"
#include "planner/answer/answer.hpp"

namespace foretrain {

struct OwnWorthRequest {
  std::vector<std::filesystem::path> catalogs = {};  ///< extra catalog roots, searched first
  std::vector<std::string> sources = {};             ///< empty: all with enough runs
  OwnDrawsOptions draws = {};
  std::filesystem::path cache = {};  ///< calibration/fit/fold_cache.hpp; empty: none
  /// Called before a source is fitted without: its name, and how many are done of all.
  std::function<void(const std::string&, std::size_t, std::size_t)> progress = {};
};

/// What a few runs of one's own are worth: for every source of published runs, profiles fitted
/// without it, then some of its runs drawn and fitted as one's own, and the error of its others.
/// Runs that no fit reads (public_runs.yaml) are among them.
struct OwnWorth {
  std::vector<int> fitted;  ///< numbers of runs drawn
  int draws = 0;
  std::vector<OwnDraws> fitted_sources;  ///< sources that the shipped constants were fitted on
  std::vector<OwnDraws> unread_sources;  ///< sources that no fit reads
  bool stopped = false;
};

/// @throws UsageError, ScenarioError with places
[[nodiscard]] OwnWorth own_worth(const OwnWorthRequest& request);

[[nodiscard]] Answer own_worth_answer(const OwnWorth& worth);
/// {"schema": "own-worth/1", "draws", "fitted": [...], "sources": [{"source", "runs", "read",
/// "before", "after": [...]}]}
[[nodiscard]] std::string own_worth_json(const OwnWorth& worth);

}  // namespace foretrain
