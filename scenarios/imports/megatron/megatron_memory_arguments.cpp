// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <string_view>

#include "models/inputs/recipe.hpp"
#include "scenarios/imports/megatron/internal/megatron_mapper.hpp"
#include "scenarios/sections/hybrid_keys.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {

void MegatronMapper::map_state_dtypes() {
  Training& training = out_.job.training;
  const auto width = [&](const std::string& name) {
    const auto bytes = parse_number(said("state_bytes", name)).value;
    if (!bytes && in_.flag("use-precision-aware-optimizer"))
      unmodelled(name + " " + in_.text(name));
    return bytes.value_or(4.0);
  };
  const double gradients = width("main-grads-dtype");
  const double parameters = width("main-params-dtype");
  const double first = width("exp-avg-dtype");
  const double second = width("exp-avg-sq-dtype");
  if (in_.flag("use-precision-aware-optimizer")) {
    // Of fp32 masters only the 16 bits that bf16 weights lack are stored (Transformer Engine's
    // FusedAdam, store_param_remainders); 16-bit masters are scaled and take as much.
    const bool remainders =
        training.precision == Precision::bf16 || (quantised(training.precision) && !fp8_weights());
    training.master_bytes = remainders ? 2.0 : parameters;
    training.first_moment_bytes = first;
    training.second_moment_bytes = second;
    training.decoupled_gradients = true;
    if (gradients == 2.0) out_.job.communication.gradient_dtype = Precision::bf16;
  }
  if (in_.flag("grad-reduce-in-bf16")) out_.job.communication.gradient_dtype = Precision::bf16;
  in_.accept("accumulate-allreduce-grads-in-fp32");  // bf16 implies it
}

void MegatronMapper::map_optimizer() {
  Training& training = out_.job.training;
  Parallel& parallel = out_.job.parallel;
  const bool distributed = in_.flag("use-distributed-optimizer");
  const int instances = in_.integer("num-distributed-optimizer-instances", 1);
  const std::string kind = in_.text("optimizer", "adam");
  if (const auto known = from_name<OptimizerKind>(said("optimizer", "optimizer")))
    training.optimizer = *known;
  else
    unmodelled("optimizer " + kind);
  if (training.optimizer == OptimizerKind::muon) map_muon();
  parallel.zero = distributed || kind.rfind("dist_", 0) == 0 ? 1 : 0;
  training.whole_tensor_shards = in_.flag("no-use-layer-wise-param-layout") && parallel.zero == 1 &&
                                 training.optimizer == OptimizerKind::muon;
  map_deepspeed();
  if (instances > 1 && parallel.data % instances != 0)
    unmodelled("num-distributed-optimizer-instances that part the context ranks of a replica");
  if (instances > 1) parallel.zero_group = std::max(1, parallel.data / instances);
  map_state_dtypes();
  map_fsdp();
}

void MegatronMapper::map_muon() {
  Training& training = out_.job.training;
  training.newton_schulz_steps = in_.integer("muon-num-ns-steps", training.newton_schulz_steps);
  const std::string mode = in_.text("muon-tp-mode", "blockwise");
  if (mode != "blockwise" && out_.job.parallel.tensor > 1) unmodelled("muon-tp-mode " + mode);
  const std::string precision = in_.text("muon-fp32-matmul-prec", "medium");
  if (precision == "high") unmodelled("muon-fp32-matmul-prec " + precision);
  const std::string scalar = in_.text("muon-scalar-optimizer", "adam");
  if (scalar != "adam") unmodelled("muon-scalar-optimizer " + scalar);
}

/// Megatron-DeepSpeed: DeepSpeed keeps the optimizer. Its bf16 optimizer shards states at stage 0
/// too (runtime/bf16_optimizer.py).
void MegatronMapper::map_deepspeed() {
  out_.deepspeed = in_.flag("deepspeed");
  const auto stage = in_.integer("zero-stage");
  if (!out_.deepspeed) return;
  const bool own = out_.job.training.precision == Precision::bf16;
  out_.job.parallel.zero = std::clamp(stage.value_or(0), own ? 1 : 0, 3);
  for (const char* name : {"zero-offload", "cpu-optimizer", "remote-device"})
    if (in_.flag(name) && in_.text(name) != "none") unmodelled(name);
}

/// Gradients are kept and summed in one type; where the two differ, neither is.
void MegatronMapper::map_fsdp_dtypes() {
  const std::string held = in_.text("megatron-fsdp-main-grads-dtype", "fp32");
  const std::string sent = in_.text("megatron-fsdp-grad-comm-dtype", held);
  const std::string parameters = in_.text("megatron-fsdp-main-params-dtype", "fp32");
  if (parameters != "fp32") unmodelled("megatron-fsdp-main-params-dtype " + parameters);
  if (held != sent || (held != "fp32" && held != "bf16"))
    unmodelled("megatron-fsdp-grad-comm-dtype " + sent + " beside gradients in " + held);
  else if (held == "bf16")
    out_.job.communication.gradient_dtype = Precision::bf16;
}

void MegatronMapper::map_fsdp() {
  Parallel& parallel = out_.job.parallel;
  const bool fsdp = in_.flag("use-megatron-fsdp") || in_.flag("use-custom-fsdp");
  const auto sharded = parse_integer(said("sharding", "data-parallel-sharding-strategy")).value;
  if (fsdp) {
    parallel.zero = static_cast<int>(sharded.value_or(parallel.zero));
    out_.fsdp = MegatronFsdp::megatron;
    map_fsdp_dtypes();
    if (in_.integer("megatron-fsdp-version", 1) != 1)
      out_.approximated.emplace_back("megatron-fsdp-version");
    if (in_.flag("fsdp-double-buffer")) out_.approximated.emplace_back("fsdp-double-buffer");
    if (in_.text("outer-dp-sharding-strategy", "no_shard") != "no_shard")
      unmodelled("outer-dp-sharding-strategy");
  }
  if (in_.flag("use-torch-fsdp2")) {
    parallel.zero = 3;
    out_.fsdp = MegatronFsdp::torch;
    // Its shards of the gradients have the parameters' 16-bit type.
    out_.job.communication.gradient_dtype = Precision::bf16;
  }
}

void MegatronMapper::map_recompute() {
  Recompute& recompute = out_.job.memory.recompute;
  const std::string granularity = in_.text("recompute-granularity");
  const bool old_flag = in_.flag("recompute-activations");
  const bool oldest_flag = in_.flag("checkpoint-activations");
  const std::string method = in_.text("recompute-method");
  recompute.layers = in_.integer("recompute-num-layers", 1);
  recompute.distribute_saved = in_.flag("distribute-saved-activations");
  const bool moe_layer = in_.flag("moe-layer-recompute");
  LayerModules modules = layer_modules_of(said_list("recompute_modules"));
  if (oldest_flag) recompute.layers = in_.integer("checkpoint-num-layers", 1);
  if (granularity == "full" || (granularity.empty() && oldest_flag)) {
    recompute.kind = RecomputeKind::full;
    recompute.method = from_name<RecomputeMethod>(method).value_or(RecomputeMethod::uniform);
  } else if (granularity == "selective" || old_flag || moe_layer) {
    recompute.kind = RecomputeKind::selective;
    if (granularity != "selective" && !old_flag) modules = LayerModules{};
    modules.moe = modules.moe || moe_layer;
    recompute.modules = modules;
  } else if (!granularity.empty()) {
    in_.error("--recompute-granularity: " + in_quotes(granularity) +
              " is neither full nor selective");
  }
}

void MegatronMapper::map_kernels() {
  MemoryOptions& memory = out_.job.memory;
  const auto variable = [&](const std::string& name) {
    const auto found = environment_.variables.find(name);
    return found == environment_.variables.end() ? std::string() : found->second;
  };
  out_.transformer_engine =
      in_.text("transformer-impl", "transformer_engine") != "local" && !out_.deepspeed;
  const std::string backend = in_.text("attention-backend", "auto");
  const bool flash_flag = in_.flag("use-flash-attn");
  const bool switched_off =
      variable("NVTE_FLASH_ATTN") == "0" && variable("NVTE_FUSED_ATTN") == "0";
  const bool flash = out_.transformer_engine
                         ? backend != "unfused" && backend != "local" && !switched_off
                         : flash_flag || backend == "flash";
  memory.attention = flash ? AttentionKind::flash : AttentionKind::unfused;
  // Scaling by the layer number makes the softmax fp32.
  const bool scaled = in_.flag("apply-query-key-layer-scaling");
  const bool fp32_softmax = in_.flag("attention-softmax-in-fp32") || scaled;
  memory.fused_softmax = !(in_.flag("no-masked-softmax-fusion") && fp32_softmax);
  // Read for time (megatron_import.cpp); its user buffers lie outside the allocator.
  in_.accept("tp-comm-overlap");
  // Combined 1F1B warms up by one pass more (pipeline_parallel/schedules.py) and then runs one
  // micro-batch's forward while another goes backward layer by layer: as many live passes.
  in_.accept("overlap-moe-expert-parallel-comm");
  memory.fp8_activation_inputs = in_.flag("activation-func-fp8-input-store");
  // 0: the output gradients of all micro-batches wait.
  const int limit = in_.integer("wgrad-deferral-limit", 0);
  if (in_.flag("defer-embedding-wgrad-compute"))
    memory.deferred_outputs = limit > 0 ? limit : std::numeric_limits<int>::max();
  if (variable("CUBLAS_WORKSPACE_CONFIG") == ":4096:8") memory.deterministic = true;
  map_graphs();
}

/// Parts of layers, or without a word on parts whole layers; `local` may capture whole steps.
void MegatronMapper::map_graphs() {
  CudaGraphs& graphs = out_.job.training.cuda_graphs;
  const std::string impl = in_.text("cuda-graph-impl", "none");
  const bool old_flags = in_.flag("enable-cuda-graph") || in_.flag("external-cuda-graph");
  in_.accept("cuda-graph-warmup-steps");
  std::vector<std::string> parts = in_.words("cuda-graph-modules");
  const std::vector<std::string> scope = in_.words("cuda-graph-scope");
  parts.insert(parts.end(), scope.begin(), scope.end());
  if (impl == "none" && !old_flags) return;
  if (impl == "full_iteration") parts.push_back(impl);
  for (const std::string& part : parts) {
    if (const auto captured = megatron_graph_part(part))
      graphs.add(*captured);
    else if (part != "full")
      unmodelled("cuda-graph-scope " + part);
  }
  if (graphs.any()) return;
  for (const GraphPart part : {GraphPart::attention, GraphPart::mlp}) graphs.add(part);
  if (out_.job.model.moe) graphs.add(GraphPart::moe);
}

void MegatronMapper::map_offload() {
  if (in_.flag("optimizer-cpu-offload")) {
    const double share = in_.number("optimizer-offload-fraction", 1.0);
    if (share < 0.0 || share > 1.0)
      in_.error("--optimizer-offload-fraction: " +
                in_quotes(in_.text("optimizer-offload-fraction")) + " is not between 0 and 1");
    out_.job.memory.offload = OffloadKind::optimizer;
    out_.job.memory.offload_share = share;
  }
  in_.accept("cpu-offloading");
  in_.accept("cpu-offloading-activations");
  if (in_.number("activation-offload-fraction", 1.0) != 1.0)
    unmodelled("activation-offload-fraction");
  const bool fine_grained = in_.flag("fine-grained-activation-offloading");
  in_.accept("offload-modules");
  if (fine_grained)
    out_.job.memory.activation_offload = layer_modules_of(said_list("offload_modules"));
}

}  // namespace foretrain
