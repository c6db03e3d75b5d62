// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/memory/memory.hpp"
#include "planner/answer/answer.hpp"
#include "planner/answer/value_rows.hpp"
#include "planner/forecast/report.hpp"
#include "planner/forecast/search_limits.hpp"
#include "planner/forecast/smallest_change.hpp"

namespace foretrain {

/// A range of bytes.
struct ByteRange {
  Bytes low;
  Bytes high;
};

/// The ranges in which the counters of the heaviest stage are expected: allocated bytes within the
/// stack's band (90th percentile of the error of allocated memory against its measured records);
/// reserved and device bytes within the root of the squares of that band and the spread of the
/// allocator's cache, with the cache filled as it then would be.
struct MemoryBand {
  double share = 0.0;           ///< MemoryRules::band
  double reserved_share = 0.0;  ///< with MemoryRules::reserved_band
  Bytes low;                    ///< device
  Bytes high;
  ByteRange allocated;
  ByteRange reserved;
};

/// may_not_fit: as forecast it does not, at the lower end of the band it does.
enum class FitVerdict { fits, fits_barely, may_not_fit, does_not_fit, illegal };
FORETRAIN_ENUM_NAMES(FitVerdict, {FitVerdict::fits, "fits"},
                     {FitVerdict::fits_barely, "fits-barely"},
                     {FitVerdict::may_not_fit, "may-not-fit"},
                     {FitVerdict::does_not_fit, "does-not-fit"}, {FitVerdict::illegal, "illegal"});

/// What stops a quantity of the plan from growing.
enum class RoomBound { memory, rule, search };
FORETRAIN_ENUM_NAMES(RoomBound, {RoomBound::memory, "memory"}, {RoomBound::rule, "rule"},
                     {RoomBound::search, "search"});

/// How far one quantity can grow with everything else equal.
struct Room {
  std::string key;  ///< scenario key, e.g. "training.micro_batch"
  int now = 0;
  std::optional<int> largest;  ///< that is legal and keeps the limits; absent: none is
  std::optional<Bytes> peak;   ///< of the heaviest stage at `largest`
  RoomBound bound = RoomBound::memory;
  std::string rule;  ///< that stops it, when a rule does
  std::string why;   ///< one sentence on what comes after `largest`
};

/// A plan's memory, judged.
struct FitReport {
  Scenario scenario;
  FitVerdict verdict = FitVerdict::illegal;
  std::vector<Infeasible> reasons;       ///< broken rules; empty for a legal plan
  std::vector<Infeasible> not_forecast;  ///< of a legal plan: why simulate refuses it all the same
  std::optional<MemoryForecast> memory;  ///< absent for illegal plans
  std::vector<StageAccount> accounts;    ///< one per stage: every phase row by row
  std::optional<StageAccount> replica;   ///< of the GPUs beside GPU 0 (torch.nn.DataParallel)
  MemoryBand band;
  std::vector<Change> changes;     ///< that make it fit and keep the limits, fastest first
  std::vector<TriedChange> tried;  ///< on one host: what people try, one at a time
  std::vector<Room> room;          ///< micro-batch, sequence and layers
};

/// What a reader asks to see of a fit report.
struct FitView {
  std::optional<int> stage{};  ///< whose rows are shown; absent: the heaviest
  bool timeline = false;       ///< the phases of that stage's step
  std::optional<int> rank{};   ///< whose place in the plan is told; it is on `stage`
};

/// Judges memory alone: no step time is needed for the verdict, so that plans whose time is not
/// modelled are answered too. `limits` say how much memory changes and growth leave free.
[[nodiscard]] FitReport judge_fit(const Scenario& scenario, const SearchLimits& limits = {});

/// Device memory of a stage if its allocated bytes were `factor` times the forecast.
/// @pre factor >= 0
[[nodiscard]] Bytes device_memory(const Job& job, const StageMemory& stage, double factor);

/// What a stage allocates in one phase, by category and row; `allocated` and `peak` are their sum.
[[nodiscard]] StageMemory phase_memory(const StageAccount& account, MemoryPhase phase);

// How far a quantity can grow and keep the memory limits; a plan that fits is never told less than
// it has, even where it is beyond the limits as it is.

/// The largest micro-batch that divides the sequences of a replica and obeys the rules.
[[nodiscard]] Room room_of_micro_batch(const Job& job, const SearchLimits& limits = {});
/// The longest sequence among the multiples of the tokens that the plan splits a sequence into
/// (and of 128), up to 16 M tokens.
[[nodiscard]] Room room_of_sequence(const Job& job, const SearchLimits& limits = {});
/// The most layers of the same shape, up to 4096.
[[nodiscard]] Room room_of_layers(const Job& job, const SearchLimits& limits = {});

/// @param source what stands behind a command's name to read the scenario again
/// @pre view.stage is a stage of the plan, view.rank a rank of it
[[nodiscard]] Answer fit_answer(const FitReport& report, const FitView& view = {},
                                const std::string& source = {});

/// The report as JSON, schema memory/1 (planner/README.md): every stage, and which was asked for.
/// @pre view.rank, if any, is a rank of the plan
[[nodiscard]] std::string fit_json(const FitReport& report, const FitView& view = {});
[[nodiscard]] const ValueRows& fit_document();

}  // namespace foretrain
