// SPDX-License-Identifier: Apache-2.0
#include "models/rules/plan_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "models/data/single_process.hpp"
#include "models/grid/process_grid.hpp"
#include "models/layers/context_kinds.hpp"
#include "models/rules/internal/reasons.hpp"
#include "models/rules/plan_sizes.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/schedule.hpp"
#include "models/schedules/sharded_pipeline.hpp"

namespace foretrain {
namespace {

/// "1, 2, 4 or 8": the divisors of `number` up to `limit`.
std::string divisors(int number, int limit) {
  const std::vector<int> found = divisors_of(number, limit);
  std::string text;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i > 0) text += i + 1 == found.size() ? " or " : ", ";
    text += std::to_string(found[i]);
  }
  return text;
}

struct Division {
  int divisor;
  int number;
  std::string_view key;  ///< that holds the divisor
  std::string_view rule;
  std::string_view what;  ///< the number is
};

void require_divides(Reasons& reasons, const Division& division) {
  const auto& [divisor, number, key, rule, what] = division;
  if (number % divisor == 0) return;
  reasons.push_back({std::string(rule), std::string(key),
                     fmt::format("{} {} is not divisible by {} {}", what, number, key, divisor),
                     fmt::format("{}: {}", key, divisors(number, 64))});
}

/// A plan recomputes something, or nothing; reports forecast the range of those that it may be.
void check_known(const Job& job, Reasons& reasons) {
  if (job.memory.recompute.kind != RecomputeKind::unknown) return;
  reasons.push_back({"recompute-known", "memory.recompute",
                     "what is recomputed is unknown: reports of one plan forecast the range, "
                     "everything else needs to know it",
                     "memory.recompute: none, selective or full"});
}

void check_sizes(const Job& job, Reasons& reasons) {
  const Parallel& plan = job.parallel;
  const std::int64_t needed = replica_ranks(plan) * plan.data;
  const int present = job.cluster.gpus();
  if (needed != present)
    reasons.push_back(
        {"gpus", "parallel.data",
         fmt::format("tensor {} x context {} x pipeline {} x data {} = {} GPUs, but the cluster "
                     "has {} hosts x {} = {}",
                     plan.tensor, plan.context, plan.pipeline, plan.data, needed, job.cluster.hosts,
                     job.cluster.host.gpus, present),
         "leave parallel.data out: it is derived from the cluster"});
}

/// Tensor ranks have whole key-value heads, or share each of them evenly (Megatron-Core,
/// `transformer_config.py`: a multiple or a divisor). Frameworks that cut projections by DTensor
/// alone have whole heads.
void check_key_heads(const Job& job, Reasons& reasons) {
  const int tensor = job.parallel.tensor;
  if (cuts_key_heads(job.model, tensor)) return;
  const bool shares = job.parallel.framework == PlanFramework::any;
  if (shares && shares_key_heads(job.model, tensor)) return;
  const int heads = common_sizes(job.model).kv_heads;
  break_rule(reasons, "kv-heads-divide-tensor", "parallel.tensor",
             shares ? fmt::format("key-value heads {} are neither divisible by parallel.tensor {} "
                                  "nor a divisor of it in all layers",
                                  heads, tensor)
                    : fmt::format("key-value heads {} are not divisible by parallel.tensor {}, and "
                                  "{} does not share heads between ranks",
                                  heads, tensor, traits_of(job.parallel.framework).title),
             fmt::format("parallel.tensor: {}", divisors(heads, 64)));
}

void check_tensor(const Job& job, Reasons& reasons) {
  const LlmShape& model = job.model;
  const int tensor = job.parallel.tensor;
  const LayerSizes cut = common_sizes(model);
  require_divides(reasons,
                  {tensor, cut.heads, "parallel.tensor", "heads-divide-tensor", "attention heads"});
  check_key_heads(job, reasons);
  require_divides(reasons,
                  {tensor, cut.ffn_hidden, "parallel.tensor", "ffn-divides-tensor", "MLP width"});
  require_divides(
      reasons, {tensor, model.hidden, "parallel.tensor", "hidden-divides-tensor", "hidden size"});
  if (job.parallel.sequence && tensor == 1)
    reasons.push_back({"sequence-needs-tensor", "parallel.sequence",
                       "sequence parallelism shares out what tensor parallelism replicates; with "
                       "parallel.tensor 1 there is nothing to share",
                       "parallel.sequence: false"});
  if (job.parallel.sequence)
    require_divides(reasons,
                    {tensor, job.training.sequence / job.parallel.context, "parallel.tensor",
                     "sequence-divides-tensor", "sequence length per rank"});
}

/// A framework runs the ways to split a model that it has.
void check_framework(const Job& job, Reasons& reasons) {
  const Parallel& plan = job.parallel;
  const PlanFrameworkTraits& traits = traits_of(plan.framework);
  const auto check = [&](std::string_view key, bool has, int ranks, std::string_view what) {
    if (has || ranks == 1) return;
    break_rule(reasons, "framework-has-axis", fmt::format("parallel.{}", key),
               fmt::format("{} has no {}, but parallel.{} is {}", traits.title, what, key, ranks),
               fmt::format("parallel.{}: 1, or parallel.framework: any, where a framework that has "
                           "them runs the job, such as torchtitan, Megatron-LM or NeMo",
                           key));
  };
  check("tensor", traits.tensor, plan.tensor, "tensor parallelism");
  check("context", traits.context, plan.context, "context parallelism");
  check("pipeline", traits.pipeline, plan.pipeline, "pipeline parallelism");
  check("expert", traits.expert, plan.expert, "expert parallelism");
}

/// Ranks that exchange heads for the sequence need whole heads, of keys as of queries.
void check_swapped_heads(const Job& job, Reasons& reasons) {
  const Parallel& plan = job.parallel;
  if (plan.context == 1 || job.communication.context_exchange != ContextExchange::all_to_all)
    return;
  const LayerSizes cut = common_sizes(job.model);
  const int heads = job.model.mla ? cut.heads : cut.kv_heads;
  require_divides(reasons,
                  {plan.context, std::max(1, heads / std::max(1, plan.tensor)), "parallel.context",
                   "heads-divide-context", "key-value heads of a tensor rank"});
}

/// Parts of a sequence: two from both its ends for each context rank, or one, which is as long as
/// what the next rank needs of it.
void check_parts(const Job& job, Reasons& reasons) {
  const Parallel& plan = job.parallel;
  const int sequence = job.training.sequence;
  if (plan.context == 1) return;
  if (!job.model.compression)
    return require_divides(
        reasons, {2 * plan.context, sequence, "parallel.context", "sequence-divides-context",
                  "sequence length (two balanced chunks per rank)"});
  require_divides(reasons, {plan.context, sequence, "parallel.context", "sequence-divides-context",
                            "sequence length"});
  int borrowed = borrowed_tokens(job.model, job.model);
  for (const LayerSizes& sizes : job.model.special_layers)
    borrowed = std::max(borrowed, borrowed_tokens(job.model, sizes));
  if (sequence / plan.context >= borrowed) return;
  break_rule(reasons, "context-holds-window", "parallel.context",
             fmt::format("a context rank holds {} tokens, but the next one needs {} of them",
                         sequence / plan.context, borrowed),
             fmt::format("parallel.context: at most {}", std::max(1, sequence / borrowed)));
}

void check_context_and_experts(const Job& job, Reasons& reasons) {
  const Parallel& plan = job.parallel;
  check_swapped_heads(job, reasons);
  check_parts(job, reasons);
  if (plan.expert > 1 && !job.model.moe)
    reasons.push_back({"experts-needed", "parallel.expert",
                       fmt::format("{} has no experts to spread", job.model.name),
                       "parallel.expert: 1"});
  if (plan.expert > 1 && job.model.moe)
    require_divides(reasons, {plan.expert, job.model.moe->experts, "parallel.expert",
                              "experts-divide-expert-parallel", "experts per layer"});
  const int ranks = ProcessGrid{plan}.stage_ranks();
  const int spread = plan.expert * plan.expert_tensor_size();
  if (job.model.moe && ranks % spread != 0)
    reasons.push_back(
        {"experts-divide-ranks", "parallel.expert",
         fmt::format(
             "expert {} x expert tensor {} = {} ranks do not divide the {} tensor x context x "
             "data ranks of a stage",
             plan.expert, plan.expert_tensor_size(), spread, ranks),
         fmt::format("a product of expert and expert tensor ranks that divides {}", ranks)});
}

/// As Megatron-Core asserts: a stage has the same ranks for its experts and the rest.
void check_order(const Job& job, Reasons& reasons) {
  const Parallel& plan = job.parallel;
  if (plan.order == data_in_stage || plan.pipeline == 1 || !job.model.moe) return;
  if (ProcessGrid{plan}.stages_agree()) return;
  reasons.push_back(
      {"order-keeps-stages", "parallel.order",
       fmt::format("experts of {} x {} ranks (expert x expert tensor) next to layers of {} x {} "
                   "(tensor x context) are on other ranks of the pipeline than these",
                   plan.expert, plan.expert_tensor_size(), plan.tensor, plan.context),
       "the order with the pipeline last, or expert x expert_tensor as large as tensor x context"});
}

void check_sequence(const Job& job, Reasons& reasons) {
  const LlmShape& model = job.model;
  if (model.position != PositionKind::learned || model.positions <= 0) return;
  if (job.training.sequence <= model.positions) return;
  reasons.push_back({"learned-positions", "training.sequence",
                     fmt::format("{} has {} learned positions, but a sequence has {} tokens",
                                 model.name, model.positions, job.training.sequence),
                     fmt::format("training.sequence: at most {}", model.positions)});
}

void check_stage_layers(const Job& job, Reasons& reasons) {
  const Parallel& plan = job.parallel;
  const auto stages = static_cast<std::size_t>(plan.pipeline);
  const auto chunks = stages * static_cast<std::size_t>(plan.virtual_stages);
  const auto given = plan.stage_layers.size();
  if (given != stages && given != chunks) {
    reasons.push_back({"stage-layers-count", "parallel.stage_layers",
                       fmt::format("{} numbers for {} stages of {} virtual stages", given,
                                   plan.pipeline, plan.virtual_stages),
                       fmt::format("give {} numbers, one per stage", plan.pipeline)});
    return;
  }
  const int sum = std::accumulate(plan.stage_layers.begin(), plan.stage_layers.end(), 0);
  if (sum != job.model.layers)
    reasons.push_back(
        {"stage-layers-sum", "parallel.stage_layers",
         fmt::format("they sum to {}, but {} has {} layers", sum, job.model.name, job.model.layers),
         fmt::format("numbers that sum to {}", job.model.layers)});
}

/// Chunks per stage are those that the schedule has, or several where the plan chooses.
void check_chunks(const Parallel& plan, Reasons& reasons) {
  const ScheduleTraits& traits = traits_of(plan.schedule);
  const bool chosen = traits.chunks == chunks_chosen;
  if (chosen && plan.pipeline == 1)
    reasons.push_back({"interleaving-needs-pipeline", "parallel.schedule",
                       "interleaving needs parallel.pipeline above 1",
                       fmt::format("parallel.schedule: {}", name_of(default_schedule))});
  const bool folded = folds(plan);
  if (folded && plan.virtual_stages != traits.chunks)
    reasons.push_back({fmt::format("{}-has-two-chunks", name_of(plan.schedule)),
                       "parallel.virtual_stages",
                       fmt::format("schedule {} places two chunks on every stage, not {}",
                                   name_of(plan.schedule), plan.virtual_stages),
                       fmt::format("parallel.virtual_stages: {}", traits.chunks)});
  else if (!folded && chosen != (plan.virtual_stages > 1))
    reasons.push_back({"interleaved-has-virtual-stages", "parallel.virtual_stages",
                       fmt::format("schedule {} with {} virtual stages", name_of(plan.schedule),
                                   plan.virtual_stages),
                       chosen ? "parallel.virtual_stages: 2 or more"
                              : fmt::format("parallel.schedule: {}", name_of(schedule_in_chunks))});
}

void check_pipeline(const Job& job, Reasons& reasons) {
  const Parallel& plan = job.parallel;
  const auto chunks = std::int64_t{plan.pipeline} * plan.virtual_stages;
  if (chunks > job.model.layers + 2)
    reasons.push_back({"stages-without-layers", "parallel.pipeline",
                       fmt::format("{} stages x {} virtual stages = {} chunks for {} layers",
                                   plan.pipeline, plan.virtual_stages, chunks, job.model.layers),
                       fmt::format("at most {} chunks", job.model.layers)});
  if (!plan.stage_layers.empty()) check_stage_layers(job, reasons);
  check_chunks(plan, reasons);
}

void check_batch(const Job& job, Reasons& reasons) {
  const auto once = std::int64_t{job.training.micro_batch} * job.parallel.data;
  const std::int64_t batch = job.training.global_batch;
  if (batch % once != 0) {
    const std::int64_t below = batch / once * once;
    reasons.push_back(
        {"batch-divides", "training.global_batch",
         fmt::format("global batch {} is not a multiple of micro_batch {} x data {} = {}", batch,
                     job.training.micro_batch, job.parallel.data, once),
         below > 0 ? fmt::format("training.global_batch: {} or {}", below, below + once)
                   : fmt::format("training.global_batch: {}", once)});
    return;
  }
  const auto fault = traits_of(job.parallel.schedule).fault;
  if (!fault) return;
  if (auto reason = fault(job)) reasons.push_back(std::move(*reason));
}

void check_shards(const Job& job, Reasons& reasons) {
  const Parallel& plan = job.parallel;
  if (plan.zero_group > 0 && plan.zero == 0)
    reasons.push_back({"zero-group-needs-zero", "parallel.zero_group",
                       "nothing is sharded with parallel.zero 0", "leave parallel.zero_group out"});
  if (plan.zero_group > 0)
    require_divides(reasons, {plan.zero_group, plan.data, "parallel.zero_group",
                              "zero-group-divides-data", "parallel.data"});
  if (const std::string why = no_sharded_pipeline(job); !why.empty())
    reasons.push_back({"sharded-pipeline", "parallel.zero", why, "parallel.zero: 1"});
  if (job.communication.transport != job.cluster.network.transport && job.cluster.hosts > 1)
    reasons.push_back(
        {"transport-of-fabric", "communication.transport",
         fmt::format("fabric preset {} was measured with {}, not {}", job.cluster.network.preset,
                     name_of(job.cluster.network.transport), name_of(job.communication.transport)),
         "leave communication.transport out, or choose a preset of that transport"});
}

/// Megatron-Core captures parts of layers that keep what they save; whole layers that run again are
/// captured with the whole step alone.
void check_graphs(const Job& job, Reasons& reasons) {
  const CudaGraphs& graphs = job.training.cuda_graphs;
  if (!graphs.any() || graphs.has(GraphPart::full_iteration)) return;
  if (job.memory.recompute.kind != RecomputeKind::full) return;
  reasons.push_back({"graphs-keep-layers", "training.cuda_graphs",
                     "parts of layers are captured as CUDA graphs, but memory.recompute: full runs "
                     "whole layers again",
                     "training.cuda_graphs: [full-iteration], or memory.recompute: selective"});
}

}  // namespace

std::vector<Infeasible> broken_layout_rules(const Job& job) {
  Reasons reasons;
  check_sizes(job, reasons);
  check_framework(job, reasons);
  check_tensor(job, reasons);
  check_mixers(job, reasons);
  check_sequence(job, reasons);
  check_context_and_experts(job, reasons);
  check_order(job, reasons);
  check_pipeline(job, reasons);
  check_stages(job, reasons);
  for (Infeasible& reason : broken_fine_tuning_rules(job)) reasons.push_back(std::move(reason));
  for (Infeasible& reason : broken_image_rules(job)) reasons.push_back(std::move(reason));
  return reasons;
}

std::vector<Infeasible> broken_recompute_rules(const Job& job) {
  Reasons reasons;
  check_known(job, reasons);
  check_graphs(job, reasons);
  return reasons;
}

std::vector<Infeasible> broken_batch_rules(const Job& job) {
  Reasons reasons;
  check_batch(job, reasons);
  check_accumulation(job, reasons);
  return reasons;
}

std::vector<Infeasible> broken_shard_rules(const Job& job) {
  Reasons reasons;
  check_shards(job, reasons);
  for (Infeasible& reason : single_process_rules(job)) reasons.push_back(std::move(reason));
  return reasons;
}

std::vector<Infeasible> broken_rules(const Job& job) {
  Reasons reasons = broken_layout_rules(job);
  for (const auto rules : {broken_recompute_rules, broken_batch_rules, broken_shard_rules})
    for (Infeasible& reason : rules(job)) reasons.push_back(std::move(reason));
  return reasons;
}

}  // namespace foretrain
