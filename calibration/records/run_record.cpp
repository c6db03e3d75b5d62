// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/run_record.hpp"

#include <fmt/format.h>

#include <array>

#include "calibration/records/internal/record_values.hpp"
#include "calibration/records/internal/words.hpp"
#include "models/base/ranges.hpp"

namespace foretrain {
namespace {

using record_values::bool_of;
using record_values::double_of;
using record_values::integer_of;
using record_values::number_of;
using record_values::text_of;

/// Families name some keys differently.
std::optional<int> first_of(std::optional<int> one, std::optional<int> other) {
  return one ? one : other;
}

std::vector<double> list_of(const YamlNode& map, const char* key) {
  std::vector<double> values;
  const YamlNode* const list = map.find(key);
  if (list == nullptr || !list->is_sequence()) return values;
  for (const YamlNode& item : list->items)
    if (const auto value = number_of<double>(&item)) values.push_back(*value);
  return values;
}

/// A list of words, or one; "none" is an empty list. Absent where the key is, or is null.
std::optional<std::vector<std::string>> words_of(const YamlNode& map, const char* key) {
  const YamlNode* const node = map.find(key);
  if (node == nullptr || node->kind == YamlNode::Kind::null) return std::nullopt;
  std::vector<std::string> words;
  if (node->is_sequence())
    for (const YamlNode& item : node->items) words.push_back(text_of(&item));
  else if (const std::string word = text_of(node); word != "none")
    words.push_back(word);
  return words;
}

/// A whole number of a record. Files come from users: whatever later divides, multiplies or sizes
/// something is bounded.
struct PlainNumber {
  std::string_view group;  ///< of the record; empty: its top level
  const char* key;
  std::optional<int> RunRecord::*member;
  int most;
};

constexpr auto plain_numbers = std::to_array<PlainNumber>({
    {"", "gpus", &RunRecord::gpus, 10'000'000},
    {"", "gpus_per_node", &RunRecord::gpus_per_node, 10'000},
    {"", "micro_batch", &RunRecord::micro_batch, 1'000'000},
    {"", "global_batch", &RunRecord::global_batch, 1'000'000'000},
    {"model", "layers", &RunRecord::layers, 10'000},
    {"model", "hidden", &RunRecord::hidden, 1'000'000},
    {"model", "heads", &RunRecord::heads, 100'000},
    {"model", "kv_heads", &RunRecord::kv_heads, 100'000},
    {"model", "head_dim", &RunRecord::head_dim, 100'000},
    {"model", "ffn_hidden", &RunRecord::ffn_hidden, 10'000'000},
    {"model", "vocab", &RunRecord::vocabulary, 100'000'000},
    {"model", "seq", &RunRecord::sequence, 100'000'000},
    {"parallel", "tp", &RunRecord::tensor, 10'000},
    {"parallel", "pp", &RunRecord::pipeline, 10'000},
    {"parallel", "vpp", &RunRecord::virtual_stages, 10'000},
    {"parallel", "dp", &RunRecord::data, 1'000'000},
    {"parallel", "cp", &RunRecord::context, 10'000},
    {"parallel", "ep", &RunRecord::expert, 10'000},
    {"parallel", "etp", &RunRecord::expert_tensor, 10'000},
});

void read_plain_numbers(const YamlNode& node, RunRecord& record) {
  for (const PlainNumber& number : plain_numbers) {
    const YamlNode* const group = number.group.empty() ? &node : node.find(number.group);
    if (group != nullptr) record.*number.member = integer_of(*group, number.key);
  }
}

/// "tp 0 is not between 1 and 10000"; empty for a number that is.
std::string outside(const char* name, std::optional<int> number, int most) {
  return !number || (*number >= 1 && *number <= most)
             ? ""
             : fmt::format("{} {} is not between 1 and {}", name, *number, most);
}

void read_model(const YamlNode& model, RunRecord& record) {
  record.mtp_layers = integer_of(model, "mtp_layers");
  record.architecture = text_of(model, "arch");
  record.model_name = text_of(model, "name");
  record.catalog_model = text_of(model, "catalog");
  record.gated_mlp = bool_of(model, "gated_mlp");
  record.tied_embeddings = bool_of(model, "tied_embeddings");
  const YamlNode* const window = model.find("swa");
  record.sliding_window = window != nullptr && window->is_map();
  if (record.sliding_window) {
    record.window = integer_of(*window, "window");
    record.full_every = integer_of(*window, "every");
  }
  const YamlNode* const moe = model.find("moe");
  if (moe == nullptr || !moe->is_map()) return;
  RunMoe mixture;
  mixture.experts = integer_of(*moe, "experts");
  mixture.top_k = integer_of(*moe, "topk");
  mixture.shared = integer_of(*moe, "shared");
  mixture.expert_ffn = first_of(integer_of(*moe, "moe_ffn"), integer_of(*moe, "expert_ffn"));
  mixture.shared_ffn = integer_of(*moe, "shared_expert_ffn");
  mixture.first_dense_layers =
      first_of(integer_of(*moe, "first_dense_layers"), integer_of(*moe, "dense_layers"));
  const YamlNode* const latent = model.find("mla");
  mixture.mla = bool_of(*moe, "mla").value_or(latent != nullptr && latent->is_map());
  record.moe = mixture;
}

void read_parallel(const YamlNode& parallel, RunRecord& record) {
  record.layers_last_stage = integer_of(parallel, "layers_last_stage");
  if (std::string layout = text_of(parallel, "layout"); !layout.empty())
    record.pipeline_layout = std::move(layout);
  record.sequence_parallel = bool_of(parallel, "sp");
  record.distributed_optimizer = bool_of(parallel, "distributed_optimizer");
  record.context_kind = text_of(parallel, "cp_kind");
  record.zero = text_of(parallel, "zero");
  record.reshards = bool_of(parallel, "reshard");
  record.scatter_gather = bool_of(parallel, "scatter_gather");
  for (const char* key : {"zero_group", "zero1_group", "fsdp"})
    if (const auto ranks = integer_of(parallel, key); ranks && *ranks > 0)  // -1: all
      record.zero_group = ranks;
  record.overlap_gradients = bool_of(parallel, "overlap");
  record.overlap_tensor = bool_of(parallel, "async_tp");
  record.overlap_pipeline = bool_of(parallel, "pp_comm_async");
  if (record.schedule.empty()) record.schedule = text_of(parallel, "schedule");
}

void read_measured(const YamlNode& measured, RunRecord& record) {
  record.iteration_s = double_of(measured, "iteration_s");
  record.tokens_per_s_per_gpu = double_of(measured, "tokens_per_s_per_gpu");
  record.tokens_per_s = double_of(measured, "tokens_per_s");
  record.sequences_per_s = double_of(measured, "sequences_per_s");
  record.sequences_per_s_per_gpu = double_of(measured, "samples_per_s_per_gpu");
  record.tflops_per_gpu = double_of(measured, "tflops_per_gpu");
  record.mfu_pct = double_of(measured, "mfu_pct");
  record.memory = double_of(measured, "memory_gb");
  record.memory_reserved = double_of(measured, "memory_reserved");
  record.memory_min_rank = double_of(measured, "memory_min_rank");
  record.memory_by_rank_gib = list_of(measured, "alloc_by_rank_gib");
  record.memory_by_stage_gib = list_of(measured, "alloc_by_stage_gib");
}

/// What the software was told to do, where the record has fields for it.
void read_options(const YamlNode& node, RunRecord& record) {
  record.compiled = bool_of(node, "compile");
  record.cuda_graphs = words_of(node, "cuda_graphs");
  record.eight_bit_weights = bool_of(node, "fp8_weights");
  record.balanced_experts = bool_of(node, "balanced_experts");
  record.overlap_experts = bool_of(node, "expert_overlap");
  record.grouped_experts = bool_of(node, "grouped_experts");
  record.fused_permutation = bool_of(node, "fused_permutation");
  record.fused_loss = bool_of(node, "fused_loss");
  record.fp8_scaling = text_of(node, "fp8_scaling");
  record.offloaded_layers = integer_of(node, "offloaded_layers");
  record.dispatcher = text_of(node, "dispatcher");
}

template <class E>
EnumSet<E> set_of(const YamlNode& map, const char* key) {
  EnumSet<E> set;
  for (const std::string& word : words_of(map, key).value_or(std::vector<std::string>{}))
    if (const auto value = from_name<E>(word)) set.add(*value);
  return set;
}

/// Kernels and libraries of them, as `training.fused_kernels` of a scenario.
FusedKernels read_fused_kernels(const YamlNode& node) {
  FusedKernels kernels = set_of<FusedKernel>(node, "fused_kernels");
  const auto words = words_of(node, "fused_kernels").value_or(std::vector<std::string>{});
  for (const KernelLibrary& library : kernel_libraries)
    if (contains(words, library.name)) kernels.add(library.kernels);
  return kernels;
}

/// In the words of scenarios (scenarios/REFERENCE.md, `fine_tuning`).
FineTuning read_fine_tuning(const YamlNode& node) {
  FineTuning tuning;
  tuning.adapter = from_name<AdapterKind>(text_of(node, "adapter")).value_or(tuning.adapter);
  tuning.rank = integer_of(node, "rank").value_or(tuning.rank);
  tuning.dropout = double_of(node, "dropout").value_or(tuning.dropout);
  if (node.find("targets") != nullptr) tuning.targets = set_of<AdapterTarget>(node, "targets");
  if (node.find("trained") != nullptr) tuning.trained = set_of<ModelPart>(node, "trained");
  tuning.expert_adapters =
      from_name<ExpertAdapters>(text_of(node, "expert_adapters")).value_or(tuning.expert_adapters);
  tuning.packed_experts = bool_of(node, "packed_experts").value_or(tuning.packed_experts);
  tuning.frozen_format =
      from_name<FrozenFormat>(text_of(node, "frozen_format")).value_or(tuning.frozen_format);
  tuning.objective = from_name<Objective>(text_of(node, "objective")).value_or(tuning.objective);
  tuning.reference =
      from_name<ReferenceKind>(text_of(node, "reference")).value_or(tuning.reference);
  return tuning;
}

Samples read_samples(const YamlNode& node) {
  Samples samples;
  samples.layout = from_name<SampleLayout>(text_of(node, "layout")).value_or(samples.layout);
  samples.mean = double_of(node, "mean").value_or(0.0);
  samples.deviation = double_of(node, "deviation").value_or(0.0);
  for (const double length : list_of(node, "lengths"))
    samples.lengths.push_back(static_cast<int>(length));
  return samples;
}

RunRecord read_record(const YamlNode& node) {
  RunRecord record;
  record.id = text_of(node, "id");
  record.source = text_of(node, "source");
  record.confidence = text_of(node, "confidence");
  record.gpu = text_of(node, "gpu");
  record.precision = text_of(node, "precision");
  record.recompute = text_of(node, "recompute");
  record.schedule = text_of(node, "schedule");
  record.attention_kernel = text_of(node, "attention_kernel");
  record.notes = text_of(node, "notes");
  record.task = text_of(node, "task");
  record.kind = text_of(node, "kind");
  record.stack = text_of(node, "stack");
  record.site = text_of(node, "site");
  record.host = text_of(node, "host");
  record.fabric = text_of(node, "fabric");
  record.parameters_b = double_of(node, "params_b");
  record.network = text_of(node, "network");
  record.optimizer = text_of(node, "optimizer");
  record.flops_convention = text_of(node, "flops_convention");
  record.memory_unit = text_of(node, "memory_unit");
  record.memory_kind = text_of(node, "memory_kind");
  record.cpu_offload = text_of(node, "cpu_offload");
  record.activation_offload = text_of(node, "activation_offload");
  record.tiled_mlp = bool_of(node, "tiled_mlp").value_or(false);
  record.out_of_memory = bool_of(node, "oom").value_or(false);
  read_plain_numbers(node, record);
  read_options(node, record);
  if (node.find("fused_kernels") != nullptr) record.fused_kernels = read_fused_kernels(node);
  record.tags = words_of(node, "tags").value_or(std::vector<std::string>{});
  if (const YamlNode* const tuning = node.find("fine_tuning"); tuning && tuning->is_map())
    record.fine_tuning = read_fine_tuning(*tuning);
  if (const YamlNode* const samples = node.find("samples"); samples && samples->is_map())
    record.samples = read_samples(*samples);
  if (const YamlNode* const plan = node.find("plan")) {
    Diagnostics reported;  // by check_record_keys()
    record.plan = read_plan_keys(*plan, reported);
  }
  if (const YamlNode* const model = node.find("model")) read_model(*model, record);
  if (const YamlNode* const parallel = node.find("parallel")) read_parallel(*parallel, record);
  if (const YamlNode* const measured = node.find("measured")) read_measured(*measured, record);
  // Megatron-LM's own wrapper ("local") reduced gradients after the pass, PyTorch's during it.
  if (const std::string wrapper = text_of(node, "ddp_impl"); !wrapper.empty())
    record.overlap_gradients = wrapper == "torch";
  return record;
}

}  // namespace

std::string outside_limits(const RunRecord& record) {
  std::string why;
  const auto check = [&](const char* name, std::optional<int> value, int most) {
    if (why.empty()) why = outside(name, value, most);
  };
  for (const PlainNumber& number : plain_numbers)
    check(number.key, record.*number.member, number.most);
  const RunMoe moe = record.moe.value_or(RunMoe{});
  check("moe.experts", moe.experts, 1'000'000);
  check("moe.topk", moe.top_k, 1'000'000);
  check("moe.moe_ffn", moe.expert_ffn, 10'000'000);
  check("moe.shared_expert_ffn", moe.shared_ffn, 10'000'000);
  check("zero_group", record.zero_group, 1'000'000);
  return why;
}

std::string RunRecord::family() const { return id.substr(0, id.find('-')); }

bool RunRecord::tells_speed() const {
  return iteration_s || tokens_per_s_per_gpu || tokens_per_s || sequences_per_s_per_gpu ||
         sequences_per_s || tflops_per_gpu || mfu_pct;
}

bool holds_all_experts(const RunRecord& record) {
  if (record.gpus == 1) return true;
  return record.task == "finetune" && record.gpus && record.data == record.gpus;
}

YamlLimits run_record_limits() {
  YamlLimits limits;
  limits.file_bytes = std::size_t{64} << 20;
  limits.nodes = 5'000'000;
  return limits;
}

std::optional<RecordedMemory> recorded_memory(const RunRecord& record) {
  if (!record.memory) return std::nullopt;
  const auto noted = [&](std::string_view words) { return has_part(record.notes, words); };
  const auto kind = [&](std::string_view words) { return has_part(record.memory_kind, words); };
  const bool binary = has_part(record.memory_unit, "GiB") || noted("its legend says GiB");
  RecordedMemory memory{*record.memory * (binary ? GiB : GB)};
  if (noted("may be active rather than reserved")) return memory;
  if (kind("nvidia-smi") || record.memory_kind == "unspecified" ||
      kind("per GPU, counter not stated"))
    memory.counter = MemoryCounter::device;
  else if (kind("reserved") && !kind("max_memory_allocated"))
    memory.counter = MemoryCounter::reserved;
  return memory;
}

std::optional<RunRecord> read_run_record(const YamlNode& node, Diagnostics& diagnostics) {
  return record_values::record_of<RunRecord>(node, read_record, diagnostics);
}

std::vector<RunRecord> read_run_records(const YamlNode& document, const std::string& name,
                                        Diagnostics& diagnostics) {
  return record_values::records_of<RunRecord>(document, name, read_record, diagnostics);
}

std::optional<ContextExchange> RunRecord::context_exchange() const {
  if (context_kind.empty() || context_kind == "ring" || context_kind == "p2p")
    return ContextExchange::ring;
  if (context_kind == "ulysses" || context_kind == "a2a") return ContextExchange::all_to_all;
  return std::nullopt;
}

}  // namespace foretrain
