// SPDX-License-Identifier: Apache-2.0
#include "planner/post_training/post_training_study.hpp"

#include <iterator>
#include <utility>

#include "models/base/require.hpp"

namespace foretrain {

ReadyServing ready_rollout(const Scenario& scenario) {
  FORETRAIN_REQUIRE(scenario.post_training && scenario.serving && scenario.engine);
  ServingPlan plan = *scenario.serving;
  plan.load.prompt = scenario.post_training->prompt;
  plan.load.output = scenario.post_training->answer;
  return ready_serving(scenario, plan, scenario.generation);
}

PostTrainingReport study_post_training(const Scenario& scenario) {
  PostTrainingReport report;
  report.name = scenario.job.name;
  report.machine = scenario.job.cluster.host.title;
  ReadyServing ready = ready_rollout(scenario);
  report.setup = {*scenario.post_training, scenario.job, ready.serve.deployment};
  report.setup.rollout.layout.replicas = ready.plan.layout.replicas;
  if (ready.prefill)
    ready.reasons.push_back({"not-modelled", "serving.prefill.replicas",
                             "replicas that only prefill are not modelled in post-training",
                             "leave serving.prefill out"});
  if (!ready.reasons.empty()) {
    report.forecast.reasons = std::move(ready.reasons);
    return report;
  }
  report.forecast = post_training_step(report.setup);
  const auto& price = scenario.job.operations.price_per_gpu;
  if (price && report.forecast.reasons.empty()) {
    const double step = price->value() * report.forecast.gpus * report.forecast.step.time.value();
    report.cost = PostTrainingCost{step, 1000.0 * step / report.setup.plan.samples()};
  }
  return report;
}

}  // namespace foretrain
