// SPDX-License-Identifier: Apache-2.0
// Names and defaults: ms-swift's swift/megatron/arguments/megatron_args.py, as of August 2026.
#include "scenarios/imports/tuning/internal/swift_megatron.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/catalog/model_names.hpp"
#include "scenarios/imports/core/core_config.hpp"
#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"
#include "scenarios/imports/megatron/megatron_import.hpp"
#include "scenarios/imports/megatron/megatron_shape.hpp"
#include "scenarios/imports/tuning/internal/tuning_examples.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

const Dialect& swift_dialect() {
  static const auto dialect = dialect_named("swift-megatron");
  return *dialect;
}

std::string core_name(const std::string& key) {
  if (const auto renamed = meaning_of(*swift_dialect().term("renamed"), key); !renamed.empty())
    return std::string(renamed);
  std::string name = key;
  std::ranges::replace(name, '_', '-');
  return name;
}

bool passes_on(const std::string& name) {
  const std::vector<std::string>& known = known_megatron_arguments();
  return !name.starts_with("model") && (std::binary_search(known.begin(), known.end(), name) ||
                                        contains(swift_dialect().keys_of("asked_at_times"), name));
}

struct CoreModule {
  std::string_view name;
  AdapterTarget target;
};
constexpr auto core_modules = std::to_array<CoreModule>({{"linear_qkv", AdapterTarget::qkv},
                                                         {"linear_proj", AdapterTarget::projection},
                                                         {"linear_fc1", AdapterTarget::fc1},
                                                         {"linear_fc2", AdapterTarget::fc2}});

class SwiftMegatronReader {
 public:
  SwiftMegatronReader(const YamlNode& root, const PlanImportOptions& options, TreeReader& in,
                      MegatronSource& found)
      : root_{root}, options_{options}, in_{in}, found_{found} {}

  void read(Diagnostics& diagnostics) {
    read_model(diagnostics);
    read_size();
    put_usual("usual");
    if (shape_ && shape_->moe) put_usual("usual.experts");
    read_precision();
    read_arguments();
    read_sequence();
    read_epochs();
    read_adapter();
    read_objective();
    in_.harmless_group("swift-megatron");
    in_.harmless(Framework::swift);
  }

  void finish(ImportedPlan& plan) const {
    plan.job.fine_tuning = fine_;
    if (pairs_) {
      plan.job.training.micro_batch *= 2;
      plan.job.training.global_batch *= 2;
      plan.notes.assumed.emplace_back("batches count pairs of answers: two sequences each");
    }
    if (!shape_) return;
    plan.job.model = *shape_;
    plan.model = model_;
  }

 private:
  void put(std::string_view name, std::string value) {
    found_.arguments[std::string(name)] = std::move(value);
  }
  /// What ms-swift gives Megatron-Core where a line does not say otherwise.
  void put_usual(std::string_view list) {
    for (const auto& [name, value] : swift_dialect().term(list)->values) put(name, value);
  }
  void assume(std::string sentence) { found_.assumed.push_back(std::move(sentence)); }

  void read_model(Diagnostics& diagnostics) {
    const YamlNode* const node = in_.take("model");
    const std::string id = node == nullptr ? std::string() : node->text;
    if (const std::string packing = packed_otherwise(id); !packing.empty())
      in_.refuse("model", "weights that rest in " + packing + " are not modelled");
    const HubModel known =
        options_.model.empty() ? hub_model(id, options_.catalogs) : HubModel{options_.model};
    model_ = known.name;
    if (known.another) assume(fmt::format("{}, which has the shape of {}", known.name, id));
    if (model_.empty())
      return in_.refuse("model", in_quotes(id) +
                                     " is no model of the catalog; give --model NAME, or the path "
                                     "of a model or config.json");
    std::vector<SourceFile> files;
    std::vector<ResolvedValue> values;
    CatalogContext context{options_.catalogs, ".", diagnostics, files, values};
    const Mark place{std::make_shared<const std::string>("--model"), 0, 0};
    shape_ = load_model({model_, "model", place}, context);
    if (shape_) found_.arguments = megatron_shape_arguments(*shape_);
  }

  void read_size() {
    found_.size.gpus = in_.integer({"num_processes"}, 1, 1'000'000);
    const auto nodes = in_.integer({"num_machines"}, 1, 1'000'000);
    if (!found_.size.gpus) found_.size.nodes = nodes;
  }

  void read_precision() {
    const std::string type = in_.text({"torch_dtype"}, "bfloat16");
    const bool half = type == "float16" || type == "fp16";
    if (type != "float32" && type != "fp32") put(half ? "fp16" : "bf16", "true");
  }

  /// Arguments of Megatron-LM's, a switch by its value.
  void read_arguments() {
    for (const YamlEntry& entry : root_.entries) {
      const std::string name = core_name(entry.key);
      const std::string text = lower_case(entry.value.text);
      const auto off = meaning_of(*swift_dialect().term("switched_off"), entry.key);
      if (!off.empty()) {
        if (in_.truth({entry.key}, true))
          found_.arguments.erase(std::string(off));
        else
          put(off, "true");
      } else if (passes_on(name) && in_.take(entry.key) != nullptr) {
        found_.keys[name] = entry.key;
        if (text == "false" || text == "none")
          found_.arguments.erase(name);
        else
          put(name, text == "true" ? text : entry.value.text);
      }
    }
    if (!in_.truth({"sequence_parallel"}, false) ||
        in_.integer({"tensor_model_parallel_size"}, 1, 10'000).value_or(1) == 1)
      found_.arguments.erase("sequence-parallel");
    if (in_.text({"recompute_granularity"}, "selective") == "selective" &&
        found_.arguments.count("recompute-modules") == 0)
      assume("the attention is recomputed, ms-swift's default (recompute_granularity)");
  }

  void read_sequence() {
    const auto rows = in_.integer({"max_length"}, 1, 100'000'000);
    const auto tokens = options_.sequence ? options_.sequence : rows;
    if (!tokens) in_.refuse("max_length", "is not set; give the tokens of a row with --sequence N");
    int length = tokens.value_or(1);
    if (in_.text({"rlhf_type"}) == "grpo" && !options_.sequence) {
      const int answer = in_.integer({"max_completion_length"}, 1, 100'000'000).value_or(512);
      assume(fmt::format("rows of {} tokens: prompts of {} and answers of {} (--sequence)",
                         length + answer, length, answer));
      length += answer;
    }
    put("seq-length", std::to_string(length));
    const bool packs = in_.truth({"packing"}, false);
    assume(packs ? "every row is one sample: the source does not say how long samples are "
                   "(training.samples)"
                 : "rows are full: the source does not say how long samples are "
                   "(training.samples)");
  }

  /// Whole batches of a known number of examples, a row each.
  void read_epochs() {
    if (found_.arguments.count("train-iters") > 0) return;
    const bool packs = in_.truth({"packing"}, false);
    auto examples = tuning::stated_examples(Framework::swift, root_);
    if (options_.examples)
      examples = tuning::StatedExamples{static_cast<double>(*options_.examples), "--examples"};
    if (options_.examples && packs)
      in_.refuse("packing",
                 "packs examples into rows, so that their number (--examples) does not decide how "
                 "long the run is; write training.tokens");
    const double epochs = in_.number({"num_train_epochs"}).value_or(0.0);
    const auto batch = parse_number(found_.arguments["global-batch-size"]).value;
    if (packs || !examples || epochs <= 0.0 || !batch || *batch < 1.0) return;
    const double steps = std::floor(examples->count * epochs / *batch);
    if (steps < 1.0) return;
    put("train-iters", fmt::format("{:.0f}", steps));
    assume(fmt::format("{:.0f} examples ({}), a row each, {:g} epochs: {:.0f} steps",
                       examples->count, examples->words, epochs, steps));
  }

  void read_adapter() {
    const std::string tuner = in_.text({"tuner_type", "train_type"}, "full");
    const auto rank = in_.integer({"lora_rank"}, 1, 65536);
    const auto dropout = in_.number({"lora_dropout"});
    const std::string targets = in_.text({"target_modules"}, "all-linear");
    if (tuner == "full") return;
    if (tuner != "lora")
      return in_.refuse("tuner_type", in_quotes(tuner) + " is not modelled: full, lora");
    fine_.adapter = AdapterKind::lora;
    fine_.rank = rank.value_or(8);
    fine_.dropout = dropout.value_or(0.05);
    fine_.targets = {};
    for (const CoreModule& module : core_modules)
      if (targets == "all-linear" || targets.find(module.name) != std::string::npos)
        fine_.targets.add(module.target);
    if (!fine_.targets.any())
      in_.refuse("target_modules", in_quotes(targets) +
                                       " names no layer that is modelled: "
                                       "all-linear, linear_qkv, linear_proj, "
                                       "linear_fc1, linear_fc2");
    read_trained();
    if (!rank) assume("adapters of rank 8, ms-swift's default");
    if (!dropout) assume("dropout 0.05 before the adapters, ms-swift's default");
  }

  /// Modules that are trained beside adapters.
  void read_trained() {
    std::string modules = in_.text({"modules_to_save"});
    EnumSet<ModelPart> parts;
    std::ranges::replace(modules, ',', ' ');
    for (std::istringstream words(modules); words >> modules;)
      if (modules == "word_embeddings" || modules == "all-embedding")
        parts.add(ModelPart::embedding);
      else if (modules == "output_layer")
        parts.add(ModelPart::output);
      else
        in_.refuse("modules_to_save",
                   in_quotes(modules) + " is not modelled: word_embeddings, output_layer");
    if (parts.any()) fine_.trained = parts;
  }

  void read_objective() {
    const std::string type = in_.text({"rlhf_type"});
    const std::string task = in_.text({"task_type"}, "causal_lm");
    if (task != "causal_lm")
      in_.refuse("task_type", in_quotes(task) + " has another head, which is not modelled");
    for (const char* key : {"freeze_vit", "freeze_aligner"})
      if (!in_.truth({key}, true))
        in_.refuse(key,
                   "false trains a vision tower, whose images these files do not state: write "
                   "training.images and fine_tuning.trained in a scenario");
    if (type.empty()) return;
    if (type == "grpo") return read_generation();
    if (type != "dpo" && type != "rm")
      return in_.refuse("rlhf_type",
                        in_quotes(type) + " is not modelled over Megatron: dpo, rm, grpo");
    pairs_ = true;
    (void)in_.text({"loss_type"});
    fine_.objective = type == "rm" ? Objective::reward : Objective::preference;
    fine_.reference = reference();
    if (in_.truth({"reference_free"}, false)) fine_.reference = ReferenceKind::precomputed;
  }

  [[nodiscard]] ReferenceKind reference() const {
    return fine_.adapts() ? ReferenceKind::without_adapters : ReferenceKind::copy;
  }

  /// A batch counts answers; the model as it was is a reference where beta is above zero.
  void read_generation() {
    if (in_.number({"beta"}).value_or(0.04) > 0.0) {
      fine_.objective = Objective::preference;
      fine_.reference = reference();
    }
    assume(
        "GRPO's training part alone: generating answers, scoring them and the pass of the older "
        "policy take time and memory beside this forecast");
    for (const char* key : {"use_vllm", "vllm_mode", "vllm_gpu_memory_utilization",
                            "offload_bridge", "router_replay_mode"})
      (void)in_.text({key});
    in_.harmless_group("generation");
  }

  const YamlNode& root_;
  const PlanImportOptions& options_;
  TreeReader& in_;
  MegatronSource& found_;
  std::string model_;
  std::optional<LlmShape> shape_;
  FineTuning fine_;
  bool pairs_ = false;
};

}  // namespace

ImportedScenario import_swift_megatron(const YamlNode& arguments, std::vector<std::string> assumed,
                                       const ImportSource& source, const PlanImportOptions& options,
                                       Diagnostics& diagnostics) {
  TreeReader in(arguments, diagnostics, options.left_out);
  MegatronSource found;
  found.assumed = std::move(assumed);
  found.line = arguments.mark.line;
  SwiftMegatronReader reader(arguments, options, in, found);
  reader.read(diagnostics);
  PlanNotes notes;
  in.finish(options, notes);
  diagnostics.throw_if_any();
  auto plan = megatron_plan(found, source, options, diagnostics);
  diagnostics.throw_if_any();
  sort_core_notes(found, plan->notes, notes);
  reader.finish(*plan);
  notes.stack = plan->notes.stack;
  notes.assumed.insert(notes.assumed.end(), plan->notes.assumed.begin(), plan->notes.assumed.end());
  plan->notes = std::move(notes);
  return finish_import(std::move(*plan), source, options, diagnostics);
}

}  // namespace foretrain
