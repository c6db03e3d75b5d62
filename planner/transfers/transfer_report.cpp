// SPDX-License-Identifier: Apache-2.0
#include "planner/transfers/transfer_report.hpp"
#include "planner/answer/value_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "models/layers/parameters.hpp"
#include "models/post_training/rollout.hpp"
#include "planner/network/fabric_text.hpp"
#include "planner/post_training/post_training_study.hpp"
#include "planner/serving/serving_deployment.hpp"
#include "planner/text/format.hpp"
#include "sim/flows/shared_links.hpp"
#include "sim/flows/transfer_run.hpp"

namespace foretrain {
namespace {

std::vector<int> gpus_from(int first, int count) {
  std::vector<int> gpus(index(count));
  std::iota(gpus.begin(), gpus.end(), first);
  return gpus;
}

Infeasible not_played(const char* key, const std::string& message, const std::string& remedy) {
  return {"not-modelled", key, message, remedy};
}

/// Plays what `report` has rows of.
void play_transfers(const Scenario& scenario, const Cluster& cluster, const DeviceProfile& device,
                    const std::vector<PoolTransfer>& transfers, TransferReport& report) {
  Scenario whole = scenario;
  whole.job.cluster = cluster;
  const Fabric fabric = fabric_of(whole);
  const FlowNetwork network = achievable_links(fabric, cluster, device);
  const auto played = run_transfers(fabric, network, scenario.job.simulation, transfers);
  if (const auto* refused = std::get_if<Infeasible>(&played)) {
    report.reasons.push_back(*refused);
    return;
  }
  const auto& run = std::get<TransferRun>(played);
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    report.rows[i].bytes = transfers[i].bytes;
    report.rows[i].alone = transfers[i].alone();
    report.rows[i].played = run.end[i];
  }
  if (const auto link = fullest_link(run, network)) {
    report.fullest = link_name(fabric, *link);
    report.fullest_share = run.links[index(*link)] / network.links[index(*link)] / run.time;
  }
}

/// Ranks that hold one copy of the weights, a host's GPUs at least: buckets leave by all of them.
int senders(const Job& job) {
  const Parallel& plan = job.parallel;
  const int copy = plan.gpus() / plan.data;
  return std::min(plan.gpus(), std::max(copy, job.cluster.host.gpus));
}

const ValueTable<TransferRow> row_values =
    ValueTable<TransferRow>{}
        .add("name", &TransferRow::name)
        .shown("transfer")
        .add("bytes", &TransferRow::bytes)
        .shown("bytes")
        .add("alone_s", &TransferRow::alone, "Duration alone on the fabric.")
        .shown("alone")
        .add("played_s", &TransferRow::played,
             "Duration on the fabric, with all other transfers at once.")
        .shown("on the fabric");

const ValueTable<TransferReport>& transfer_table() {
  using R = TransferReport;
  const auto if_played = [](Seconds (R::*time)() const) {
    return [time](const R& report) {
      return report.reasons.empty() ? std::optional((report.*time)()) : std::nullopt;
    };
  };
  static const auto table =
      ValueTable<R>{"transfers/1", "foretrain simulate --transfers --json, schema transfers/1"}
          .add("name", &R::name)
          .add("what", &R::what)
          .add("reasons", &R::reasons, reason_values(),
               "Why the transfers cannot be simulated; then nothing else is known.")
          .add("start_s", &R::start, "Latency before the first byte, on top of every transfer.")
          .add("alone_s", if_played(&R::alone),
               "Until the last transfer ends, each alone on the fabric.")
          .add("played_s", if_played(&R::played), "Until the last transfer ends, on the fabric.")
          .add("fullest_link.name", &R::fullest)
          .add("fullest_link.share", &R::fullest_share)
          .add("step_s", &R::step, "Step of post-training with weight transfers as simulated.")
          .add("step_alone_s", &R::step_alone)
          .add("transfers", &R::rows, row_values);
  return table;
}

}  // namespace

Seconds TransferReport::alone() const {
  Seconds last;
  for (const TransferRow& row : rows) last = max(last, row.alone);
  return start + last;
}

Seconds TransferReport::played() const {
  Seconds last;
  for (const TransferRow& row : rows) last = max(last, row.played);
  return start + last;
}

TransferReport weights_on_fabric(const Scenario& scenario) {
  FORETRAIN_REQUIRE(scenario.post_training.has_value());
  TransferReport report{scenario.job.name, "new weights"};
  const PostTrainingPlan& plan = *scenario.post_training;
  if (plan.placement == RolloutPlacement::colocated) {
    report.reasons.push_back(not_played(
        "post_training.placement",
        "engine and trainer share their GPUs: weights are gathered and handed over in place, "
        "priced as a whole and not played",
        "--engine closed-form, or placement: separate"));
    return report;
  }
  const PostTrainingReport study = study_post_training(scenario);
  report.reasons = study.forecast.reasons;
  if (scenario.generation.host.gpus != scenario.job.cluster.host.gpus)
    report.reasons.push_back(not_played("post_training.generation_gpus",
                                        "one host is divided: its weights stay on NVLink",
                                        "--engine closed-form, or hosts of their own"));
  if (!report.reasons.empty()) return report;

  const Deployment& engine = study.setup.rollout;
  const Bytes bytes{static_cast<double>(parameters(engine.model)) *
                    weight_bytes(WeightFormat::bf16)};
  report.start = loop_times().sync;
  const Seconds wire = weight_sync_time(plan, engine) - report.start;
  std::vector<PoolTransfer> hops;
  std::vector<int> from = gpus_from(0, senders(scenario.job));
  for (int replica = 0; replica < engine.layout.replicas; ++replica) {
    const int first = scenario.job.cluster.gpus() + replica * engine.layout.gpus();
    std::vector<int> to = gpus_from(first, engine.layout.gpus());
    report.rows.push_back(
        {fmt::format("{} to replica {}",
                     replica == 0 ? "trainer" : fmt::format("replica {}", replica - 1), replica)});
    hops.push_back({from, to, bytes, bytes / wire, Seconds{}});
    from = std::move(to);
  }
  Cluster whole = scenario.job.cluster;
  whole.hosts += scenario.generation.hosts;
  play_transfers(scenario, whole, scenario.job.device_profile, hops, report);
  report.step_alone = study.forecast.step.time;
  report.step = study.forecast.step.time + (report.played() - report.alone());
  return report;
}

TransferReport caches_on_fabric(const Scenario& scenario) {
  const ReadyServing ready = ready_serving(scenario);
  TransferReport report{scenario.job.name, "caches", ready.reasons};
  FORETRAIN_REQUIRE(ready.prefill.has_value() || !ready.reasons.empty());
  if (!report.reasons.empty()) return report;
  const int fills = ready.prefill->deployment.layout.gpus();
  const int reads = ready.serve.deployment.layout.gpus();
  const int decoders = ready.serve.deployment.layout.replicas;
  const double tokens = mean_prompt(ready.plan.load);
  std::vector<PoolTransfer> transfers;
  for (int replica = 0; replica < ready.prefill->deployment.layout.replicas; ++replica) {
    const int target = replica % decoders;
    report.rows.push_back({fmt::format("prefill {} to decode {}", replica, target)});
    transfers.push_back({gpus_from(replica * fills, fills),
                         gpus_from(ready.prefill->gpus() + target * reads, reads),
                         1.0 * fills * tokens * ready.transfer.per_token,
                         1.0 * fills * ready.transfer.rate, ready.transfer.latency});
  }
  play_transfers(scenario, scenario.job.cluster, ready.serve.deployment.kernels, transfers, report);
  return report;
}

Answer transfer_answer(const TransferReport& report) {
  Answer answer;
  answer.head.subject = report.name;
  answer.head.made_by = "event";
  if (!report.reasons.empty()) {
    answer.head.words = "not played";
    for (const Infeasible& reason : report.reasons)
      answer.add("",
                 AnswerLine{reason.message + (reason.remedy.empty() ? "" : "; " + reason.remedy)});
    return answer;
  }
  answer.head.words = report.what;
  answer.head.sentence = fmt::format("{} over the fabric take {}, {} if no two met.", report.what,
                                     seconds_text(report.played()), seconds_text(report.alone()));
  answer.head.sentence.front() = static_cast<char>(std::toupper(answer.head.sentence.front()));
  AnswerFacts facts;
  if (report.start > Seconds{}) facts.add("Start", seconds_text(report.start) + " before them");
  if (!report.fullest.empty())
    facts.add("Fullest link", fmt::format("{}, {} of what it gives", report.fullest,
                                          percent_text(report.fullest_share)));
  if (report.step)
    facts.add("Step", fmt::format("{}, {} as priced", seconds_text(*report.step),
                                  seconds_text(*report.step_alone)));
  answer.add("", std::move(facts));
  answer.add("All at once", answer_table(row_values, report.rows));
  return answer;
}

std::string transfer_json(const TransferReport& report) {
  return json_text(transfer_table(), report);
}

const ValueRows& transfer_document() { return transfer_table().rows(); }

}  // namespace foretrain
