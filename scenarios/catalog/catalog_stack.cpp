// SPDX-License-Identifier: Apache-2.0
// A new constant of a stack is a member of its struct in models/ and one line here.
#include "models/inputs/job.hpp"
#include "scenarios/catalog/band_table_file.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"
#include "scenarios/catalog/internal/profile_keys.hpp"

namespace foretrain {
namespace {

using keys::bind;
using keys::constant;
using keys::unbound;
using profile_keys::amount;
using profile_keys::group;

/// A constant that no fit moves: a switch, or what is known by itself.
template <class V>
KeyRow fixed_key(const char* name, const char* help, V StackTimes::*member) {
  return constant(std::string("times.") + name, help, &StackProfile::times, member);
}

template <class V>
KeyRow key(const char* name, const char* help, V StackTimes::*member) {
  return keys::fitted(fixed_key(name, help, member));
}

KeyRows kernel_time_keys() {
  using T = StackTimes;
  return {
      unbound(group("times", "Time constants.")),
      key("elementwise", "Bytes moved over the least that fused kernels move.", &T::elementwise),
      fixed_key("fused_elementwise", "The same of kernels in training.fused_kernels.",
                &T::fused_elementwise),
      key("head", "The same for the loss, in units of 18 bytes per logit.", &T::head),
      key("score_forward_bytes", "Per score of unfused attention, forward.",
          &T::score_forward_bytes),
      key("score_backward_bytes", "Per score of unfused attention, backward.",
          &T::score_backward_bytes),
      key("flash_factor", "Attention kernels against those of the device profile.",
          &T::flash_factor),
      fixed_key("flash2", "Fused attention is FlashAttention-2, not the newest kernels.",
                &T::flash2),
      fixed_key("flash2_to_hopper",
                "With flash2: up to Hopper; newer devices run the vendor's kernels.",
                &T::flash2_to_hopper),
      key("launch_forward", "Least time of one layer, forward: the CPU launches its kernels.",
          &T::launch_forward),
      key("launch_backward", "The same, backward.", &T::launch_backward),
      key("launch_tensor", "Growth of both: times (tensor - 1)^1.23, up to 8 ranks.",
          &T::launch_tensor),
      key("layer_fixed", "Gaps between the kernels of one layer pass.", &T::layer_fixed),
      key("head_fixed", "The same for the output layer and the loss.", &T::head_fixed),
  };
}

KeyRows exchange_time_keys() {
  using T = StackTimes;
  return {
      key("tensor_slowdown",
          "What GEMMs lose to tensor-parallel traffic beside them, as a share of the time in "
          "which both run; 1: nothing is gained.",
          &T::tensor_slowdown),
      key("tensor_slowdown_backward",
          "The same of sums of input gradients beside GEMMs of weight gradients, where "
          "communication.overlap.tensor is off.",
          &T::tensor_slowdown_backward),
      key("context_slowdown", "The same of keys and values beside attention.",
          &T::context_slowdown),
      key("expert_slowdown", "The same of all-to-alls beside another micro-batch.",
          &T::expert_slowdown),
      key("shard_slowdown", "The same of sharded gathers and reductions beside a layer.",
          &T::shard_slowdown),
      fixed_key("scatter_gather", "Stage boundaries carry 1/tensor of an activation.",
                &T::scatter_gather),
      fixed_key("bucket", "Parameters of a bucket of gradients, at least; 0: communication.bucket.",
                &T::bucket),
      fixed_key("bucket_per_rank", "The same per rank that holds the same weights.",
                &T::bucket_per_rank),
      fixed_key("bucket_first_chunk", "Only the first chunk of the first stage goes in buckets.",
                &T::bucket_first_chunk),
      key("data_slowdown", "The same of gradients and weights once per step beside passes.",
          &T::data_slowdown),
      key("shard_bus", "Share of its bus bandwidth that a sharded gather reaches.", &T::shard_bus),
      key("shard_update", "Per step and further rank of a shard group that sends one by one.",
          &T::shard_update),
      key("vocabulary_split", "Output layer split over the stages against one whole.",
          &T::vocabulary_split),
  };
}

KeyRows more_time_keys() {
  using T = StackTimes;
  return {
      key("expert_elementwise", "As elementwise, for what routes, permutes and runs experts.",
          &T::expert_elementwise),
      key("grouped_product", "Time of the GEMMs of a rank's experts over GEMMs on four streams.",
          &T::grouped_product),
      key("expert_latency", "Of a dispatch to expert ranks whose counts the processor reads first.",
          &T::expert_latency),
      key("fp8_cast_forward",
          "Casts of quantised training against the least that fused kernels would move.",
          &T::fp8_cast_forward),
      key("fp8_cast_backward", "The same in the backward pass.", &T::fp8_cast_backward),
      key("fp8_row_casts", "Casts with a scale per row against one per tensor.", &T::fp8_row_casts),
      fixed_key("host_update", "Of an offloaded optimizer: a host's processors, per parameter.",
                &T::host_update),
      fixed_key("updates_side_by_side",
                "Each process of a host updates at host_update, not all of them together.",
                &T::updates_side_by_side),
      key("gradient_sums", "Summing up fp32 gradients in kernels of its own, against 8 bytes each.",
          &T::gradient_sums),
      key("gradient_sums_fused", "Contention of a GEMM with the fp32 sums that it writes.",
          &T::gradient_sums_fused),
      key("exchange_copy", "Bytes per element copied beside a tensor-parallel exchange.",
          &T::exchange_copy),
      key("step_constant", "Per optimizer step.", &T::step_constant),
      fixed_key("constant_from",
                "Shortest step that it was fitted to; shorter ones have it in proportion.",
                &T::constant_from),
      key("jitter", "Per log2 of the hosts: the slowest of many.", &T::jitter),
      key("release", "Whole step, against the release that the constants describe.", &T::release),
  };
}

template <class V>
KeyRow memory_key(const char* name, const char* help, V MemoryRules::*member) {
  return constant(std::string("memory.") + name, help, &StackProfile::memory, member);
}

KeyRows parameter_memory_keys() {
  using M = MemoryRules;
  return {
      unbound(group("memory", "What is kept in device memory.")),
      memory_key("weight_bytes", "Per parameter, resident.", &M::weight_bytes),
      memory_key("compute_weight_bytes", "Per parameter of the 16-bit copy gathered for use.",
                 &M::compute_weight_bytes),
      memory_key("gradient_bytes", "Per parameter, resident, bf16.", &M::gradient_bytes),
      memory_key("gradient_bytes_fp16", "Per parameter, resident, fp16.", &M::gradient_bytes_fp16),
      memory_key("step_gradient_bytes", "Per parameter from the step to zero_grad, bf16.",
                 &M::step_gradient_bytes),
      memory_key("step_gradient_bytes_fp16", "Per parameter from the step to zero_grad, fp16.",
                 &M::step_gradient_bytes_fp16),
      memory_key("optimizer_bytes", "Per parameter, AdamW, before sharding.", &M::optimizer_bytes),
      memory_key(
          "fp8_copy_bytes",
          "Per linear weight: cached FP8 copies in both layouts; other recipes in proportion.",
          &M::fp8_copy_bytes),
      memory_key("fp8_saves_inputs",
                 "Quantised training keeps linear inputs as they were multiplied.",
                 &M::fp8_saves_inputs),
      memory_key("reduce_bucket", "Flat copy of the gradients being reduced.", &M::reduce_bucket),
      memory_key("reduce_bytes", "Per parameter of one layer while it is reduced (FSDP).",
                 &M::reduce_bytes),
      memory_key("step_copies", "Copies of a moment of all parameters that a step makes.",
                 &M::step_copies),
      memory_key("gathered_layers", "Layers of sharded weights that are whole at a time.",
                 &M::gathered_layers),
      memory_key("offloads_gradients",
                 "32-bit weights and sharded gradients go to the host with an offloaded optimizer.",
                 &M::offloads_gradients),
      memory_key("root_gathered", "Embedding and output stay gathered through both passes.",
                 &M::root_gathered),
      memory_key("adapter_input_copies",
                 "More copies of layers' inputs beside adapters, with sharded weights.",
                 &M::adapter_input_copies),
      memory_key("gradients_resident", "Gradients stay allocated after the step.",
                 &M::gradients_resident),
      memory_key("loss_bytes", "Per logit on the last stage.", &M::loss_bytes),
      memory_key("loss_bytes_fused", "Per logit with a fused cross-entropy.", &M::loss_bytes_fused),
      memory_key("loss_bytes_engine", "Per logit with Transformer Engine's cross-entropy.",
                 &M::loss_bytes_engine),
      memory_key("loss_backward_bytes", "Per logit, gradient of the logits.",
                 &M::loss_backward_bytes),
      memory_key("loss_split", "Logits stay split over tensor ranks.", &M::loss_split),
  };
}

KeyRows activation_memory_keys() {
  using M = MemoryRules;
  return {
      memory_key("score_bytes", "Per score of unfused attention with dropout.", &M::score_bytes),
      memory_key("score_bytes_no_dropout", "The same without dropout.", &M::score_bytes_no_dropout),
      memory_key("score_bytes_unfused_softmax", "Added when softmax is fp32 and not fused.",
                 &M::score_bytes_unfused_softmax),
      memory_key("norm_extra_bytes", "Per hidden element and layer: norms in plain torch.",
                 &M::norm_extra_bytes),
      memory_key("rotary_extra_bytes", "Per query and key element: rotary in plain torch.",
                 &M::rotary_extra_bytes),
      memory_key("swiglu_fused", "No extra MLP activation is kept.", &M::swiglu_fused),
      memory_key("flash_output_copy", "Flash attention keeps its output twice.",
                 &M::flash_output_copy),
      memory_key("expert_imbalance",
                 "Excess of the busiest rank, over sqrt(local experts * top_k).",
                 &M::expert_imbalance),
      memory_key("transient_share", "Of one layer's MLP and residual gradients alive at once.",
                 &M::transient_share),
      memory_key("output_deallocation", "A stage frees its output once it is sent.",
                 &M::output_deallocation),
  };
}

KeyRows buffer_memory_keys() {
  using M = MemoryRules;
  return {
      memory_key("dummy_gradients", "One gradient per weight shape is kept.", &M::dummy_gradients),
      memory_key("score_buffer", "One layer's scores stay in the global buffer.", &M::score_buffer),
      memory_key("gather_buffer", "The gathered input of sequence parallelism is kept.",
                 &M::gather_buffer),
      memory_key("boundary_tensors", "Pipeline boundary tensors that linger.",
                 &M::boundary_tensors),
      memory_key("boundary_tensors_per_chunk", "And for every further virtual chunk.",
                 &M::boundary_tensors_per_chunk),
      memory_key("context_buffers", "Key/value blocks in exchange between context ranks.",
                 &M::context_buffers),
      memory_key("cublas_handles", "Threads that multiply.", &M::cublas_handles),
      memory_key("cublas_workspace_ampere", "Per handle, up to Ampere.",
                 &M::cublas_workspace_ampere),
      memory_key("cublas_workspace_hopper", "Per handle, from Hopper on.",
                 &M::cublas_workspace_hopper),
      memory_key("cublas_workspace_deterministic", "Per handle in deterministic runs.",
                 &M::cublas_workspace_deterministic),
      memory_key("te_workspace_ampere", "Transformer Engine, up to Ampere.",
                 &M::te_workspace_ampere),
      memory_key("te_workspace_hopper", "Transformer Engine, from Hopper on.",
                 &M::te_workspace_hopper),
      memory_key("grouped_gemm_streams", "Further workspaces with grouped matrices.",
                 &M::grouped_gemm_streams),
      memory_key("reserved_over_allocated", "Reserved by the allocator over allocated.",
                 &M::reserved_over_allocated),
      memory_key("least_reserved", "The same when the device is nearly full.", &M::least_reserved),
      memory_key("loss_cache_bytes", "Per logit not made in chunks: freed copies that stay cached.",
                 &M::loss_cache_bytes),
      memory_key("score_cache_bytes", "Per unfused score of one layer: cache that stays taken.",
                 &M::score_cache_bytes),
      memory_key("band", "90th percentile of the error of allocated.", &M::band),
      memory_key("reserved_band", "The same of reserved over allocated.", &M::reserved_band),
      memory_key("context", "CUDA context and loaded kernels.", &M::context),
      memory_key("communicator", "Buffers of one communicator.", &M::communicator),
  };
}

KeyRows band_keys() {
  return {
      bind(amount("band_low", "Measured over predicted step time, 10th percentile.", "0.93"),
           &StackProfile::band_low),
      bind(amount("band_high", "The same, 90th percentile.", "1.08"), &StackProfile::band_high),
      bind({.path = "eager_torch",
            .kind = FieldKind::boolean,
            .help = "Modules of eager PyTorch, which torch.nn.DataParallel can wrap.",
            .example = "true",
            .default_text = "false"},
           &StackProfile::eager_torch),
  };
}

}  // namespace

const BoundTable<StackProfile>& stack_table() {
  static const BoundTable<StackProfile> table(
      "Stack profiles",
      joined_rows(
          {head_keys(true),
           {unbound({.path = "framework",
                     .kind = FieldKind::choice,
                     .help =
                         "The program that it is of, where that splits a model in fewer ways than "
                         "others on the same kernels: `parallel.framework` of a scenario without "
                         "one. transformers runs tensor and context ranks by accelerate.",
                     .example = "transformers",
                     .choices = choices_of<PlanFramework>()})},
           provenance_keys(&StackProfile::provenance),
           band_keys(),
           kernel_time_keys(),
           exchange_time_keys(),
           more_time_keys(),
           parameter_memory_keys(),
           activation_memory_keys(),
           buffer_memory_keys(),
           deviation_keys()}));
  return table;
}

std::optional<StackProfile> read_stack(const CatalogFile& file, const std::string& prefix,
                                       CatalogContext& context) {
  auto item = read_item(file, stack_table(), prefix, context);
  if (!item) return std::nullopt;
  StackProfile& stack = item->value;
  stack.name = file.name;
  if (file.own) stack.provenance.own_file = file.shown;
  stack.title = item->values.text("title");
  stack.bands =
      load_band_table(catalog_roots(context.catalogs, context.diagnostics), context.diagnostics);
  if (stack.band_low <= stack.band_high) return std::move(stack);
  context.diagnostics.add(item->values.where("band_high"), "band_high", "is below band_low");
  return std::nullopt;
}

}  // namespace foretrain
