// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/scenario_text.hpp"

#include <sstream>

#include "models/base/require.hpp"
#include "scenarios/sections/model_text.hpp"
#include "scenarios/sections/rank_order_text.hpp"
#include "scenarios/sections/sections.hpp"
#include "scenarios/yaml/safe_text.hpp"

namespace foretrain {
namespace {

std::string model_text(const WrittenScenario& draft) {
  if (!draft.model.empty()) return "model: " + draft.model + "\n";
  std::string text = "model:\n";
  if (!draft.job.model.name.empty())
    text += "  name: " + in_double_quotes(draft.job.model.name) + "\n";
  std::istringstream lines(model_shape_text(draft.job.model));
  for (std::string line; std::getline(lines, line);) text += "  " + line + "\n";
  return text;
}

}  // namespace

std::vector<std::string> what_scenarios_cannot_say(const Job& job) {
  std::vector<std::string> parts;
  const MemoryOptions& memory = job.memory;
  if (memory.fp8_activation_inputs) parts.emplace_back("8-bit inputs of the activation function");
  if (memory.deferred_outputs > 0)
    parts.emplace_back("gradients of the output layer that wait for the pipeline to drain");
  if (job.parallel.order != data_in_stage && job.parallel.order != stages_in_replica)
    parts.emplace_back("a rank order other than " + rank_order_text(data_in_stage) + " and " +
                       rank_order_text(stages_in_replica));
  if (job.parallel.vocabulary != VocabularyKind::ends)
    parts.emplace_back("a vocabulary that is split over the pipeline");
  return parts;
}

std::string scenario_text(const WrittenScenario& draft) {
  const Job& job = draft.job;
  FORETRAIN_REQUIRE(what_scenarios_cannot_say(job).empty());
  std::string text;
  for (const std::string& comment : draft.comments) text += "# " + escaped(comment) + "\n";
  text += "schema: 1\nname: " + in_double_quotes(job.name) + "\n";
  text += model_text(draft) + cluster_keys().text(job.cluster) +
          training_keys().text(job.training) + fine_tuning_keys().text(job.fine_tuning) +
          parallel_keys().text(job.parallel) + memory_keys().text(job.memory);
  if (job.stack.name != "megatron-core") text += "stack: " + job.stack.name + "\n";
  if (!job.site.name.empty() && job.site.name != "default") text += "site: " + job.site.name + "\n";
  text += communication_keys().text(job);
  if (draft.serving) {
    const std::string serving = serving_keys().text(*draft.serving);
    text += serving.empty() ? "serving: {engine: " + draft.serving->engine + "}\n" : serving;
  }
  if (draft.post_training) text += post_training_keys().text(*draft.post_training);
  return text;
}

}  // namespace foretrain
