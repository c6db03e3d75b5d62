// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include "scenarios/resolve/internal/resolve_steps.hpp"
#include "scenarios/sections/sections.hpp"

namespace foretrain {
namespace {

constexpr const char* gpus_key = "post_training.generation_gpus";

bool is_separate(const FieldValues& values) {
  return values.has_group("post_training") && values.has("post_training.placement") &&
         values.choice<RolloutPlacement>("post_training.placement") == RolloutPlacement::separate;
}

/// Keys of one placement may stand beside the other, so that --set of `placement` alone changes
/// from one to the other.
void check_placement(const FieldValues& values, const PostTrainingPlan& plan,
                     Diagnostics& diagnostics) {
  if (plan.placement == RolloutPlacement::colocated) {
    if (plan.staleness > 0.0 && !plan.partial_rollouts)
      report(values, "post_training.staleness",
             "generation and training take turns on the same GPUs: write placement: separate, or "
             "partial_rollouts: true",
             diagnostics);
    return;
  }
  if (!values.has(gpus_key) && !values.was_refused(gpus_key))
    report(values, gpus_key, "required key is missing: write for example generation_gpus: 16",
           diagnostics);
}

void check_answers(const FieldValues& values, Diagnostics& diagnostics) {
  no_effect(values,
            {"training.samples.mean", "training.samples.deviation", "training.samples.lengths"},
            "with post_training, whose prompts and answers are the samples", diagnostics);
  for (const std::string at : {"post_training.prompt", "post_training.answer"}) {
    if (!values.has(at + ".most") || !values.has(at + ".tokens")) continue;
    if (values.number(at + ".tokens") > values.integer(at + ".most"))
      report(values, at + ".tokens", "the mean cannot be above the longest, " + at + ".most",
             diagnostics);
  }
}

}  // namespace

PostTrainingPlan post_training_of(const FieldValues& values, Diagnostics& diagnostics) {
  const PostTrainingPlan plan = post_training_keys().read(values);
  check_placement(values, plan, diagnostics);
  check_answers(values, diagnostics);
  constexpr double most_answers = 1e7;
  if (plan.samples() > most_answers)
    report(values, "post_training.prompts",
           fmt::format("{} prompts with {} answers are more than {:.0f} answers a step",
                       plan.prompts, plan.answers, most_answers),
           diagnostics);
  if (!values.has_group("serving"))
    report(values, "post_training",
           "needs the engine that generates: add for example serving: {engine: vllm, parallel: "
           "{tensor: 1}}",
           diagnostics);
  return plan;
}

Cluster split_generation(const FieldValues& values, Cluster& cluster, Diagnostics& diagnostics) {
  Cluster generation = cluster;
  if (!is_separate(values) || !values.has(gpus_key) || cluster.hosts < 1) return generation;
  const int gpus = values.integer(gpus_key);
  const int each = cluster.host.gpus;
  const bool within = cluster.hosts == 1 && gpus < each;
  if (!within && (gpus % each != 0 || gpus / each >= cluster.hosts)) {
    const std::string most = cluster.hosts > 1
                                 ? fmt::format("a multiple of {} below {}", each, cluster.gpus())
                                 : fmt::format("fewer than {}", each);
    report(values, gpus_key,
           fmt::format("of {} GPUs some have to train, on hosts of their own; write {}",
                       cluster.gpus(), most),
           diagnostics);
    return generation;
  }
  cluster.network.connected = cluster.fabric_hosts();
  generation.network.connected = cluster.network.connected;
  if (within) {
    generation.host = part_of(cluster.host, gpus);
    cluster.host = part_of(cluster.host, each - gpus);
  } else {
    generation.hosts = gpus / each;
    cluster.hosts -= generation.hosts;
  }
  return generation;
}

}  // namespace foretrain
