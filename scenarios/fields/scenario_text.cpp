// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/scenario_text.hpp"

#include <sstream>

#include <fmt/format.h>

#include "models/base/require.hpp"
#include "scenarios/fields/layer_modules.hpp"
#include "scenarios/fields/model_text.hpp"
#include "scenarios/fields/parallel_keys.hpp"
#include "scenarios/fields/rank_order_text.hpp"
#include "scenarios/fields/training_keys.hpp"
#include "scenarios/yaml/safe_text.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

/// Lines of one group; the group is written only if there are any.
class Group {
 public:
  explicit Group(std::string name) : name_{std::move(name)} {}

  Group& add(const char* key, const std::string& value) {
    lines_ += fmt::format("  {}: {}\n", key, value);
    return *this;
  }
  Group& flag(const char* key, bool value, bool otherwise) {
    return value == otherwise ? *this : add(key, value ? "true" : "false");
  }
  template <class E>
  Group& choice(const char* key, E value, E otherwise) {
    return value == otherwise ? *this : add(key, std::string(name_of(value)));
  }
  [[nodiscard]] std::string str() const {
    return lines_.empty() ? std::string() : name_ + ":\n" + lines_;
  }

 private:
  std::string name_;
  std::string lines_;
};

std::string bytes_text(double bytes) { return format_quantity(bytes, Dimension::bytes); }

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return "[" + text + "]";
}

std::string model_text(const WrittenScenario& draft) {
  if (!draft.model.empty()) return "model: " + draft.model + "\n";
  std::string text = "model:\n";
  if (!draft.job.model.name.empty())
    text += "  name: " + in_double_quotes(draft.job.model.name) + "\n";
  std::istringstream lines(model_shape_text(draft.job.model));
  for (std::string line; std::getline(lines, line);) text += "  " + line + "\n";
  return text;
}

std::string cluster_text(const Cluster& cluster) {
  const Network& network = cluster.network;
  Group group("cluster");
  group.add("host", cluster.host.name).add("hosts", std::to_string(cluster.hosts));
  if (cluster.segment > 0) group.add("domain", std::to_string(cluster.packing().domain));
  std::string fabric = fmt::format("{{kind: {}, preset: {}", name_of(network.kind), network.preset);
  if (network.oversubscription != 1.0)
    fabric += ", oversubscription: " + format_number(network.oversubscription);
  return group.add("fabric", fabric + "}").str();
}

std::string recompute_text(const Recompute& recompute) {
  const Recompute otherwise;
  std::string text = fmt::format("granularity: {}", name_of(recompute.kind));
  if (recompute.kind == RecomputeKind::full) {
    text += fmt::format(", method: {}, layers: {}", name_of(recompute.method), recompute.layers);
    if (recompute.distribute_saved) text += ", distribute_saved: true";
  } else {
    if (!(recompute.modules == otherwise.modules))
      text += ", modules: " + listed(layer_module_names(recompute.modules));
    if (recompute.every_second_matmul) text += ", every_second_matmul: true";
  }
  return "{" + text + "}";
}

std::string memory_text(const MemoryOptions& memory) {
  const MemoryOptions otherwise;
  Group group("memory");
  if (memory.recompute.kind != RecomputeKind::none)
    group.add("recompute", recompute_text(memory.recompute));
  group.choice("attention", memory.attention, otherwise.attention)
      .choice("offload", memory.offload, otherwise.offload);
  const auto offloaded = layer_module_names(memory.activation_offload);
  if (!offloaded.empty()) group.add("activation_offload", listed(offloaded));
  return group.flag("fused_norm", memory.fused_norm, otherwise.fused_norm)
      .flag("fused_activation", memory.fused_activation, otherwise.fused_activation)
      .flag("fused_softmax", memory.fused_softmax, otherwise.fused_softmax)
      .flag("fused_loss", memory.fused_loss, otherwise.fused_loss)
      .flag("fused_loss_engine", memory.fused_loss && memory.fused_loss_engine, false)
      .flag("fused_gradient_accumulation", memory.fused_gradient_accumulation,
            otherwise.fused_gradient_accumulation)
      .flag("deterministic", memory.deterministic, otherwise.deterministic)
      .flag("attention_mask", memory.attention_mask, otherwise.attention_mask)
      .flag("fp8_parameters", memory.fp8_parameters, otherwise.fp8_parameters)
      .str();
}

std::string communication_text(const Job& job) {
  const Communication& communication = job.communication;
  const Communication otherwise;
  Group group("communication");
  group.choice("backend", communication.backend, otherwise.backend);
  if (communication.transport != job.cluster.network.transport)
    group.add("transport", std::string(name_of(communication.transport)));
  const Overlap& overlap = communication.overlap;
  const Overlap usual;
  std::string text;
  const auto add = [&](const char* key, bool value, bool other) {
    if (value != other)
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, value ? "true" : "false");
  };
  add("gradients", overlap.gradients, usual.gradients);
  add("parameters", overlap.parameters, usual.parameters);
  add("tensor", overlap.tensor, usual.tensor);
  add("pipeline", overlap.pipeline, usual.pipeline);
  add("experts", overlap.experts, usual.experts);
  if (!text.empty()) group.add("overlap", "{" + text + "}");
  if (communication.bucket != otherwise.bucket)
    group.add("bucket", bytes_text(communication.bucket.value()));
  group.choice("expert_dispatch", communication.expert_dispatch, otherwise.expert_dispatch);
  return group.choice("gradient_dtype", communication.gradient_dtype, otherwise.gradient_dtype)
      .str();
}

}  // namespace

std::vector<std::string> what_scenarios_cannot_say(const Job& job) {
  std::vector<std::string> parts;
  const MemoryOptions& memory = job.memory;
  if (job.training.decoupled_gradients)
    parts.emplace_back("an optimizer that reads 16-bit gradients as they are");
  if (job.training.moe_capacity > 0.0)
    parts.emplace_back("experts that drop tokens over a capacity");
  if (memory.offload != OffloadKind::none && memory.offload_share != 1.0)
    parts.emplace_back("offloading a part of the optimizer states");
  if (memory.offloaded_layers > 0) parts.emplace_back("offloading whole layers");
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
  text += model_text(draft) + cluster_text(job.cluster) + training_keys().text(job.training) +
          parallel_keys().text(job.parallel) + memory_text(job.memory);
  if (job.stack.name != "megatron-core") text += "stack: " + job.stack.name + "\n";
  if (!job.site.name.empty() && job.site.name != "default") text += "site: " + job.site.name + "\n";
  return text + communication_text(job);
}

}  // namespace foretrain
