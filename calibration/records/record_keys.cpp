// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/record_keys.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/ranges.hpp"
#include "models/inputs/fine_tuning.hpp"
#include "scenarios/sections/plan_keys.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

/// The keys of one map of a record, in one text with blanks between; what is only told (a date, a
/// percentile, what a source prints beside) as well as what is read.
struct KeyGroup {
  std::string_view path;
  std::string_view keys;
};

constexpr auto run_keys = std::to_array<KeyGroup>({
    {"",
     "activation_offload assumptions attention_kernel balanced_experts batch_per_dp "
     "compile confidence context_parallel cpu_offload cuda_graphs date ddp_impl digitised "
     "dispatcher expert_overlap fabric fine_tuning flags flops_convention fp8_scaling "
     "fp8_weights fused_kernels fused_loss fused_permutation global_batch gpu gpus "
     "gpus_per_node grad_accum grouped_experts hf_name host id kind known_issue "
     "local_batch max_fitting_seq measured memory_active_gib memory_kind memory_unit "
     "micro_batch missing model model_flops_per_sequence_stated model_source network "
     "notes offloaded_layers oom optimizer origin parallel params_b plan precision recompute "
     "recompute_method release samples schedule site source stack tags targets task "
     "tiled_mlp trainable_parameters"},
    {"fine_tuning",
     "adapter dropout expert_adapters frozen_format objective packed_experts rank "
     "reference targets trained"},
    {"measured",
     "aggregate_pflops alloc_by_rank_gib alloc_by_stage_gib allocated_when_it_failed_gib "
     "allreduce_s backward_before_s backward_only_s backward_s bubble_rate_theoretical "
     "bubble_s chunk_pair_span_ms combine_ms compute_utilization_pct days "
     "dense_fp8_gemm_ms device_memory_gb dispatch_ms f1b1_s flash_attn_bwd_ms "
     "flash_attn_fwd_ms forward_only_s forward_s fwd_bwd_distopt_s fwd_bwd_s gpu_hours "
     "gpu_hours_per_1e12_tokens grouped_gemm_ms hfu_pct host_memory_gb "
     "host_memory_needed_gb host_memory_needed_gb_high host_memory_needed_gb_low "
     "host_memory_needed_tib host_memory_tib iteration_before_s iteration_profiled_s "
     "iteration_s iteration_s_p10 iteration_s_p5 iteration_s_p90 iteration_s_p95 iteration_s_runs "
     "iteration_s_runs_max "
     "iteration_s_runs_min iteration_s_std iteration_without_core_binding_s "
     "largest_context memory_active_gb memory_adam_gb memory_after_forward_gb "
     "memory_allocated_gb memory_at_start_gb memory_before_gb memory_gb memory_min_rank "
     "memory_nvidia_smi_gb memory_nvidia_smi_mib memory_reserved memory_reserved_gb "
     "memory_reserved_max_gb memory_reserved_p99_gb memory_resident_gb "
     "memory_resident_gib memory_total_gb memory_without_offload_gb mfu_causal_pct "
     "mfu_pct microbatch_s offloaded_gb oom optimizer_s optimizer_step_distopt_s "
     "optimizer_step_s printed_tokens_per_s reserved_by_rank_gib reserved_unallocated_mib "
     "run_minutes run_minutes_median runs runtime_min samples_per_s samples_per_s_per_gpu "
     "scaling_efficiency_pct sequences_per_s sol_pct_as_printed stage_backward_us "
     "stage_forward_us steps steps_logged temporary_gb tflops_alephalpha_column "
     "tflops_causal tflops_megatron_column tflops_per_gpu "
     "throughput_printed_tokens_per_s_per_gpu time_change_pct tokens tokens_per_s "
     "tokens_per_s_all tokens_per_s_per_gpu tokens_total total_h total_s "
     "total_s_1024_samples train_days_300b_tokens tried_gb tried_mib "
     "tried_to_allocate_gib vocab_pass_us weight_grad_s"},
    {"model",
     "arch catalog ffn_hidden gated_mlp head_dim heads hidden kv_heads layers mla moe "
     "mtp_layers name proxy seq swa tied_embeddings vocab"},
    {"model.mla", "kv_lora q_lora qk_nope qk_rope v"},
    {"model.moe",
     "dense_layers expert_ffn experts first_dense_layers mla moe_ffn mtp shared "
     "shared_expert_ffn topk"},
    {"model.swa", "every window"},
    {"parallel",
     "async_tp cp cp_kind cpu_offload_activations distributed_optimizer dp ep etp fsdp "
     "layers_last_stage layout model_parallel optimizer_offload overlap pp pp_comm_async "
     "reshard scatter_gather schedule sp stage_layers tp ulysses vpp zero zero1_group "
     "zero_group"},
    {"samples", "cap deviation layout lengths mean tokens_per_step_counted"},
});

constexpr auto inference_keys = std::to_array<KeyGroup>({
    {"",
     "confidence date engine engine_version gpu gpus gpus_per_node group hardware_stated "
     "id inferred kind known_issue measured memory_gb missing model notes parallel "
     "power_limit_w precision release server server_env server_flags source speculative "
     "step workload"},
    {"measured",
     "acceptance_rate_pct accepted_length checkpoint_gb decode_aggregate_tokens_per_s "
     "decode_time_s decode_tokens_per_s decode_tokens_per_s_code duration_s e2e_mean_ms "
     "e2e_median_ms e2e_p95_ms e2e_p99_ms eagle3_decode_speedup_high "
     "eagle3_decode_speedup_low gpu_power_max_w gpu_power_w gpu_power_w_per_gpu "
     "input_tokens_per_s input_tokens_per_s_per_node itl_mean_ms itl_median_ms itl_ms "
     "itl_p90_ms itl_p95_ms itl_p99_ms joules_per_output_token joules_per_request "
     "kv_cache_tokens kv_cache_tokens_text kv_cache_use kv_gib_per_gpu kv_transfer_gbs "
     "kv_transfer_ms latency_s mean_concurrency mean_gap_ms mean_running memory_used_mb "
     "model_gib_per_gpu output_tokens_per_s output_tokens_per_s_code "
     "output_tokens_per_s_per_node peak_concurrency peak_output_tokens_per_s "
     "per_user_tokens_per_s prefill_time_s prefill_tokens_per_s "
     "prefill_tokens_per_s_at_10k prefill_tokens_per_s_at_161k "
     "prefill_tokens_per_s_at_90k prefix_hit_rate_pct prompt_tokens_per_s queue_fraction "
     "requests_per_s sm_clock_mhz tokens_per_s_per_gpu tokens_per_s_per_user "
     "total_tokens_per_s total_tokens_per_s_per_gpu tpot_derived_ms tpot_mean_ms "
     "tpot_median_ms tpot_ms tpot_p95_ms tpot_p99_ms tpot_upper_ms ttft_mean_ms "
     "ttft_median_ms ttft_ms ttft_p95_ms ttft_p99_ms"},
    {"model",
     "attention_note ffn_hidden gated_mlp head_dim heads hidden kv_heads layers mla moe "
     "name shape_from vocab"},
    {"model.mla", "kv_lora q_lora qk_nope qk_rope v_head"},
    {"model.moe", "expert_ffn experts first_k_dense moe_every shared shared_ffn topk"},
    {"parallel", "attention_dp dcp disaggregated dp ep moe_tp pp tp"},
    {"parallel.disaggregated", "decode decode_gpus prefill prefill_gpus"},
    {"parallel.disaggregated.decode", "attention_dp ep moe_tp pp tp workers"},
    {"parallel.disaggregated.prefill", "attention_dp ep moe_tp pp tp workers"},
    {"precision", "compute kv moe weights"},
    {"server",
     "async_scheduling attention_backend chunked_prefill expert_parallel "
     "gpu_memory_utilization interconnect max_cudagraph_capture max_model_len "
     "max_num_batched_tokens max_num_seqs prefix_caching speculation"},
    {"server.speculation", "depth method"},
    {"speculative", "accept_length acceptance_rate_pct draft_tokens method steps topk"},
    {"workload",
     "batch_per_rank_in_source concurrency dataset input_len input_len_max num_requests "
     "output_len output_len_max peak_concurrency prefix_cache request_rate scenario "
     "speculative"},
});

constexpr auto post_training_keys = std::to_array<KeyGroup>({
    {"",
     "algorithm confidence date engine engine_version gpu gpus gpus_per_node group id "
     "inferred kind known_issue measured memory_gb missing model notes parallel placement "
     "precision release rollout settings source speculative trainer"},
    {"measured",
     "acceptance_rate_pct accepted_per_round actor_mfu actor_tflops_per_gpu "
     "actor_tflops_per_gpu_printed actor_tokens_per_s actor_train_s advantage_s "
     "broadcast_s buffer_s checkpoint_s cpu_adam_profiled_s cpu_memory_gb data_s "
     "drafted_per_round exposed_generation_s fastest_sequence_s framework_s "
     "gather_metas_s generate_sequences_s generation_mean_s "
     "generation_peak_tokens_per_s_per_engine generation_s generation_slowest_s "
     "generation_us_per_token kv_cache_tokens_per_engine llm_time_per_trajectory_s "
     "llm_time_slowest_s logprob_prep_s logprob_s logprobs_s max_memory_reserved_gb "
     "mean_sequence_s memory_allocated_gb memory_reserved_gb mfu mfu_actor old_logprob_s "
     "pause_s peak_memory_mib preemptions prefill_tokens_computed prompt_tokens "
     "ref_logprob_s ref_s response_tokens_per_s_per_gpu reward_s run_hours run_steps "
     "samples_per_s slowest_sequence_s step_p90_s step_p95_s step_profiled_s step_s "
     "step_s_at_least steps steps_s switch_s sync_peak_engine_gb sync_peak_train_gb "
     "tokens_per_s tokens_per_s_per_gpu tokens_per_s_total tokens_per_step "
     "tool_time_per_trajectory_s total_pairs total_time_h train_prep_s train_s "
     "train_s_at_least train_to_rollout_s train_tokens_per_s_per_gpu train_total_s "
     "train_wait_s trainer_sleep_s trainer_wake_s turns validate_s verdict wait_ratio "
     "weight_sync_delta_range_s weight_sync_delta_s weight_sync_p95_s weight_sync_range_s "
     "weight_sync_s"},
    {"model",
     "attention_note ffn_hidden gated_mlp head_dim heads hidden kv_heads layers mla moe "
     "name shape_from vocab"},
    {"model.mla", "kv_lora q_lora qk_nope qk_rope v_head"},
    {"model.moe", "expert_ffn experts first_k_dense shared shared_ffn topk"},
    {"parallel",
     "actor_nodes cp dispatcher dp ep etp generation layout_stated lora_rank "
     "max_tokens_per_gpu pp recompute rollout_engines rollout_tp sequence_max split tp "
     "train train_stated vpp"},
    {"parallel.generation", "engines ep pp tp"},
    {"parallel.train", "cp dp ep etp fsdp pp tp vpp"},
    {"placement", "generation_gpus kind off_policy staleness train_gpus"},
    {"precision", "compute kv weights"},
    {"rollout",
     "batch max_prompt_len max_response_len max_seq_len mini_batch_prompts n prompt_len "
     "prompts_per_step response_len response_len_max train_batch"},
    {"speculative", "accept_length acceptance_rate_pct draft_tokens method"},
});

/// Maps of names that are not a record's: a server's switches and environment, keys of scenarios.
constexpr auto free_maps =
    std::to_array<std::string_view>({"flags", "plan", "server_env", "server_flags", "settings"});

std::span<const KeyGroup> groups_of(std::string_view kind) {
  if (kind == "inference") return inference_keys;
  if (kind == "rl") return post_training_keys;
  return run_keys;
}

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos;
       at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' '))
      return true;
  }
  return false;
}

std::vector<std::string> words_of(std::string_view words) {
  std::vector<std::string> list;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (end > at) list.emplace_back(words.substr(at, end - at));
    at = end + 1;
  }
  return list;
}

class KeyCheck {
 public:
  KeyCheck(std::string_view kind, Diagnostics& diagnostics)
      : groups_{groups_of(kind)}, diagnostics_{diagnostics} {}

  void check(const YamlNode& node, const std::string& path) {
    for (const YamlNode& item : node.items) check(item, path);
    const auto* const group = std::find_if(groups_.data(), groups_.data() + groups_.size(),
                                           [&](const KeyGroup& one) { return one.path == path; });
    if (group == groups_.data() + groups_.size()) return;  // its map has a key that is reported
    for (const YamlEntry& entry : node.entries) {
      const std::string full = path.empty() ? entry.key : path + "." + entry.key;
      if (entry.key.empty() || entry.key.find(' ') != std::string::npos ||
          !has_word(group->keys, entry.key))
        report(entry, full, *group);
      else if (!contains(free_maps, entry.key))
        check(entry.value, full);
    }
  }

 private:
  void report(const YamlEntry& entry, const std::string& full, const KeyGroup& group) {
    diagnostics_.add(entry.mark, "runs[]." + printable_path(full),
                     "unknown key of a record" + nearest_hint(entry.key, words_of(group.keys)));
  }

  std::span<const KeyGroup> groups_;
  Diagnostics& diagnostics_;
};

/// A word of a record that stands for a value of `E`, as scenarios write it.
template <class E>
void check_word(const YamlNode& map, const char* key, Diagnostics& diagnostics) {
  const YamlNode* const node = map.find(key);
  if (node == nullptr || node->is_null()) return;
  std::vector<std::string> names;
  for (const auto& [value, name] : EnumNames<E>::names) names.emplace_back(name);
  const auto known = [&](const YamlNode& word) {
    if (!contains(names, word.text))
      diagnostics.add(word.mark, std::string("runs[].fine_tuning.") + key,
                      in_quotes(word.text) + " is none of " + joined(names));
  };
  if (node->is_sequence())
    for (const YamlNode& item : node->items) known(item);
  else
    known(*node);
}

}  // namespace

void check_record_keys(const YamlNode& record, Diagnostics& diagnostics) {
  const YamlNode* const kind = record.find("kind");
  KeyCheck(kind != nullptr ? std::string_view(kind->text) : std::string_view(), diagnostics)
      .check(record, "");
  if (const YamlNode* const plan = record.find("plan"))
    static_cast<void>(read_plan_keys(*plan, diagnostics));
  const YamlNode* const tuning = record.find("fine_tuning");
  if (tuning == nullptr || !tuning->is_map()) return;
  check_word<AdapterKind>(*tuning, "adapter", diagnostics);
  check_word<FrozenFormat>(*tuning, "frozen_format", diagnostics);
  check_word<AdapterTarget>(*tuning, "targets", diagnostics);
  check_word<ModelPart>(*tuning, "trained", diagnostics);
  check_word<ExpertAdapters>(*tuning, "expert_adapters", diagnostics);
  check_word<Objective>(*tuning, "objective", diagnostics);
  check_word<ReferenceKind>(*tuning, "reference", diagnostics);
}

}  // namespace foretrain
