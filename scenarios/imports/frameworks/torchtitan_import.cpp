// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/importers.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "models/grid/process_grid.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/imports/frameworks/internal/torchtitan_python.hpp"
#include "scenarios/imports/frameworks/plain_torch.hpp"
#include "scenarios/imports/frameworks/toml_tree.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

constexpr int largest_degree = 100'000;

struct Flavor {
  std::string_view name, flavor, model;
};

/// Flavours whose names differ from the catalog's; others are `name-flavor`.
constexpr auto flavors = std::to_array<Flavor>({
    {"llama3", "405b", "llama3.1-405b"},
    {"llama3", "1b", "llama3.2-1b"},
    {"llama3", "3b", "llama3.2-3b"},
    {"llama4", "17bx16e", "llama4-scout"},
    {"llama4", "17bx128e", "llama4-maverick"},
    {"gpt_oss", "20b", "gpt-oss-20b"},
    {"gpt_oss", "120b", "gpt-oss-120b"},
    {"deepseek_v3", "671b", "deepseek-v3"},
    {"deepseek_v3", "16b", "deepseek-v2-lite"},
});

void read_torchtitan_model(TreeReader& in, const PlanImportOptions& options, ImportedPlan& plan) {
  const std::string name = in.text({"model.name"}, "llama3");
  const std::string flavor = in.text({"model.flavor"});
  plan.model = options.model.empty() ? torchtitan_model(name, flavor) : options.model;
  Diagnostics ignored;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{options.catalogs, ".", ignored, files, values};
  const auto shape = load_model({plan.model, "model", {}}, context);
  if (shape)
    plan.job.model = *shape;
  else
    in.refuse("model.flavor", fmt::format("{} of {} is not in the catalog; name a model with "
                                          "--model (foretrain show models)",
                                          in_quotes(flavor), in_quotes(name)));
}

/// Replicas; -1 shards over what the other degrees leave of the GPUs.
void read_replicas(TreeReader& in, const PlanImportOptions& options, int per_host,
                   ImportedPlan& plan) {
  Parallel& parallel = plan.job.parallel;
  const int copies = in.integer({"parallelism.data_parallel_replicate_degree",
                                 "training.data_parallel_replicate_degree"},
                                1, largest_degree)
                         .value_or(1);
  const int shards =
      in.integer({"parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree",
                  "training.data_parallel_degree"},
                 -1, largest_degree)
          .value_or(-1);
  const double ranks = static_cast<double>(replica_ranks(parallel)) * copies * std::max(shards, 1);
  if (ranks > 1e6 || shards == 0)
    return in.refuse("parallelism", shards == 0 ? "has a shard degree of 0; -1 takes what is left"
                                                : "asks for more than 1,000,000 GPUs");
  LaunchSize size;
  if (shards > 0) size.gpus = static_cast<int>(ranks);
  const int gpus = gpus_for(size, static_cast<int>(ranks), per_host, options, plan.notes);
  const auto replica = static_cast<int>(replica_ranks(parallel));
  if (gpus % (replica * copies) != 0)
    return in.refuse("parallelism",
                     fmt::format("{} GPUs do not divide by {} ranks", gpus, replica * copies));
  parallel.data = gpus / replica;
  const int sharded = parallel.data / copies;
  parallel.zero = sharded * parallel.context > 1 ? 3 : 0;
  if (copies > 1 && parallel.zero > 0) parallel.zero_group = sharded;
  const std::string reshard = in.text({"parallelism.fsdp_reshard_after_forward"}, "default");
  const bool keeps = reshard == "never" || (reshard == "default" && parallel.pipeline > 1);
  if (parallel.zero == 3 && keeps) parallel.zero = 2;
}

/// Chunks of schedules that have several per stage: torchtitan makes two.
void read_chunks(TreeReader& in, Parallel& parallel, std::vector<std::string>& assumed) {
  const char* const per_stage = "parallelism.pipeline_parallel_layers_per_stage";
  const auto layers = in.integer({per_stage}, 1, largest_degree);
  if (parallel.pipeline == 1) return;
  const bool interleaved = parallel.schedule == ScheduleKind::interleaved;
  if (!interleaved && parallel.schedule != ScheduleKind::zb_v) return;
  parallel.virtual_stages = 2;
  if (!interleaved) return;
  assumed.emplace_back("two chunks of layers per pipeline stage, torchtitan's default");
  if (layers) in.refuse(per_stage, "is not modelled");
}

void read_batch(TreeReader& in, Job& job, std::vector<std::string>& assumed) {
  Training& training = job.training;
  const int local =
      in.integer({"training.local_batch_size", "training.batch_size"}, 1, 100'000).value_or(8);
  const auto microbatches = in.integer({"experimental.pipeline_parallel_microbatches"}, 1, 100'000);
  const auto microbatch = in.integer({"parallelism.pipeline_parallel_microbatch_size"}, 1, 100'000);
  training.micro_batch = local;
  if (job.parallel.pipeline > 1)
    training.micro_batch =
        microbatches ? std::max(1, local / *microbatches) : microbatch.value_or(1);
  const auto written = in.integer({"training.global_batch_size"}, -1, 100'000'000);
  const double batch = 1.0 * local * job.parallel.data;
  if (batch > 1e8) return in.refuse("training", "gives a global batch above 100,000,000");
  training.global_batch = written && *written > 0 ? *written : static_cast<int>(batch);
  if (const auto steps = in.integer({"training.steps"}, 1, 2'000'000'000))
    training.tokens = 1.0 * *steps * training.global_batch * training.sequence;
  if (job.model.vocabulary > 0)
    assumed.emplace_back("AdamW with fp32 states, as torchtitan keeps them");
}

void read_float8(TreeReader& in, Job& job, std::vector<std::string>& assumed) {
  bool eight = in.truth({"training.enable_float8_linear", "float8.enable_float8_linear",
                         "training.enable_fp8_linear"},
                        false);
  if (const YamlNode* converters = in.take("model.converters")) {
    std::vector<std::string> names{converters->text};
    for (const YamlNode& item : converters->items) names.push_back(item.text);
    for (const std::string& name : names)
      if (name == "float8" || name == "quantize.linear.float8")
        eight = true;
      else if (!name.empty())
        in.refuse("model.converters", in_quotes(name) + " is not modelled");
  }
  if (!eight) return;
  job.training.precision = Precision::fp8;
  const std::string recipe =
      in.text({"float8.recipe_name", "quantize.linear.float8.recipe_name"}, "tensorwise");
  // torchao finds scales in every pass, but for the delayed ones of 2024.
  const bool delayed = in.text({"float8.scaling_type_input"}, "dynamic") == "delayed";
  job.training.fp8_scaling = delayed ? Fp8Scaling::tensor : Fp8Scaling::current;
  bool gathers_eight = false;
  for (const char* key : {"float8.enable_fsdp_float8_all_gather",
                          "quantize.linear.float8.enable_fsdp_float8_all_gather"})
    if (in.truth({key}, false)) gathers_eight = true;
  if (recipe == "rowwise")
    job.training.fp8_scaling = Fp8Scaling::row;
  else if (recipe != "tensorwise")
    in.refuse("float8.recipe_name",
              in_quotes(recipe) + " is not modelled: tensorwise and rowwise are");
  job.memory.fp8_parameters =
      gathers_eight && job.parallel.zero >= 3 && job.training.fp8_scaling != Fp8Scaling::row;
  if (gathers_eight && job.parallel.zero == 2)
    assumed.emplace_back(
        "shards of weights travel in 16 bits: gathers in 8 bits (enable_fsdp_float8_all_gather) "
        "are modelled where weights are given back after use");
}

void read_recompute(TreeReader& in, Job& job, std::vector<std::string>& assumed) {
  const std::string mode = in.text({"activation_checkpoint.mode"}, "selective");
  const std::string option = in.text({"activation_checkpoint.selective_ac_option"}, "2");
  Recompute& recompute = job.memory.recompute;
  if (mode == "full" || (mode == "selective" && option == "1")) {
    recompute.kind = RecomputeKind::full;
  } else if (mode == "selective" && option == "op") {
    recompute.kind = RecomputeKind::selective;
    recompute.every_second_matmul = true;
  } else if (mode == "selective") {
    const auto every = parse_integer(option);
    if (!every.value || *every.value < 1 || *every.value > 1000)
      return in.refuse("activation_checkpoint.selective_ac_option",
                       in_quotes(option) + " is neither op nor a number of layers");
    const int per_stage = std::max(1, job.model.layers / job.parallel.pipeline);
    const int count = static_cast<int>(*every.value);
    recompute.kind = RecomputeKind::full;
    recompute.method = RecomputeMethod::block;
    recompute.layers = std::max(1, (per_stage + count - 1) / count);
    assumed.push_back(fmt::format("one of {} layers is recomputed: {} of the {} of a stage", count,
                                  recompute.layers, per_stage));
  } else if (mode != "none") {
    in.refuse("activation_checkpoint.mode", in_quotes(mode) + " is none of none, selective, full");
  }
}

/// torch.compile of all parts, or of those that compile.components names: a model that is not
/// compiled runs eager kernels, whatever its loss does.
void choose_kernels(TreeReader& in, ImportedPlan& plan) {
  const bool enabled = in.truth({"compile.enable", "training.compile"}, false);
  const YamlNode* const parts = in.take("compile.components");
  bool model = parts == nullptr;
  bool loss = parts == nullptr;
  for (const YamlNode& part : parts == nullptr ? std::vector<YamlNode>{} : parts->items) {
    model = model || part.text == "model";
    loss = loss || part.text == "loss";
    if (part.text != "model" && part.text != "loss")
      in.refuse("compile.components", in_quotes(part.text) + " is neither model nor loss");
  }
  if (!enabled)
    return choose_stack(plan, "fsdp2",
                        "torchtitan without torch.compile (compile.enable is not set)");
  if (model && !loss)
    plan.notes.assumed.emplace_back(
        "the loss keeps as little as a compiled one: compile.components names the model alone");
  if (!model && loss)
    plan.notes.assumed.emplace_back(
        "the loss keeps as much as an eager one: compile.components names the loss alone, whose "
        "compiled form keeps 4 B per logit less");
  choose_stack(plan, model ? "fsdp2-compile" : "fsdp2",
               model ? "torchtitan with torch.compile (compile.enable)"
                     : "torchtitan whose model is not compiled (compile.components)");
}

void declare_torchtitan_rest(TreeReader& in) {
  for (const char* path : {"optimizer.early_step_in_backward", "fault_tolerance.enable"})
    if (in.truth({path}, false)) in.refuse(path, "is not modelled");
  if (const std::string type = in.text({"training.data_parallel_type"}, "fsdp"); type != "fsdp")
    in.refuse("training.data_parallel_type", in_quotes(type) + " is not modelled: fsdp");
  in.harmless(Framework::torchtitan);
}

}  // namespace

std::string torchtitan_model(const std::string& name, const std::string& flavor) {
  const std::string lower = lower_case(flavor);
  for (const Flavor& known : flavors)
    if (known.name == name && known.flavor == lower) return std::string(known.model);
  return name + "-" + lower;
}

ImportedScenario import_torchtitan(const ImportSource& source, const PlanImportOptions& options) {
  Diagnostics diagnostics;
  const bool python = is_torchtitan_python(source);
  if (!python && refuse_python(source, diagnostics)) diagnostics.throw_if_any();
  const auto root = python ? torchtitan_python(source, diagnostics)
                           : parse_toml(source.text, source.name, YamlLimits{}, diagnostics);
  const auto per_host = host_gpus(options, diagnostics);
  diagnostics.throw_if_any();
  TreeReader in(*root, diagnostics, options.left_out);
  ImportedPlan plan;
  plan.job.name = std::filesystem::path(source.name).stem().string();
  read_torchtitan_model(in, options, plan);
  Job& job = plan.job;
  read_dialect(*dialect_of(Framework::torchtitan, options.catalogs), in, job);
  read_replicas(in, options, *per_host, plan);
  diagnostics.throw_if_any();
  read_chunks(in, job.parallel, plan.notes.assumed);
  read_batch(in, job, plan.notes.assumed);
  read_float8(in, job, plan.notes.assumed);
  read_recompute(in, job, plan.notes.assumed);
  choose_kernels(in, plan);
  declare_torchtitan_rest(in);
  in.finish(options, plan.notes);
  return finish_import(std::move(plan), source, options, diagnostics);
}

}  // namespace foretrain
