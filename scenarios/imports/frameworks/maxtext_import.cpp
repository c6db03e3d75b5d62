// SPDX-License-Identifier: Apache-2.0
// Keys and defaults: AI-Hypercomputer/maxtext, src/maxtext/configs/base.yml, read in November 2026.
#include "scenarios/imports/frameworks/importers.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "scenarios/catalog/catalog_listing.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

struct MaxtextModel {
  std::string_view name, model;
};

/// Models whose names differ from the catalog's.
constexpr auto maxtext_models = std::to_array<MaxtextModel>({{"deepseek3-671b", "deepseek-v3"},
                                                             {"deepseek2-16b", "deepseek-v2-lite"},
                                                             {"kimi-k2-1t", "kimi-k2"}});

/// Axes of the mesh that have no counterpart here on JAX.
constexpr auto refused_axes = std::to_array<std::string_view>(
    {"autoregressive", "context", "context_autoregressive", "expert", "fsdp_transpose", "pipeline",
     "sequence", "tensor_sequence", "tensor_transpose"});

/// Reads one configuration into a plan.
class MaxtextReader {
 public:
  MaxtextReader(TreeReader& in, const PlanImportOptions& options, ImportedPlan& plan)
      : in_{in}, options_{options}, plan_{plan}, job_{plan.job} {}

  void read(int host_gpus) {
    read_model();
    read_axes(host_gpus);
    read_batch();
    read_precision();
    read_memory();
    choose_stack(plan_, "jax", "MaxText and PaxML on JAX, as measured in 2024 and 2025");
    in_.harmless(Framework::maxtext);
  }

 private:
  void read_model() {
    const std::string said = in_.text({"model_name"});
    plan_.model = options_.model;
    for (const MaxtextModel& known : maxtext_models)
      if (plan_.model.empty() && known.name == said) plan_.model = known.model;
    LoadOptions load;
    load.catalogs = options_.catalogs;
    for (const CatalogEntry& entry : catalog_entries("models", load))
      if (plan_.model.empty() && entry.name == said) plan_.model = entry.name;
    if (plan_.model.empty())
      in_.refuse("model_name", (said.empty() ? std::string("is missing")
                                             : in_quotes(said) + " is no model of the catalog") +
                                   "; give --model NAME, or the path of a model or config.json");
  }

  /// An axis over slices and within one; -1 takes what is left, which only the GPUs tell.
  std::optional<int> axis(const std::string& name, int usual_slices, int usual_inside) {
    const std::string slices = "dcn_" + name + "_parallelism";
    const std::string inside = "ici_" + name + "_parallelism";
    const int outer = in_.integer({slices}, -1, 1'000'000).value_or(usual_slices);
    const int inner = in_.integer({inside}, -1, 1'000'000).value_or(usual_inside);
    if (outer == 0 || inner == 0)
      in_.refuse(outer == 0 ? slices : inside, "is 0; -1 takes what other axes leave");
    if (outer < 1 || inner < 1) return std::nullopt;
    return static_cast<int>(std::min(1LL * outer * inner, 1'000'000LL));
  }

  void read_axes(int host_gpus) {
    for (const std::string_view name : refused_axes)
      if (axis(std::string(name), 1, 1).value_or(2) > 1)
        in_.refuse("ici_" + std::string(name) + "_parallelism",
                   "is an axis that is not modelled on JAX: data, fsdp and tensor are");
    Parallel& parallel = job_.parallel;
    const auto tensor = axis("tensor", 1, 1);
    if (!tensor) in_.refuse("ici_tensor_parallelism", "must be a number here, not -1");
    parallel.tensor = std::clamp(tensor.value_or(1), 1, 1024);
    const auto copies = axis("data", -1, 1);
    const auto shards = axis("fsdp", 1, -1);
    const int replicas = copies.value_or(1);
    LaunchSize size;
    const double ranks = 1.0 * replicas * shards.value_or(1) * parallel.tensor;
    if (copies && shards && ranks <= 1e6) size.gpus = static_cast<int>(ranks);
    const int gpus = gpus_for(size, parallel.tensor, host_gpus, options_, plan_.notes);
    parallel.data = std::max(1, gpus / parallel.tensor);
    // Of two axes that are left open, GPUs without slices give all of them to fsdp.
    const int inside =
        shards ? std::min(*shards, parallel.data) : parallel.data / std::max(1, replicas);
    if (inside < 1 || parallel.data % inside != 0)
      return in_.refuse("ici_fsdp_parallelism",
                        fmt::format("{} does not divide {} ranks", inside, parallel.data));
    parallel.zero = inside > 1 ? 3 : 0;
    if (inside > 1 && inside < parallel.data) parallel.zero_group = inside;
  }

  void read_batch() {
    Training& training = job_.training;
    training.sequence = in_.integer({"max_target_length"}, 1, 100'000'000).value_or(2048);
    const auto each = in_.number({"per_device_batch_size"});
    const double rows = each.value_or(12.0) * job_.parallel.tensor;
    if (!(rows >= 1.0 && rows <= 100'000.0) || rows != static_cast<int>(rows))
      return in_.refuse("per_device_batch_size",
                        "does not give a whole number of sequences to every replica");
    training.micro_batch = static_cast<int>(rows);
    const int gathered = in_.integer({"gradient_accumulation_steps"}, 1, 100'000).value_or(1);
    const double batch = rows * gathered * job_.parallel.data;
    if (batch > 1e8)
      return in_.refuse("per_device_batch_size", "gives a global batch above 100,000,000");
    training.global_batch = static_cast<int>(batch);
    training.vocabulary_multiple = 1;
    if (const auto steps = in_.integer({"steps"}, -1, 2'000'000'000); steps && *steps > 0)
      training.tokens = 1.0 * *steps * training.global_batch * training.sequence;
    const std::string optimizer = in_.text({"opt_type"}, "adamw");
    if (optimizer != "adamw" && optimizer != "adam_pax")
      in_.refuse("opt_type", in_quotes(optimizer) + " is not modelled: adamw and adam_pax are");
  }

  void read_precision() {
    const std::string type = in_.text({"dtype"}, "bfloat16");
    if (type != "bfloat16" && type != "float32")
      in_.refuse("dtype", in_quotes(type) + " is none of bfloat16 and float32");
    job_.training.precision = type == "float32" ? Precision::fp32 : Precision::bf16;
    const std::string kept = in_.text({"weight_dtype"}, "float32");
    if (kept != "float32")
      in_.refuse("weight_dtype", in_quotes(kept) + " is not modelled: float32");
    const std::string eight = in_.text({"quantization"});
    if (eight == "fp8")
      job_.training.precision = Precision::fp8;
    else if (!eight.empty())
      in_.refuse("quantization", in_quotes(eight) + " is not modelled: fp8 is");
    const std::string hardware = in_.text({"hardware"}, "tpu");
    if (hardware == "tpu")
      plan_.notes.assumed.emplace_back("GPUs, though hardware is tpu, the default");
    else if (!hardware.starts_with("gpu"))
      in_.refuse("hardware", in_quotes(hardware) + " is not modelled: gpu is");
  }

  void read_memory() {
    Recompute& recompute = job_.memory.recompute;
    const std::string policy = in_.text({"remat_policy"}, "full");
    if (policy == "full") {
      recompute.kind = RecomputeKind::full;
    } else if (policy == "minimal" || policy == "minimal_with_context") {
      plan_.notes.assumed.push_back(fmt::format(
          "remat_policy {} keeps the results of GEMMs; what lies between them is kept as well here",
          policy));
    } else {
      in_.refuse("remat_policy", in_quotes(policy) +
                                     " is not modelled: full, minimal and "
                                     "minimal_with_context are");
    }
    const std::string attention = in_.text({"attention"}, "autoselected");
    if (attention == "dot_product") job_.memory.attention = AttentionKind::unfused;
    for (const char* key : {"optimizer_memory_host_offload", "parameter_memory_host_offload"})
      if (in_.truth({key}, false)) in_.refuse(key, "is not modelled on JAX");
  }

  TreeReader& in_;
  const PlanImportOptions& options_;
  ImportedPlan& plan_;
  Job& job_;
};

}  // namespace

ImportedScenario import_maxtext(const ImportSource& source, const PlanImportOptions& options) {
  Diagnostics diagnostics;
  const Mark top{std::make_shared<const std::string>(source.name), 1, 1};
  if (!check_encoding(source.text, top, diagnostics)) diagnostics.throw_if_any();
  std::string text = source.text;
  const std::vector<std::string> overrides = split_overrides(text);
  YamlNode root = empty_map(top);
  if (text.find_first_not_of(" \t\r\n") != std::string::npos) {
    auto parsed = parse_yaml(text, source.name, YamlLimits{}, diagnostics);
    if (parsed && !parsed->is_map())
      diagnostics.add(parsed->mark, "", "must be a YAML map, or overrides key=value");
    diagnostics.throw_if_any();
    root = std::move(*parsed);
  }
  for (const std::string& word : overrides) put_override(root, word, root.mark);
  const auto per_host = host_gpus(options, diagnostics);
  diagnostics.throw_if_any();
  TreeReader in(root, diagnostics, options.left_out);
  ImportedPlan plan;
  plan.job.name = std::filesystem::path(source.name).stem().string();
  MaxtextReader(in, options, plan).read(*per_host);
  in.finish(options, plan.notes);
  return finish_import(std::move(plan), source, options, diagnostics);
}

}  // namespace foretrain
