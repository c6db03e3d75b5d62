// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/core/core_import.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>

#include "models/layers/adapter_layers.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/imports/frameworks/adapter_targets.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/megatron/megatron_import.hpp"
#include "scenarios/imports/megatron/megatron_shape.hpp"
#include "scenarios/imports/shell/shell_variables.hpp"
#include "scenarios/sections/scenario_text.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

std::optional<LlmShape> catalog_shape(const std::string& name, const PlanImportOptions& options,
                                      const Mark& mark, Diagnostics& diagnostics) {
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{options.catalogs, ".", diagnostics, files, values};
  return load_model({name, "--model", mark}, context);
}

/// What a run starts from; its overrides are put over it. Reports a recipe that is not known.
class Start {
 public:
  Start(const CoreRun& run, const CoreFramework& framework, const PlanImportOptions& options,
        Diagnostics& diagnostics)
      : run_{run}, framework_{framework}, options_{options}, diagnostics_{diagnostics} {}

  /// The tree with the recipe's values, and the model it is of.
  YamlNode tree(std::string& model, std::vector<std::string>& assumed) {
    YamlNode root = empty_map(run_.stated.mark);
    model = options_.model;
    const CoreRecipe* recipe = find_recipe(framework_.recipes, run_.recipe);
    if (recipe != nullptr) {
      if (model.empty()) model = recipe->model;
      put_recipe(*recipe, framework_.groups, root);
      assumed.push_back("recipe " + recipe_words(*recipe));
      return root;
    }
    if (states_shape()) return root;
    std::istringstream words{std::string(framework_.unlisted)};
    for (std::string word; words >> word;) put_override(root, word, run_.stated.mark);
    const std::vector<std::string> missing = missing_keys();
    if (model.empty() || !missing.empty())
      refuse(missing);
    else
      assumed.push_back(fmt::format(
          "recipe {} is in no table here: what it sets beyond the stated keys is not known; {}",
          run_.recipe.empty() ? std::string("of no name") : printable_path(run_.recipe),
          framework_.unlisted));
    return root;
  }

  [[nodiscard]] bool states_shape() const {
    return std::ranges::all_of(shape_, [&](const char* name) {
      return std::ranges::any_of(framework_.groups.model, [&](const std::string& group) {
        const YamlNode* node = node_at(run_.stated, group + "." + name);
        return node != nullptr && !node->is_null();
      });
    });
  }

 private:
  [[nodiscard]] std::vector<std::string> missing_keys() const {
    std::vector<std::string> missing;
    for (const std::string& key : framework_.required)
      if (node_at(run_.stated, key) == nullptr) missing.push_back(key);
    return missing;
  }

  void refuse(const std::vector<std::string>& missing) const {
    std::vector<std::string> known;
    for (const CoreRecipe& recipe : framework_.recipes) known.emplace_back(recipe.name);
    std::vector<std::string> needed;
    if (options_.model.empty()) needed.emplace_back("the model (--model NAME of the catalog)");
    needed.insert(needed.end(), missing.begin(), missing.end());
    const std::string what = run_.recipe.empty() ? std::string("names no recipe")
                                                 : in_quotes(run_.recipe) +
                                                       " is no recipe that is known here, and no "
                                                       "code is run";
    const std::string message =
        fmt::format("{}; state {}{} ({} recipes are known: scenarios/README.md)", what,
                    joined(needed), nearest_hint(run_.recipe, known), known.size());
    diagnostics_.add(run_.recipe_mark, "recipe", message);
  }

  static constexpr std::array<const char*, 3> shape_{"num_layers", "hidden_size",
                                                     "num_attention_heads"};
  const CoreRun& run_;
  const CoreFramework& framework_;
  const PlanImportOptions& options_;
  Diagnostics& diagnostics_;
};

/// Keys that the recipe set and the run does not state are the recipe's business.
void keep_stated(const YamlNode& stated, std::vector<std::string>& keys) {
  std::erase_if(keys, [&](const std::string& key) { return node_at(stated, key) == nullptr; });
}

}  // namespace

bool is_core_file(const ImportSource& source) {
  for (const char* end : {".yaml", ".yml", ".json"})
    if (source.name.ends_with(end)) return true;
  // A line `word:` before any other; comments and blank lines aside.
  std::istringstream lines(source.text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string::npos || line[start] == '#') continue;
    const std::size_t end = line.find_first_not_of(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", start);
    return line[start] == '{' || (end != std::string::npos && end > start && line[end] == ':');
  }
  return false;
}

std::optional<YamlNode> read_core_file(const ImportSource& source, std::vector<std::string>& words,
                                       Diagnostics& diagnostics) {
  std::string text = source.text;
  const std::size_t behind = text.find("\n--");
  const bool options = behind != std::string::npos && behind + 3 < text.size() &&
                       text[behind + 3] >= 'a' && text[behind + 3] <= 'z';
  if (options) {
    std::istringstream lines(text.substr(behind + 1));
    for (std::string line; std::getline(lines, line);)
      for (std::string& word : ShellVariables{}.fields(line)) words.push_back(std::move(word));
    text.resize(behind + 1);
  }
  const std::vector<std::string> overrides = split_overrides(text);
  YamlNode root = empty_map({std::make_shared<const std::string>(source.name), 1, 1});
  if (text.find_first_not_of(" \t\r\n") != std::string::npos) {
    auto parsed = parse_yaml(text, source.name, YamlLimits{}, diagnostics);
    if (!parsed || !parsed->is_map()) {
      diagnostics.add(root.mark, "", "must be a YAML map of a configuration or of overrides");
      return std::nullopt;
    }
    root = std::move(*parsed);
  }
  for (const std::string& word : overrides) put_override(root, word, root.mark);
  return root;
}

namespace {

/// Names that the model has no layer for match nothing there.
void fit_adapters(const LlmShape& model, ImportedPlan& plan) {
  FineTuning& fine = plan.job.fine_tuning;
  if (!fine.adapts()) return;
  if (const std::string missing = drop_missing_targets(model, fine.targets); !missing.empty())
    plan.notes.assumed.push_back(
        fmt::format("no adapters beside {}, which {} does not have", missing, model.name));
  if (!adapts_experts(model, fine)) fine.expert_adapters = FineTuning{}.expert_adapters;
}

}  // namespace

ImportedScenario import_core_run(CoreRun run, const CoreFramework& framework,
                                 const ImportSource& source, const PlanImportOptions& options,
                                 Diagnostics& diagnostics) {
  std::string model;
  CoreConfig config;
  PlanNotes notes;
  Start start(run, framework, options, diagnostics);
  YamlNode root = start.tree(model, config.assumed);
  diagnostics.throw_if_any();
  std::optional<LlmShape> shape;
  if (!model.empty()) {
    shape = catalog_shape(model, options, run.recipe_mark, diagnostics);
    diagnostics.throw_if_any();
    config.found.arguments = megatron_shape_arguments(*shape);
    for (const char* name : {"hidden-dropout", "attention-dropout"})
      config.found.arguments[name] = "0.0";
  }
  merge_tree(root, run.stated);
  TreeReader in(root, diagnostics, options.left_out);
  read_core_config(framework.groups, root, options.left_out, in, config);
  for (const std::string& group : framework.harmless) in.harmless({group + ".*"});
  for (const std::string& key : framework.taken) (void)in.take(key);
  in.finish(options, notes);
  keep_stated(run.stated, notes.read);
  keep_stated(run.stated, notes.ignored);
  keep_stated(run.stated, notes.approximated);
  diagnostics.throw_if_any();
  if (shape && !config.shape_key.empty() && !config.whole_shape && !shape_has_arguments(*shape))
    diagnostics.add(run.stated.mark, config.shape_key,
                    fmt::format("changes the shape of {}, of which Megatron-LM's arguments say "
                                "only a part here; give the changed model with --model FILE",
                                model));
  diagnostics.throw_if_any();
  config.found.size = run.size;
  config.found.assumed = run.assumed;
  config.found.assumed.insert(config.found.assumed.end(), config.assumed.begin(),
                              config.assumed.end());
  const MegatronSource found = config.found;
  auto plan = megatron_plan(std::move(config.found), source, options, diagnostics);
  diagnostics.throw_if_any();
  sort_core_notes(found, plan->notes, notes);
  notes.assumed.insert(notes.assumed.begin(), plan->notes.assumed.begin(),
                       plan->notes.assumed.end());
  notes.stack = plan->notes.stack;
  plan->notes = std::move(notes);
  plan->job.fine_tuning = config.fine_tuning;
  fit_adapters(shape ? *shape : plan->job.model, *plan);
  if (!run.recipe.empty()) plan->job.name = run.recipe;
  const bool changed =
      shape && !may_be_one_model(plan->job.model, *shape) && !config.shape_key.empty();
  if (shape && !changed) {
    plan->job.model = *shape;
    plan->model = model;
  }
  if (plan->job.stack.name == "megatron-core")
    choose_stack(*plan, framework.stack, framework.stack_reason);
  return finish_import(std::move(*plan), source, options, diagnostics);
}

}  // namespace foretrain
