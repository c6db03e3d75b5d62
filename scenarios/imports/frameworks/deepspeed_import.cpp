// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/deepspeed_import.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "scenarios/catalog/catalog.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/importers.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"
#include "scenarios/imports/megatron/megatron_import.hpp"

namespace foretrain {
namespace {

constexpr int largest_batch = 100'000'000;

/// The Hugging Face Trainer puts values of its own there.
bool is_auto(const YamlNode* node) { return node != nullptr && node->text == "auto"; }

/// A part of the batch that the JSON or someone else says; DeepSpeed stops where the two differ.
std::optional<int> batch_part(TreeReader& in, const char* key, const GivenCount& given) {
  if (is_auto(in.take(key))) return given.value;
  const auto written = in.integer({key}, 1, largest_batch);
  if (written && given.value && *written != *given.value)
    in.refuse(key, fmt::format("{} is not what {} says, {}; one of them is wrong", *written,
                               given.place, *given.value));
  return written ? written : given.value;
}

/// What to do about a part of the batch that nothing says.
std::string missing_part(bool is_auto, const char* trainer, const char* option) {
  return is_auto ? fmt::format(
                       "is \"auto\": the Hugging Face Trainer puts its {} there; give that "
                       "with {} N",
                       trainer, option)
                 : fmt::format(
                       "is needed as a number, here or with {} N, or train_batch_size that "
                       "divides by the replicas",
                       option);
}

/// Micro-batch, steps of accumulation and global batch: two of them give the third.
void read_batch(TreeReader& in, const DeepSpeedGiven& given, ImportedPlan& plan) {
  constexpr const char* micro_key = "train_micro_batch_size_per_gpu";
  constexpr const char* gathered_key = "gradient_accumulation_steps";
  Training& training = plan.job.training;
  const int data = plan.job.parallel.data;
  auto global = batch_part(in, "train_batch_size", {});
  auto micro = batch_part(in, micro_key, given.micro);
  const auto gathered = batch_part(in, gathered_key, given.gathered);
  if (!micro && global && *global % (data * gathered.value_or(1)) == 0)
    micro = *global / (data * gathered.value_or(1));
  const bool ask = !global && !gathered && is_auto(in.take(gathered_key));
  if (ask)
    in.refuse(gathered_key, missing_part(true, "--gradient_accumulation_steps", "--accumulation"));
  if (!micro)
    in.refuse(micro_key, missing_part(is_auto(in.take(micro_key)), "--per_device_train_batch_size",
                                      "--micro-batch"));
  if (ask || !micro) return;
  if (!global) {
    const double batch = 1.0 * *micro * gathered.value_or(1) * data;
    if (batch > largest_batch) return in.refuse("", "gives a global batch above 100,000,000");
    global = static_cast<int>(batch);
    if (!gathered) plan.notes.assumed.emplace_back("one micro-batch per step");
  }
  if (gathered && 1.0 * *micro * *gathered * data != *global)
    in.refuse("train_batch_size",
              fmt::format("{} is not {} sequences x {} steps x {} replicas; --gpus changes the "
                          "replicas",
                          *global, *micro, *gathered, data));
  training.micro_batch = *micro;
  training.global_batch = *global;
}

/// Whether a precision is on: what the JSON says, or --precision where that is "auto".
/// @param ask whether it has to be known
bool enabled(TreeReader& in, const char* path, Precision precision, const DeepSpeedGiven& given,
             bool ask) {
  const YamlNode* const node = in.take(path);
  if (node == nullptr && !given.trainer) return false;
  if (node != nullptr && !is_auto(node)) return in.truth({path}, false);
  if (given.precision) return *given.precision == precision;
  if (ask)
    in.refuse(
        path,
        "is \"auto\": the Hugging Face Trainer puts its --bf16 or --fp16 there; say which with "
        "--precision bf16, fp16 or fp32");
  return false;
}

void read_precision(TreeReader& in, const DeepSpeedGiven& given, Job& job) {
  const bool keep = given.keep_precision;
  const auto written = [&](const char* path) {
    return !is_auto(in.take(path)) && in.truth({path}, false);
  };
  const char* const brain_key =
      in.take("bfloat16.enabled") == nullptr ? "bf16.enabled" : "bfloat16.enabled";
  const bool half =
      enabled(in, "fp16.enabled", Precision::fp16, given, !keep && !written(brain_key));
  const bool brain = enabled(in, brain_key, Precision::bf16, given, !keep && !half);
  if (in.truth({"amp.enabled"}, false)) in.refuse("amp.enabled", "NVIDIA AMP is not modelled");
  if (half && brain) in.refuse("fp16.enabled", "and bf16.enabled are both true");
  const Precision precision = half ? Precision::fp16 : brain ? Precision::bf16 : Precision::fp32;
  if (given.precision && *given.precision != precision)
    in.refuse(half    ? "fp16.enabled"
              : brain ? brain_key
                      : "",
              fmt::format("is in {}, not in {} as {} says", name_of(precision),
                          name_of(*given.precision), given.precision_place));
  for (const char* path : {"fp16.fp16_master_weights_and_grads",
                           "bf16.bf16_master_weights_and_grads", "bf16.bf16_optimizer_states"})
    if (in.truth({path}, false)) in.refuse(path, "is not modelled");
  if (!keep || half || brain) job.training.precision = precision;
  const std::string kept = in.text({"data_types.grad_accum_dtype"});
  const std::string sent = in.text({"communication_data_type"});
  const std::string type = sent.empty() ? kept : sent;
  const bool fp32 = type == "fp32" || type == "fp32_type" || precision == Precision::fp32 ||
                    in.truth({"fp32_allreduce"}, false);
  job.communication.gradient_dtype = fp32 ? Precision::fp32 : job.training.precision;
}

std::string device(TreeReader& in, const char* path, const char* older) {
  std::string name = in.text({path}, "none");
  if (in.truth({older}, false)) return "cpu";
  if (name == "nvme") in.refuse(path, "offloading to NVMe is not modelled");
  if (name == "auto")
    in.refuse(path,
              "is \"auto\", which Accelerate takes from its own file; write cpu or none here");
  return name;
}

/// Elements of a gradient bucket where the JSON leaves them to the Hugging Face Trainer: the square
/// of the model's width (transformers, integrations/deepspeed.py, trainer_config_finalize).
std::optional<double> trainer_bucket(const PlanImportOptions& options, ImportedPlan& plan,
                                     Diagnostics& diagnostics) {
  int hidden = plan.job.model.hidden;
  if (!plan.model.empty()) {
    std::vector<SourceFile> files;
    std::vector<ResolvedValue> values;
    CatalogContext context{options.catalogs, ".", diagnostics, files, values};
    const Mark place{std::make_shared<const std::string>("--model"), 0, 0};
    const auto model = load_model({plan.model, "model", place}, context);
    if (!model) return std::nullopt;
    hidden = model->hidden;
  }
  plan.notes.assumed.push_back(fmt::format(
      "buckets of {0} x {0} gradients, what the Hugging Face Trainer puts for \"auto\"", hidden));
  return 1.0 * hidden * hidden;
}

void read_bucket(TreeReader& in, const PlanImportOptions& options, ImportedPlan& plan,
                 Diagnostics& diagnostics) {
  constexpr const char* key = "zero_optimization.reduce_bucket_size";
  Job& job = plan.job;
  const YamlNode* size = in.take(key);
  if (size == nullptr) return;
  const auto elements =
      is_auto(size) ? trainer_bucket(options, plan, diagnostics) : in.number({key});
  const double width = job.communication.gradient_dtype == Precision::fp32 ? 4.0 : 2.0;
  if (elements && *elements >= 1.0 && *elements <= 1e12)
    job.communication.bucket = Bytes{*elements * width};
  else if (elements)
    in.refuse(key, "is not between 1 and 1e12 elements");
}

void read_zero(TreeReader& in, Job& job) {
  Parallel& parallel = job.parallel;
  if (const auto stage = in.integer({"zero_optimization.stage"}, 0, 3)) parallel.zero = *stage;
  // The bf16 optimizer shards states at stage 0 too (runtime/bf16_optimizer.py).
  if (job.training.precision == Precision::bf16) parallel.zero = std::max(parallel.zero, 1);
  const std::string states =
      device(in, "zero_optimization.offload_optimizer.device", "zero_optimization.cpu_offload");
  const std::string weights =
      device(in, "zero_optimization.offload_param.device", "zero_optimization.cpu_offload_params");
  if (states == "cpu") job.memory.offload = OffloadKind::optimizer;
  if (weights == "cpu") job.memory.offload = OffloadKind::optimizer_and_parameters;
  if (weights == "cpu" && states != "cpu")
    in.refuse("zero_optimization.offload_param.device",
              "moves weights to the host and leaves the optimizer in the GPU, which is not "
              "modelled: offload_optimizer as well");
  if (const auto share = in.number({"zero_optimization.offload_optimizer.ratio"});
      share && job.memory.offload != OffloadKind::none) {
    if (*share <= 0.0 || *share > 1.0)
      in.refuse("zero_optimization.offload_optimizer.ratio", "must be above 0, and at most 1");
    job.memory.offload_share = *share;
  }
  if (in.truth({"zero_optimization.offload_optimizer.super_offload"}, false))
    in.refuse("zero_optimization.offload_optimizer.super_offload", "is not modelled");
  const auto group = in.integer({"zero_optimization.mics_shard_size"}, -1, 1'000'000);
  if (group && *group > 0 && *group < parallel.data) parallel.zero_group = *group;
  const auto secondary = in.integer({"zero_optimization.zero_hpz_partition_size"}, 1, 1'000'000);
  if (secondary && *secondary > 1)
    in.refuse("zero_optimization.zero_hpz_partition_size",
              "the second copy of ZeRO++ is not modelled");
  for (const char* path :
       {"zero_optimization.zero_quantized_weights", "zero_optimization.zero_quantized_gradients",
        "zero_optimization.elastic_checkpoint_unused"})
    if (in.truth({path}, false)) in.refuse(path, "quantised traffic is not modelled");
  const bool overlap = in.truth({"zero_optimization.overlap_comm"}, parallel.zero == 3);
  job.communication.overlap.gradients = overlap;
  job.communication.overlap.parameters = overlap && parallel.zero == 3;
}

void read_deepspeed_optimizer(TreeReader& in, Job& job) {
  const std::string type = in.text({"optimizer.type"});
  if (type.empty()) return;
  job.training.optimizer = OptimizerKind::adamw;
  if (type == "sgd")
    job.training.optimizer = OptimizerKind::sgd;
  else if (type != "adam" && type != "adamw" && type != "fusedadam" && type != "deepspeedcpuadam")
    in.refuse("optimizer.type", in_quotes(type) + " is none of Adam, AdamW and SGD");
}

/// Code calls DeepSpeed's checkpoints; a JSON that sets them up has such code. The block as the
/// documentation writes it, all false, says nothing.
void read_checkpoints(TreeReader& in, const DeepSpeedGiven& given, ImportedPlan& plan) {
  Recompute& recompute = plan.job.memory.recompute;
  const bool parted = in.truth({"activation_checkpointing.partition_activations"}, false);
  const bool joined = in.truth({"activation_checkpointing.contiguous_memory_optimization"}, false);
  const auto count = in.integer({"activation_checkpointing.number_checkpoints"}, 0, 1'000'000);
  const bool away = in.truth({"activation_checkpointing.cpu_checkpointing"}, false);
  if (away) in.refuse("activation_checkpointing.cpu_checkpointing", "is not modelled");
  const bool again = in.truth({"gradient_checkpointing"}, false);
  if (given.trainer) return;
  if (recompute.kind == RecomputeKind::none &&
      (parted || joined || again || count.value_or(0) > 0)) {
    recompute.kind = RecomputeKind::full;
    if (!again)
      plan.notes.assumed.emplace_back(
          "whole layers are recomputed, as activation_checkpointing is set up");
  } else if (recompute.kind == RecomputeKind::none && !given.keep_precision) {
    plan.notes.assumed.emplace_back("no recomputation: activation_checkpointing is not set up");
  }
  if (parted && recompute.kind == RecomputeKind::full && plan.job.parallel.tensor > 1)
    recompute.distribute_saved = true;
}

void read_rest(TreeReader& in, const DeepSpeedGiven& given, ImportedPlan& plan) {
  read_checkpoints(in, given, plan);
  for (const char* path :
       {"curriculum_learning.enabled", "data_efficiency.enabled", "hybrid_engine.enabled",
        "progressive_layer_drop.enabled", "eigenvalue.enabled", "compression_training.enabled",
        "elasticity.enabled", "autotuning.enabled", "compile.enabled", "compile.deepcompile"})
    if (in.truth({path}, false)) in.refuse(path, "is not modelled");
  for (const char* path : {"sparse_attention", "sequence_parallel_size", "moe"})
    if (const YamlNode* node = in.take(path); node != nullptr && node->text != "1")
      in.refuse(path, "is not modelled");
  in.harmless(Framework::deepspeed);
}

/// Model, sequence and degrees out of the Megatron-DeepSpeed arguments.
void take_arguments(const PlanImportOptions& options, ImportedPlan& plan,
                    Diagnostics& diagnostics) {
  const ImportSource source{options.arguments + " --deepspeed", "--arguments",
                            "Megatron-DeepSpeed"};
  auto found = read_megatron_source(source, options, diagnostics);
  if (!found) return;
  auto given = megatron_plan(std::move(*found), source, options, diagnostics);
  if (given) plan = std::move(*given);
}

/// Model and sequence as the user names them; one GPU holds a replica.
void take_options(const PlanImportOptions& options, int data, ImportedPlan& plan,
                  Diagnostics& diagnostics) {
  const Mark place{std::make_shared<const std::string>("--model"), 0, 0};
  plan.model = options.model;
  plan.job.parallel.data = data;
  plan.job.training.sequence = options.sequence.value_or(0);
  if (options.model.empty())
    diagnostics.add(place, "model", "is needed: a DeepSpeed JSON does not hold the model");
  if (!options.sequence || *options.sequence < 1)
    diagnostics.add(place, "sequence", "--sequence is needed: the tokens of a sequence");
  plan.job.training.vocabulary_multiple = 1;
  plan.notes.assumed.emplace_back("flash attention: the configuration says nothing of it");
}

}  // namespace

void choose_deepspeed_release(ImportedPlan& plan) {
  if (plan.job.parallel.zero < 3)
    return choose_stack(plan, "megatron-deepspeed",
                        "the newest DeepSpeed that was measured (Megatron-DeepSpeed of 2022 and "
                        "later)");
  choose_stack(plan, "fsdp2",
               "PyTorch's FSDP2: of today's ZeRO-3 no run was measured, and FSDP2 gathers and "
               "scatters the same shards layer by layer; stack deepspeed-zero3 is the release of "
               "2021");
  plan.notes.assumed.emplace_back(
      "ZeRO-3 as fast as FSDP2; the band is that of FSDP2's own runs, and too narrow for "
      "DeepSpeed");
}

void read_deepspeed_tree(const YamlNode& root, const DeepSpeedGiven& given,
                         const PlanImportOptions& options, ImportedPlan& plan,
                         Diagnostics& diagnostics) {
  TreeReader in(root, diagnostics, options.left_out);
  read_precision(in, given, plan.job);
  read_zero(in, plan.job);
  read_bucket(in, options, plan, diagnostics);
  read_batch(in, given, plan);
  read_deepspeed_optimizer(in, plan.job);
  read_rest(in, given, plan);
  in.finish(options, plan.notes);
  choose_deepspeed_release(plan);
}

ImportedScenario import_deepspeed(const ImportSource& source, const PlanImportOptions& options) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(source.text, source.name, YamlLimits{}, diagnostics);
  const auto per_host = host_gpus(options, diagnostics);
  diagnostics.throw_if_any();
  if (!root->is_map())
    diagnostics.add(root->mark, "", "must be a map: the JSON of a DeepSpeed configuration");
  ImportedPlan plan;
  const bool with_arguments = !options.arguments.empty();
  if (with_arguments) {
    take_arguments(options, plan, diagnostics);
  } else {
    PlanNotes notes;
    const int gpus = gpus_for({}, 1, *per_host, options, notes);
    take_options(options, gpus, plan, diagnostics);
    plan.notes.assumed.insert(plan.notes.assumed.end(), notes.assumed.begin(), notes.assumed.end());
  }
  diagnostics.throw_if_any();
  const DeepSpeedGiven given{{options.micro_batch, "--micro-batch"},
                             {options.accumulation, "--accumulation"},
                             options.precision,
                             "--precision",
                             with_arguments};
  read_deepspeed_tree(*root, given, options, plan, diagnostics);
  plan.job.name = std::filesystem::path(source.name).stem().string();
  return finish_import(std::move(plan), source, options, diagnostics);
}

}  // namespace foretrain
