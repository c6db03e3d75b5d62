// SPDX-License-Identifier: Apache-2.0
#include "planner/exchange/exports.hpp"

#include <fmt/format.h>

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "models/base/require.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "scenarios/sections/sections.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

/// A comment stays one line, whatever a name holds.
std::string comment(const std::string& text) { return "# " + escaped(text) + "\n"; }

void add_unlike(const std::string& section, const std::string& usual,
                std::vector<std::string>& keys) {
  std::istringstream lines(section);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(' ')) name = line.substr(0, line.find(':')) + ".";
    if (!line.starts_with(' ') || ("\n" + usual).find("\n" + line + "\n") != std::string::npos)
      continue;
    keys.push_back(name + line.substr(2));
  }
}

}  // namespace

void ExportBook::check() const {
  if (refused_.empty()) return;
  std::string text;
  for (const std::string& part : refused_) text += (text.empty() ? "" : "; ") + part;
  throw UsageError(format_ + " cannot represent: " + text);
}

std::string export_comments(const Scenario& scenario, const ExportBook& book) {
  std::string text =
      comment(fmt::format("Exported by foretrain {} from {}.", version,
                          scenario.path.empty() ? scenario.job.name : scenario.path));
  for (const std::string& sentence : book.left_out())
    text += comment("Not in this file: " + sentence);
  return text;
}

void leave_out_machine(const Job& job, ExportBook& book) {
  const Cluster& cluster = job.cluster;
  book.leave_out(fmt::format("the machine, {} x {} on a {} fabric {}, communication.transport: {}",
                             cluster.hosts, cluster.host.name, name_of(cluster.network.kind),
                             cluster.network.preset, name_of(job.communication.transport)));
  if (job.site.name != "default") book.leave_out("the site, " + job.site.name);
}

void leave_out_overlap(const Overlap& wanted, const Overlap& fixed, std::string_view program,
                       ExportBook& book) {
  for (const auto& [key, member] :
       {std::pair{"gradients", &Overlap::gradients}, std::pair{"parameters", &Overlap::parameters}})
    if (wanted.*member != fixed.*member)
      book.leave_out(fmt::format("communication.overlap.{}: {}, which {} fixes to {}", key,
                                 wanted.*member, program, fixed.*member));
}

void refuse_backend(const Job& job, ExportBook& book) {
  const Backend backend = job.communication.backend;
  if (backend != Backend::nccl)
    book.refuse(fmt::format("communication.backend: {}", name_of(backend)));
}

void refuse_fine_tuning(const Job& job, ExportBook& book) {
  book.refuse_if(!(job.fine_tuning == FineTuning{}), "fine_tuning");
  book.refuse_if(!(job.training.samples == Samples{}), "training.samples");
  book.refuse_if(job.training.images.any(), "training.images");
}

void refuse_update(const Training& training, ExportBook& book) {
  book.refuse_if(training.optimizer_in_backward, "training.optimizer_in_backward");
  book.refuse_if(training.projection.projects(), "training.gradient_projection");
}

void refuse_fine_control(const Job& job, ExportBook& book) {
  const MemoryOptions usual;
  const MemoryOptions& memory = job.memory;
  const Training& training = job.training;
  book.refuse_if(!(memory.activation_offload == usual.activation_offload),
                 "memory.activation_offload");
  book.refuse_if(memory.offloaded_layers > 0, "memory.offloaded_layers");
  book.refuse_if(memory.fused_permutation, "memory.fused_permutation");
  book.refuse_if(job.communication.scatter_gather.has_value(), "communication.scatter_gather");
  book.refuse_if(memory.recompute.kind == RecomputeKind::unknown, "memory.recompute: unknown");
  book.refuse_if(memory.attention == AttentionKind::unfused, "memory.attention: unfused");
  book.refuse_if(memory.attention_library != AttentionLibrary::stack, "memory.attention_library");
  book.refuse_if(memory.deterministic, "memory.deterministic");
  book.refuse_if(memory.attention_mask, "memory.attention_mask");
  book.refuse_if(memory.fused_norm || memory.fused_loss, "memory.fused_norm and fused_loss");
  book.refuse_if(
      !memory.fused_activation || !memory.fused_softmax || !memory.fused_gradient_accumulation,
      "kernels of memory.fused_* that are switched off");
  book.refuse_if(training.hidden_dropout > 0.0 || training.attention_dropout > 0.0, "dropout");
  book.refuse_if(training.optimizer != OptimizerKind::adamw, "training.optimizer but adamw");
  refuse_update(training, book);
  book.refuse_if(training.master_bytes != 4.0 || training.first_moment() != 4.0 ||
                     training.second_moment() != 4.0 || training.decoupled_gradients,
                 "training.optimizer_state");
  book.refuse_if(training.whole_tensor_shards, "training.whole_tensor_shards");
  book.refuse_if(training.bf16_end_layers > 0, "training.bf16_end_layers");
  // torchao takes the scale of the tensor at hand, or of a row.
  const bool scaled = training.precision == Precision::fp8;
  if (scaled && training.fp8_scaling != Fp8Scaling::current)
    book.refuse(
        fmt::format("training.fp8_scaling: {} (current is)", name_of(training.fp8_scaling)));
  book.refuse_if(job.communication.overlap.experts, "communication.overlap.experts");
  book.refuse_if(training.cuda_graphs.any(), "training.cuda_graphs");
  book.refuse_if(training.fused_kernels.any(), "training.fused_kernels");
  book.refuse_if(training.moe_imbalance > 0.0, "training.moe_imbalance");
  book.refuse_if(!(training.moe_routing == ExpertRouting{}), "training.moe_routing");
  book.refuse_if(training.moe_capacity > 0.0, "training.moe_capacity");
  book.refuse_if(training.fp8_attention, "training.fp8_attention");
  refuse_backend(job, book);
  book.refuse_if(
      job.communication.context_exchange != ContextExchange::ring && job.parallel.context > 1,
      "communication.context_exchange");
}

std::optional<long long> training_steps(const Training& training) {
  if (!training.tokens) return std::nullopt;
  const double per_step = 1.0 * training.global_batch * training.sequence;
  return std::llround(std::ceil(*training.tokens / per_step));
}

Exported export_scenario(ExportKind kind, const Scenario& scenario, const Prediction* prediction) {
  ExportBook book(std::string(name_of(kind)));
  book.refuse_if(scenario.job.parallel.processes == ProcessKind::per_host,
                 "parallel.processes: per-host, one process for all GPUs (torch.nn.DataParallel); "
                 "write per-gpu for a process per GPU");
  book.check();
  switch (kind) {
    case ExportKind::megatron:
      return export_megatron(scenario);
    case ExportKind::deepspeed:
      return export_deepspeed(scenario);
    case ExportKind::torchtitan:
      return export_torchtitan(scenario);
    case ExportKind::nanotron:
      return export_nanotron(scenario);
    case ExportKind::transformers:
      return export_tuning(TuningFramework::transformers, scenario);
    case ExportKind::axolotl:
      return export_tuning(TuningFramework::axolotl, scenario);
    case ExportKind::llamafactory:
      return export_tuning(TuningFramework::llamafactory, scenario);
    case ExportKind::accelerate:
      return export_accelerate(scenario);
    case ExportKind::sbatch:
      FORETRAIN_REQUIRE(prediction != nullptr);
      return export_sbatch(scenario, *prediction);
  }
  throw std::logic_error("no such export");
}

std::vector<std::string> key_differences(const Job& rest) {
  Job plain;
  plain.training.precision = rest.training.precision;
  std::vector<std::string> keys;
  for (const auto& [mine, usual] :
       {std::pair{training_keys().text(rest.training), training_keys().text(plain.training)},
        std::pair{fine_tuning_keys().text(rest.fine_tuning),
                  fine_tuning_keys().text(plain.fine_tuning)},
        std::pair{parallel_keys().text(rest.parallel), parallel_keys().text(plain.parallel)},
        std::pair{memory_keys().text(rest.memory), memory_keys().text(plain.memory)},
        std::pair{communication_keys().text(rest), communication_keys().text(plain)}})
    add_unlike(mine, usual, keys);
  return keys;
}

}  // namespace foretrain
