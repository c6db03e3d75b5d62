// SPDX-License-Identifier: Apache-2.0
// Keys and components: torchtune's recipes/configs, as of release 0.6.
#include "models/base/ranges.hpp"
#include "scenarios/imports/frameworks/importers.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "models/grid/process_grid.hpp"
#include "scenarios/catalog/catalog_listing.hpp"
#include "scenarios/catalog/model_names.hpp"
#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

/// The last piece of a dotted name, in lower case.
std::string last_piece(std::string text) {
  text = text.substr(text.find_last_of('.') + 1);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string without_start(std::string text, std::string_view start) {
  return text.starts_with(start) ? text.substr(start.size()) : text;
}

/// Reads one configuration into a plan.
class TorchtuneReader {
 public:
  TorchtuneReader(TreeReader& in, const PlanImportOptions& options, ImportedPlan& plan)
      : in_{in}, options_{options}, plan_{plan}, job_{plan.job} {}

  void read(int host_gpus) {
    read_dialect(*dialect_of(Framework::torchtune, options_.catalogs), in_, job_);
    read_model();
    read_layout(host_gpus);
    read_batch();
    read_memory();
    read_adapter();
    read_objective();
    in_.harmless(Framework::torchtune);
  }

 private:
  void assume(std::string sentence) { plan_.notes.assumed.push_back(std::move(sentence)); }

  void read_model() {
    builder_ = in_.text({"model._component_"});
    plan_.model = options_.model;
    LoadOptions load;
    load.catalogs = options_.catalogs;
    const std::vector<std::string> names = torchtune_models(builder_);
    for (const CatalogEntry& entry : catalog_entries("models", load))
      if (plan_.model.empty() && contains(names, entry.name)) plan_.model = entry.name;
    for (const std::string& name : names)
      if (plan_.model.empty()) plan_.model = hub_model(name, options_.catalogs).name;
    if (plan_.model.empty())
      in_.refuse(
          "model._component_",
          (builder_.empty() ? std::string("is missing")
                            : in_quotes(last_piece(builder_)) + " is no model of the catalog") +
              "; give --model NAME, or the path of a model or config.json");
  }

  void read_layout(int host_gpus) {
    Parallel& parallel = job_.parallel;
    const auto replica = static_cast<int>(replica_ranks(parallel));  // tensor ranks alone
    parallel.sequence = replica > 1;
    const int copies = in_.integer({"data_parallel_replicate_dim"}, 1, 1'000'000).value_or(1);
    const int gpus = gpus_for({}, replica, host_gpus, options_, plan_.notes);
    parallel.data = std::max(1, gpus / replica);
    if (parallel.data % copies != 0)
      in_.refuse("data_parallel_replicate_dim",
                 fmt::format("{} does not divide {} ranks", copies, parallel.data));
    const int sharded = parallel.data / copies;
    const int asked = in_.integer({"data_parallel_shard_dim"}, -1, 1'000'000).value_or(-1);
    if (asked > 0 && asked != sharded)
      in_.refuse("data_parallel_shard_dim",
                 fmt::format("{} is not what tensor ranks and copies leave of the GPUs, {}", asked,
                             sharded));
    const bool again = in_.truth({"fsdp_reshard_after_forward"}, true);
    parallel.zero = sharded > 1 ? (again ? 3 : 2) : 0;
    if (copies > 1 && sharded > 1) parallel.zero_group = sharded;
  }

  void read_batch() {
    Training& training = job_.training;
    const auto rows = in_.integer({"tokenizer.max_seq_len"}, 1, 100'000'000);
    training.sequence = options_.sequence.value_or(rows.value_or(1));
    if (!options_.sequence && !rows)
      in_.refuse("tokenizer.max_seq_len",
                 "is not set: rows are as long as their samples; give the tokens of a row with "
                 "--sequence N");
    const int gathered = in_.integer({"gradient_accumulation_steps"}, 1, 100'000).value_or(1);
    const bool packs = in_.truth({"dataset.packed"}, false);
    assume(packs ? "every row is one sample: the source does not say how long samples are "
                   "(training.samples)"
                 : "rows are full: the source does not say how long samples are, and pads are "
                   "waste (training.samples)");
    set_batch("batch_size", gathered, std::nullopt, in_, job_);
    if (training.precision == Precision::bf16) {
      training.master_weights = MasterWeights::none;
      job_.communication.gradient_dtype = Precision::bf16;
    }
    read_optimizer();
  }

  void read_optimizer() {
    const std::string name = last_piece(in_.text({"optimizer._component_"}, "adamw"));
    if (name.starts_with("paged") && job_.memory.offload == OffloadKind::none)
      job_.memory.offload = OffloadKind::paged;
    if (name.find("8bit") != std::string::npos)
      job_.training.optimizer = OptimizerKind::adam8bit;
    else if (name == "sgd")
      job_.training.optimizer = OptimizerKind::sgd;
    else if (name == "pagedadamw" || name == "pagedadam" || name == "pagedadamw32bit")
      read_paged();
    else if (name != "adamw" && name != "adam")
      in_.refuse("optimizer._component_", in_quotes(name) + " is not modelled");
    if (in_.truth({"optimizer.fused"}, false))
      job_.training.fused_kernels.add(FusedKernel::optimizer);
  }

  /// bitsandbytes keeps moments in 32 bits whatever the weights have, and updates in one kernel.
  void read_paged() {
    job_.training.first_moment_bytes = job_.training.second_moment_bytes = 4.0;
    job_.training.fused_kernels.add(FusedKernel::optimizer);
  }

  /// Saved tensors of all layers: with checkpoints, their inputs.
  void read_offload() {
    if (!in_.truth({"enable_activation_offloading"}, false)) return;
    if (const auto shape = known_shape(plan_.model, options_))
      job_.memory.offloaded_layers = shape->layers;
  }

  void read_memory() {
    read_offload();
    const std::string loss = last_piece(in_.text({"loss._component_"}));
    job_.memory.fused_loss =
        loss.find("chunked") != std::string::npos || loss.find("linear") != std::string::npos;
    const bool compiled = in_.truth({"compile"}, false);
    choose_stack(plan_, compiled ? "fsdp2-compile" : "fsdp2",
                 compiled ? "plain PyTorch with torch.compile (compile)"
                          : "plain PyTorch without torch.compile (compile is not set)");
  }

  void read_adapter() {
    const std::string name = last_piece(builder_);
    const bool quantised = name.starts_with("qlora_");
    const bool lora = quantised || name.starts_with("lora_") || name.starts_with("dora_");
    const auto rank = in_.integer({"model.lora_rank"}, 1, 65536);
    const double dropout = in_.number({"model.lora_dropout"}).value_or(0.0);
    const YamlNode* modules = in_.take("model.lora_attn_modules");
    const bool wide = in_.truth({"model.apply_lora_to_mlp"}, false);
    const bool output = in_.truth({"model.apply_lora_to_output"}, false);
    const bool dora = in_.truth({"model.use_dora"}, name.starts_with("dora_"));
    const bool four = in_.truth({"model.quantize_base"}, quantised);
    if (!lora) return;
    FineTuning& fine = job_.fine_tuning;
    fine.adapter = dora ? AdapterKind::dora : AdapterKind::lora;
    fine.rank = rank.value_or(8);
    fine.dropout = dropout;
    fine.targets = {};
    if (modules != nullptr)
      for (const YamlNode& item : modules->items) add_target(item.text, fine);
    if (wide)
      for (const AdapterTarget target :
           {AdapterTarget::gate, AdapterTarget::up, AdapterTarget::fc2})
        fine.targets.add(target);
    if (output) assume("adapters beside the output layer are not counted: they are small");
    if (!fine.targets.any())
      in_.refuse("model.lora_attn_modules", "names no layer that adapters stand beside");
    if (four) fine.frozen_format = FrozenFormat::nf4_double;
  }

  void add_target(const std::string& module, FineTuning& fine) {
    if (module == "q_proj")
      fine.targets.add(AdapterTarget::query);
    else if (module == "k_proj")
      fine.targets.add(AdapterTarget::key);
    else if (module == "v_proj")
      fine.targets.add(AdapterTarget::value);
    else if (module == "output_proj")
      fine.targets.add(AdapterTarget::projection);
    else
      in_.refuse("model.lora_attn_modules", in_quotes(module) +
                                                " is none of q_proj, k_proj, "
                                                "v_proj and output_proj");
  }

  /// Both answers of a pair go through the model in one pass.
  void read_objective() {
    const std::string loss = last_piece(in_.text({"loss._component_"}));
    if (loss.find("ppo") != std::string::npos || loss.find("grpo") != std::string::npos ||
        loss.find("kd") != std::string::npos)
      return in_.refuse("loss._component_", in_quotes(loss) + " is not modelled");
    if (loss.find("dpo") == std::string::npos) return;
    FineTuning& fine = job_.fine_tuning;
    fine.objective = Objective::preference;
    fine.reference = fine.adapts() ? ReferenceKind::without_adapters : ReferenceKind::copy;
    job_.training.micro_batch *= 2;
    job_.training.global_batch *= 2;
    assume("batches count pairs of answers: two sequences each");
  }

  TreeReader& in_;
  const PlanImportOptions& options_;
  ImportedPlan& plan_;
  Job& job_;
  std::string builder_;
};

}  // namespace

std::vector<std::string> torchtune_models(const std::string& component) {
  std::string name = last_piece(component);
  for (const char* start : {"qlora_", "lora_", "dora_"}) name = without_start(name, start);
  for (const std::string_view end : {"_instruct", "_base"})
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  // The last underscore stands before the size, or inside of it; one before is a dot.
  std::vector<std::string> names;
  const auto last = name.find_last_of('_');
  if (last == std::string::npos) return {name};
  const auto before = last == 0 ? std::string::npos : name.find_last_of('_', last - 1);
  std::string first = name;
  first[last] = '-';
  if (before != std::string::npos) first[before] = '.';
  names.push_back(first);
  if (before != std::string::npos) {
    std::string second = name;
    second[before] = '-';
    second[last] = '.';
    names.push_back(second);
  }
  return names;
}

ImportedScenario import_torchtune(const ImportSource& source, const PlanImportOptions& options) {
  Diagnostics diagnostics;
  const Mark top{std::make_shared<const std::string>(source.name), 1, 1};
  if (!check_encoding(source.text, top, diagnostics)) diagnostics.throw_if_any();
  std::string text = source.text;
  const std::vector<std::string> overrides = split_overrides(text);
  auto root = parse_yaml(text, source.name, YamlLimits{}, diagnostics);
  const auto per_host = host_gpus(options, diagnostics);
  if (root && !root->is_map())
    diagnostics.add(root->mark, "", "must be a YAML map: a configuration of torchtune");
  diagnostics.throw_if_any();
  for (const std::string& word : overrides) put_override(*root, word, root->mark);
  resolve_references(*root);
  TreeReader in(*root, diagnostics, options.left_out);
  ImportedPlan plan;
  plan.job.name = std::filesystem::path(source.name).stem().string();
  TorchtuneReader(in, options, plan).read(*per_host);
  in.finish(options, plan.notes);
  return finish_import(std::move(plan), source, options, diagnostics);
}

}  // namespace foretrain
