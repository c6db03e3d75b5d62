// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/run_job.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "calibration/records/internal/record_terms.hpp"
#include "calibration/records/internal/run_job_builder.hpp"
#include "calibration/records/internal/words.hpp"
#include "calibration/records/run_machine.hpp"
#include "models/base/ranges.hpp"
#include "models/forecast/band.hpp"
#include "models/forecast/possible_plans.hpp"
#include "models/rules/plan_rules.hpp"
#include "scenarios/catalog/model_names.hpp"

namespace foretrain {
RunJobBuilder::RunJobBuilder(const RunRecord& record, const RunCatalog& catalog)
    : record_{record},
      catalog_{catalog},
      source_{run_source(record)},
      options_{run_options(record)} {
  out_.assumptions = record.assumptions;
}

RunJob RunJobBuilder::run() {
  if (check_ranges() && set_profiles() && set_shape() && set_parallel() && set_training() &&
      set_machine() && set_recompute()) {
    set_memory();
    set_communication();
    set_plan_keys();
    add_alternatives();
    out_.job = std::move(job_);
  }
  return std::move(out_);
}

/// What the record says in the words of scenarios stands over what its other fields mean.
void RunJobBuilder::set_plan_keys() {
  for (const PlanKeyValue& key : record_.plan) {
    set_plan_key(*key.row, key.value, job_);
    recompute_stated_ = recompute_stated_ || key.row->field.path.starts_with("memory.recompute");
  }
}

/// Files come from users: whatever later divides, multiplies or sizes something is bounded here.
bool RunJobBuilder::check_ranges() {
  if (std::string why = outside_limits(record_); !why.empty()) return refuse(std::move(why));
  const int last = record_.layers_last_stage.value_or(0);
  if (last < 0 || last > record_.layers.value_or(last))
    return refuse("layers_last_stage " + std::to_string(last) + " is not a share of the layers");
  const double gpus = 1.0 * record_.tensor.value_or(1) * record_.pipeline.value_or(1) *
                      record_.data.value_or(1) * record_.context.value_or(1);
  if (gpus > 1e7) return refuse("the layout asks for more than 10 million GPUs");
  if (1.0 * record_.micro_batch.value_or(1) * record_.data.value_or(1) > 1e9)
    return refuse("a step has more than 1e9 sequences");
  const double chunks = 1.0 * record_.pipeline.value_or(1) * record_.virtual_stages.value_or(1);
  if (record_.layers && chunks > *record_.layers + 2.0)
    return refuse("there are more pipeline stages than layers");
  return true;
}

bool RunJobBuilder::set_profiles() {
  const auto stack = catalog_.stacks.find(source_.stack);
  if (stack == catalog_.stacks.end()) return refuse("no stack profile " + source_.stack);
  job_.stack = stack->second;
  if (source_.start > Seconds{}) {
    assume("the mean of its steps contains the start of the run");
    job_.stack.times.step_constant += source_.start;
  }
  if (source_.kin) {
    assume("no run of its framework was measured: as its nearest kin, " + job_.stack.name);
    job_.stack.provenance.trust = Trust::datasheet;
  }
  const auto site = catalog_.sites.find(source_.site);
  if (site == catalog_.sites.end()) return refuse("no site profile " + source_.site);
  job_.site = site->second;
  const auto device = catalog_.devices.find(device_of_record(record_.gpu, catalog_));
  if (device == catalog_.devices.end())
    return refuse(record_.gpu.empty() ? "the GPU is not stated: gpu" : "no device " + record_.gpu);
  const auto rates = catalog_.device_profiles.find(device->first);
  if (rates == catalog_.device_profiles.end()) return refuse("no device profile " + device->first);
  job_.device_profile = rates->second;
  if (catalog_.devices.count(lower(record_.gpu)) == 0 &&
      device_called(record_.gpu, DeviceNaming::product).empty())
    assume(record_.gpu + " is " + device->second.title);
  return true;
}

/// A model of the catalog, which the record names or its source says that it is; and whether a
/// shape of its own is enough.
bool RunJobBuilder::set_catalog_shape() {
  const bool named = !record_.catalog_model.empty() || source_.model.empty();
  const std::string& name = !record_.catalog_model.empty() ? record_.catalog_model
                            : named                        ? record_.model_name
                                                           : source_.model;
  const auto found = catalog_.models.find(name);
  if (found == catalog_.models.end())
    return refuse("there is no model " + in_quotes(name) + " in the catalog");
  if (!record_.sequence) return refuse("the sequence length is not stated: model.seq");
  job_.model = found->second;
  if (!named) assume("the shape of " + name + " in the catalog, as its published configuration");
  if (record_.mtp_layers) job_.model.mtp_layers = *record_.mtp_layers;
  if (!job_.model.moe || record_.expert) return true;
  if (!holds_all_experts(record_))
    return refuse("the expert-parallel degree is not stated: parallel.ep");
  if (record_.gpus != 1) assume("every rank computes with all experts");
  return true;
}

/// @pre hidden is stated
bool RunJobBuilder::set_heads() {
  int heads = record_.heads.value_or(0);
  if (heads == 0 && source_.heads && !record_.head_dim) {
    heads = *source_.heads;
    assume(fmt::format("{} attention heads", heads));
  }
  if (heads == 0) return refuse("the number of attention heads is not stated: model.heads");
  LlmShape& model = job_.model;
  model.heads = heads;
  model.kv_heads = record_.kv_heads.value_or(heads);
  if (!record_.kv_heads && has_part(lower(record_.model_name), "llama3-405b")) {
    // The source's launcher sets 16; its model file says 8 (calibration/measured, notes on 405B).
    model.kv_heads = 16;
    assume("16 key/value heads, as the source's launcher sets");
  }
  model.head_dim = record_.head_dim.value_or(*record_.hidden / heads);
  return true;
}

bool RunJobBuilder::set_shape() {
  const bool by_name = !source_.model.empty() || catalog_.models.count(record_.model_name) > 0;
  if (!record_.catalog_model.empty() || (!record_.layers && by_name)) return set_catalog_shape();
  if (is_hybrid_architecture(record_.architecture))
    return refuse(
        fmt::format("hybrid models ({}) need the pattern of their layers: model.catalog "
                    "names a model that has one",
                    in_quotes(record_.architecture)));
  LlmShape& model = job_.model;
  // Models with nothing but experts have no dense width of their own.
  const auto ffn =
      record_.ffn_hidden || !record_.moe ? record_.ffn_hidden : record_.moe->expert_ffn;
  if (!record_.layers || !record_.hidden || !ffn)
    return refuse(
        "the model's shape is not stated (model.layers, hidden, ffn_hidden), and its name is none "
        "of "
        "the catalog's (foretrain show models)");
  const bool llama = record_.gated_mlp.value_or(false);
  model.name = record_.model_name;
  model.layers = *record_.layers;
  model.hidden = *record_.hidden;
  if (!set_heads()) return false;
  model.ffn_hidden = *ffn;
  model.gated_mlp = llama;
  if (!record_.gated_mlp) assume("an MLP without a gate, LayerNorm and biases, as GPT has them");
  model.norm = llama ? NormKind::rmsnorm : NormKind::layernorm;
  model.norm_bias = model.qkv_bias = model.attention_output_bias = model.mlp_bias = !llama;
  model.position = llama ? PositionKind::rotary : PositionKind::learned;
  model.tied_embeddings = record_.tied_embeddings.value_or(!llama);
  if (record_.vocabulary) {
    model.vocabulary = *record_.vocabulary;
  } else {
    model.vocabulary = 50257;
    assume("vocabulary 50257 (GPT-2)");
  }
  if (!record_.sequence) return refuse("the sequence length is not stated: model.seq");
  model.positions = llama ? 0 : *record_.sequence;
  model.mtp_layers = record_.mtp_layers.value_or(0);
  return set_window() && (!record_.moe || set_moe()) && set_family();
}

/// What the architecture of a family fixes and records do not repeat (catalog: gpt-oss-120b).
bool RunJobBuilder::set_family() {
  if (lower(record_.architecture) != "gpt_oss") return true;
  LlmShape& model = job_.model;
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = true;
  model.attention_sinks = model.rotary_scaled = true;
  model.mlp_clamp = 7.0;
  if (model.moe) model.moe->linear_bias = true;
  return true;
}

bool RunJobBuilder::set_window() {
  if (!record_.sliding_window) return true;
  if (!record_.window || *record_.window < 1)
    return refuse("the window of its attention is not stated: model.swa.window");
  job_.model.window = *record_.window;
  job_.model.full_attention_every = std::max(0, record_.full_every.value_or(0));
  return true;
}

bool RunJobBuilder::set_moe() {
  const RunMoe& source = *record_.moe;
  if (!source.experts || !source.top_k || !source.expert_ffn)
    return refuse(
        "the mixture of experts is not fully stated: model.moe.experts, topk and expert_ffn");
  MoeShape moe;
  moe.experts = *source.experts;
  moe.top_k = *source.top_k;
  moe.expert_ffn_hidden = *source.expert_ffn;
  moe.shared_ffn_hidden =
      source.shared_ffn.value_or(source.shared.value_or(0) * *source.expert_ffn);
  moe.first_dense_layers = source.first_dense_layers.value_or(0);
  job_.model.moe = moe;
  if (!source.mla) return true;
  // DeepSeek-V2 (arXiv 2405.04434) and V3 (2412.19437) share these; V2-Lite projects queries
  // directly.
  const int query_rank = job_.model.hidden <= 2048 ? 0 : 1536;
  job_.model.mla = MlaShape{query_rank, 512, 128, 64, 128};
  job_.model.head_dim = job_.model.mla->qk_nope_head_dim + job_.model.mla->qk_rope_head_dim;
  assume("latent attention dimensions of DeepSeek-V2/V3");
  return true;
}

bool RunJobBuilder::set_machine() {
  RunMachine machine = run_machine(record_, job_.parallel.gpus(), catalog_);
  if (!machine.cluster) return refuse(machine.why);
  job_.cluster = std::move(*machine.cluster);
  job_.communication.transport = job_.cluster.network.transport;
  for (std::string& assumption : machine.assumptions) assume(std::move(assumption));
  return true;
}

namespace {

/// Fused kernels are every framework's default from 2024 on (Transformer Engine 1.0, PyTorch 2.2's
/// scaled_dot_product_attention); before, FlashAttention was an option.
bool fuses_attention(const std::optional<int>& year) {
  constexpr int since = 2024;
  return year && *year >= since;
}

}  // namespace

void RunJobBuilder::add_alternatives() {
  std::vector<Job> others;
  out_.recompute_unknown = !recompute_stated_;
  if (!recompute_stated_)
    for (Job& other : possible_plans(job_))
      if (other.memory.recompute.kind != job_.memory.recompute.kind)
        others.push_back(std::move(other));
  if (!zero_stated_ && job_.parallel.zero == 0 && job_.parallel.data > 1) {
    others.push_back(job_);
    others.back().parallel.zero = 1;
  }
  if (!source_.known && !record_.overlap_gradients) {
    assume("gradients and weights overlapped, as frameworks of today do");
    if (job_.parallel.zero < 3) {  // full shards are prefetched by every release of FSDP and ZeRO-3
      others.push_back(job_);
      others.back().communication.overlap.gradients = false;
      others.back().communication.overlap.parameters = false;
    }
  }
  if (!source_.known && record_.attention_kernel.empty()) {
    assume("fused attention");
    if (!fuses_attention(source_.year ? source_.year : software_years(job_).last)) {
      others.push_back(job_);
      others.back().memory.attention = AttentionKind::unfused;
    }
  }
  if (!record_.gated_mlp) {
    others.push_back(job_);
    others.back().model.gated_mlp = true;
  }
  for (Job& job : others)
    if (refusals(job).empty()) out_.alternatives.push_back(std::move(job));
}

namespace {

/// Runs that train adapters say so in many ways; which adapters decides time and memory.
bool trains_adapters(const RunRecord& record) {
  const auto tagged = [&](const char* tag) { return contains(record.tags, tag); };
  return record.task == "lora" || tagged("lora") || tagged("qlora") || tagged("dora");
}

std::string beyond_fine_tuning(const RunRecord& record) {
  const RunSource source = run_source(record);
  if (!source.refused.empty()) return source.refused;
  const auto known =
      std::to_array<std::string_view>({"", "pretrain", "finetune", "sft", "lora", "dpo", "reward"});
  if (!contains(known, record.task))
    return fmt::format("task {} is not modelled", in_quotes(record.task));
  const bool told = record.fine_tuning || source.fine_tuning;
  if (trains_adapters(record) && !told)
    return "the adapters are not stated: fine_tuning.adapter, rank and targets";
  if ((record.task == "dpo" || record.task == "reward") && !record.fine_tuning)
    return "what is trained, and against which reference, is not stated: fine_tuning";
  return "";
}

}  // namespace

namespace {

bool plans(const RunRecord& record, std::string_view key) {
  return std::ranges::any_of(record.plan,
                             [&](const PlanKeyValue& said) { return said.row->field.path == key; });
}

/// What a record tells in words, and its `plan` does not say.
std::string beyond_plan(const RunRecord& record) {
  if (!record.cpu_offload.empty() && !plans(record, "memory.offload"))
    return fmt::format(
        "what waits on the host, {}, is not modelled or not in the record's plan "
        "(plan.memory.offload)",
        in_quotes(record.cpu_offload));
  if (!record.activation_offload.empty() && !plans(record, "memory.offloaded_layers") &&
      !plans(record, "memory.activation_offload"))
    return fmt::format(
        "activations on the host, {}, are not modelled or not in the record's plan "
        "(plan.memory.offloaded_layers or activation_offload)",
        in_quotes(record.activation_offload));
  return record.tiled_mlp ? "an MLP that takes the sequence in pieces is not modelled" : "";
}

}  // namespace

std::string beyond_jobs(const RunRecord& record) {
  if (!record.trains())
    return fmt::format("a record of kind {} is no training run", in_quotes(record.kind));
  if (std::string why = beyond_fine_tuning(record); !why.empty()) return why;
  if (std::string why = beyond_plan(record); !why.empty()) return why;
  if (std::string why = refused_architecture(record.architecture); !why.empty()) return why;
  if (record.context.value_or(1) > 1 && !record.context_exchange())
    return fmt::format("context parallelism by {} is not modelled: ring and ulysses are",
                       in_quotes(record.context_kind));
  if (record.moe && !record.expert && !holds_all_experts(record))
    return "the expert-parallel degree is not stated: parallel.ep";
  return "";
}

RunJob run_job(const RunRecord& record, const RunCatalog& catalog) {
  return RunJobBuilder(record, catalog).run();
}

}  // namespace foretrain
