// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "planner/forecast/report.hpp"
#include "planner/forecast/search_limits.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// Whether a plan with this schedule says how many chunks of layers a stage has; of names that no
/// schedule has, as of the default.
[[nodiscard]] bool runs_chosen_chunks(std::string_view schedule);

/// The schedule that frameworks run in its place with several chunks per stage, or with one.
[[nodiscard]] std::string schedule_for_chunks(std::string_view schedule, bool several);

/// What somebody knows who has no scenario yet.
struct DraftAnswers {
  std::string name;   ///< empty: model-HOSTSxhost, or model-GPUSgpu-host
  std::string model;  ///< catalog name or a path, as in a scenario
  std::string host;   ///< catalog name
  int hosts = 0;
  int gpus = 0;  ///< in place of hosts: whole ones, a part of one, or equal parts; 0: hosts
  int gpus_per_host = 0;  ///< follows from that; 0: whole hosts
  std::string tokens;     ///< of the run, "2 T"; empty: none
  /// Tokens; absent: 4096, or as many positions as the model has learned.
  std::optional<int> sequence{};
  std::optional<int> global_batch{};  ///< sequences; absent: about four million tokens
  std::string fabric;                 ///< preset; empty: what the host's NICs are made for
  std::string price;                  ///< "2.5 USD/GPU-hour"; empty: unknown
  SearchLimits room{};                ///< how much memory the plan leaves free
};

/// A first scenario with a plan.
struct ScenarioDraft {
  std::string text;  ///< YAML with comments
  Report report;     ///< its forecast by the longest path
  std::int64_t tried = 0;
  std::int64_t feasible = 0;
};

/// A draft, or why there is none.
struct DraftResult {
  std::optional<ScenarioDraft> draft;
  std::string why;  ///< in one sentence with the numbers, where no plan fits
};

/// Resolves the answers, searches the best plan that leaves memory free as asked for, and writes
/// both down. The text is read back, so that what is written is what was forecast.
/// @param folder where the scenario will lie
/// @throws UsageError for answers that are none (no hosts, a host without a fabric preset);
///   ScenarioError for names that no catalog has
[[nodiscard]] DraftResult draft_scenario(const DraftAnswers& answers,
                                         const std::filesystem::path& folder,
                                         const LoadOptions& options = {});

/// "llama3-8b-4xdgx-h100": the name of a draft where nobody gives one.
[[nodiscard]] std::string draft_name(const DraftAnswers& answers);

}  // namespace foretrain
