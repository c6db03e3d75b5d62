// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/serving/deployment.hpp"
#include "planner/answer/answer.hpp"
#include "planner/answer/study.hpp"
#include "planner/answer/verdict.hpp"
#include "planner/serving/serving_deployment.hpp"
#include "sim/serving/serving_summary.hpp"

namespace foretrain {

/// The same load on the deployment at one end of its band: every step takes as much longer, or
/// shorter, as the band of throughput says.
struct ServingEnd {
  ServingSummary summary{};
  Seconds ttft{};   ///< at the percentile of the goals
  Seconds queue{};  ///< of it before the first step
};

/// What arithmetic allows of the band where requests come by themselves: a deployment that keeps up
/// answers what comes and no more, one that does not has a queue that grows without end. Clients
/// that wait for their answers ask less of a slower deployment: neither end is simulated.
struct ServingEnds {
  std::optional<ServingEnd> slow;  ///< absent where the forecast itself is overloaded
  std::optional<ServingEnd> fast;  ///< absent where the forecast keeps up and keeps its goals

  bool asked = false;      ///< requests come by themselves
  bool unbounded = false;  ///< the slow end has a queue that grows without end
};

/// A rate that goes with the output; never above what is asked for.
[[nodiscard]] Banded rate_band(double rate, const ServingBands& bands, const ServingEnds& ends,
                               const ServingSummary& forecast);

/// A time to the first token and what of it is waited before the first step.
struct FirstToken {
  double ttft = 0.0;
  double queue = 0.0;
};

/// The upper end is infinite where the slow one does not keep up.
/// @param slow, fast the same at the ends; looked at where these are there
[[nodiscard]] Banded ttft_band(const FirstToken& forecast, const ServingBands& bands,
                               const ServingEnds& ends, const FirstToken& slow,
                               const FirstToken& fast);

/// One goal and how it is kept.
struct GoalVerdict {
  std::string name;  ///< "ttft" or "tpot"
  Seconds limit{};
  Seconds reached{};  ///< at the percentile of the goals
  Banded band{};      ///< seconds
  [[nodiscard]] bool kept() const { return reached <= limit; }
};

/// What an answer says of a deployment, decided once from the forecast and both ends of its band.
enum class ServingVerdict {
  ok,                 ///< both ends keep up and keep the goals
  at_risk,            ///< the forecast does, the slow end does not
  likely_misses,      ///< the forecast misses a goal, the fast end keeps all
  likely_overloaded,  ///< the forecast does not keep up, the fast end does
  misses_goals,
  overloaded,        ///< more comes than is served
  refuses_requests,  ///< larger than the cache of a replica
  nothing_counted,
  infeasible
};
FORETRAIN_ENUM_NAMES(ServingVerdict, {ServingVerdict::ok, "ok"},
                     {ServingVerdict::at_risk, "at-risk"},
                     {ServingVerdict::likely_misses, "likely-misses-goals"},
                     {ServingVerdict::likely_overloaded, "likely-overloaded"},
                     {ServingVerdict::misses_goals, "misses-goals"},
                     {ServingVerdict::overloaded, "overloaded"},
                     {ServingVerdict::refuses_requests, "refuses-requests"},
                     {ServingVerdict::nothing_counted, "nothing-counted"},
                     {ServingVerdict::infeasible, "infeasible"});

/// What it costs, where the scenario has a price.
struct ServingCost {
  double dollars_per_hour = 0.0;
  double per_million_output = 0.0;  ///< dollars
  double per_million_tokens = 0.0;  ///< prompts and answers together
};

/// One step of a replica, for orientation.
struct ServingStepExample {
  double sequences = 0.0;
  double context = 0.0;  ///< tokens in the cache of each
  StepTime time{};
};

/// A deployment under its load.
struct ServingReport {
  std::string name;
  std::string model;
  std::string machine;  ///< title of the host
  std::string device;
  ReadyServing ready;
  bool stopped = false;  ///< from outside
  ServingSample sample;  ///< this and what follows only where ready.reasons is empty
  ServingSummary summary;
  std::vector<GoalVerdict> goals;
  ServingBands bands;
  ServingEnds ends;  ///< only where both ends were asked for
  /// Chance that the deployment keeps up and keeps every goal; nothing where nothing is asked of
  /// it.
  std::optional<double> chance;
  std::optional<ServingCost> cost;
  ServingStepExample decode;  ///< with the mean number of sequences
  Seconds prompt{};           ///< one mean prompt alone

  [[nodiscard]] ServingVerdict verdict() const;
  /// The forecast itself, whatever its band.
  [[nodiscard]] bool keeps_goals() const;
  /// GPUs of the replicas that are there, on average where these come and go.
  [[nodiscard]] double mean_gpus() const;
  /// What is paid for: whole hosts, or where replicas come and go the GPUs of mean_gpus().
  [[nodiscard]] double paid_gpus() const;
  /// Whether at least the fast end of the band keeps up and keeps the goals.
  [[nodiscard]] bool may_keep_goals() const;
};

/// Simulates the scenario with both ends of its band, or another plan on another machine, of which
/// searches look at the forecast alone.
/// @pre scenario.serving and scenario.engine
/// @throws TooLarge
[[nodiscard]] ServingReport study_serving(const Scenario& scenario,
                                          const std::atomic<bool>* stop = nullptr);
[[nodiscard]] ServingReport study_serving(const Scenario& scenario, const ReadyServing& ready,
                                          const std::atomic<bool>* stop = nullptr);

/// The same with both ends of the band, without the chance.
[[nodiscard]] ServingReport study_with_ends(const Scenario& scenario, const ReadyServing& ready,
                                            const std::atomic<bool>* stop = nullptr);

/// Chance that the deployment keeps up and keeps every goal, from the bands: errors are log-normal
/// on either side of the forecast, and of one cause, so that the least sure decides. Whether it
/// keeps up is asked of slower and faster steps until their share is known to a few percent.
/// Nothing where no goal is given and clients wait for their answers.
/// @pre report.ready.reasons is empty @throws TooLarge
[[nodiscard]] std::optional<double> chance_of_goals(const ServingReport& report,
                                                    const std::atomic<bool>* stop);

/// The numbers of a deployment, a row each.
[[nodiscard]] const ValueTable<ServingReport>& serving_values();
/// What its reader should know; nothing where it cannot run.
[[nodiscard]] std::vector<Warning> serving_warnings(const ServingReport& report);
[[nodiscard]] Answer serving_answer(const ServingReport& report);
[[nodiscard]] std::string serving_json(const ServingReport& report);
[[nodiscard]] const ValueRows& serving_document();
/// A row per counted request, in order of its end.
[[nodiscard]] std::string serving_csv(const ServingReport& report);

/// "TP 8, DP 2", as engines abbreviate.
[[nodiscard]] std::string layout_text(const ServingLayout& layout);

}  // namespace foretrain
