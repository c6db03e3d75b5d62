// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/core/core_recipes.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "scenarios/fields/shipped_table.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"

namespace foretrain {
namespace {

Field recipe_text(const char* path, const char* help, const char* example) {
  return {.path = path, .help = help, .example = example, .required = true};
}

Field recipe_number(const char* path, const char* help, const char* usual = "") {
  return {.path = path,
          .kind = FieldKind::integer,
          .help = help,
          .example = "2",
          .required = *usual == 0,
          .default_text = usual,
          .min = 1};
}

Field recipe_list(const char* path, const char* help, const char* example) {
  return {.path = path, .kind = FieldKind::text_list, .help = help, .example = example};
}

const FieldTable& recipe_fields() {
  static const FieldTable table(
      "Recipes of a framework",
      {schema_field(),
       {.path = "sets", .kind = FieldKind::list, .help = "Settings that several recipes share."},
       recipe_text("sets[].name", "How recipes call them.", "pretrain"),
       recipe_list("sets[].settings", "KEY=VALUE, as overrides.", "[model.a=1]"),
       {.path = "recipes", .kind = FieldKind::list, .help = "What decides memory or time."},
       recipe_text("recipes[].name", "What launches call it.", "llama3_8b"),
       recipe_text("recipes[].model", "Of the catalog.", "llama3-8b"),
       recipe_number("recipes[].tensor", "Tensor ranks.", "1"),
       recipe_number("recipes[].pipeline", "Stages.", "1"),
       recipe_number("recipes[].chunks", "Chunks of a stage.", "1"),
       recipe_number("recipes[].context", "Context ranks.", "1"),
       recipe_number("recipes[].expert", "Expert ranks.", "1"),
       {.path = "recipes[].sequence_parallel",
        .kind = FieldKind::boolean,
        .help = "Norms in shards, too.",
        .example = "true",
        .default_text = "false"},
       recipe_number("recipes[].tokens", "Of a sequence."),
       recipe_number("recipes[].batch", "Sequences of a step."),
       recipe_number("recipes[].micro_batch", "Sequences of a pass."),
       recipe_list("recipes[].sets", "Names of shared settings.", "[pretrain]"),
       recipe_list("recipes[].settings", "Further KEY=VALUE, which go on top.", "[model.a=1]"),
       recipe_text("recipes[].source", "File, and the commit that it was read at.",
                   "llama3.py at 0123abc")});
  return table;
}

using SettingSets = std::map<std::string, std::vector<std::string>, std::less<>>;

CoreRecipe recipe_at(const FieldValues& file, const std::string& at, const SettingSets& sets,
                     Diagnostics& diagnostics) {
  const auto number = [&](const char* key) { return file.integer(at + key); };
  CoreRecipe recipe{.name = file.text(at + "name"),
                    .model = file.text(at + "model"),
                    .tensor = number("tensor"),
                    .pipeline = number("pipeline"),
                    .virtual_stages = number("chunks"),
                    .context = number("context"),
                    .expert = number("expert"),
                    .sequence_parallel = file.boolean(at + "sequence_parallel"),
                    .sequence = number("tokens"),
                    .global = number("batch"),
                    .micro = number("micro_batch"),
                    .settings = {},
                    .source = file.text(at + "source")};
  for (const std::string& name : texts_at(file, at + "sets")) {
    const auto set = sets.find(name);
    if (set == sets.end())
      diagnostics.add(file.where(at + "sets"), at + "sets", "there is no set " + in_quotes(name));
    else
      recipe.settings.insert(recipe.settings.end(), set->second.begin(), set->second.end());
  }
  for (std::string& setting : texts_at(file, at + "settings"))
    recipe.settings.push_back(std::move(setting));
  return recipe;
}

std::vector<CoreRecipe> recipes_of(const char* place) {
  Diagnostics diagnostics;
  std::vector<CoreRecipe> recipes;
  const ShippedTable table{place, "", recipe_fields};
  for (const FieldValues& file : read_files(table, files_of(table, {}))) {
    SettingSets sets;
    for (int i = 0; i < file.list_size("sets"); ++i)
      sets.emplace(file.text(fmt::format("sets[{}].name", i)),
                   texts_at(file, fmt::format("sets[{}].settings", i)));
    for (int i = 0; i < file.list_size("recipes"); ++i)
      recipes.push_back(recipe_at(file, fmt::format("recipes[{}].", i), sets, diagnostics));
  }
  diagnostics.throw_if_any();
  return recipes;
}

}  // namespace

std::span<const CoreRecipe> bridge_recipes() {
  static const auto recipes = recipes_of("scenarios/dialects/recipes/megatron-bridge.yaml");
  return recipes;
}

std::span<const CoreRecipe> nemo_recipes() {
  static const auto recipes = recipes_of("scenarios/dialects/recipes/nemo2.yaml");
  return recipes;
}

const CoreRecipe* find_recipe(std::span<const CoreRecipe> recipes, std::string_view name) {
  const auto found =
      std::ranges::find_if(recipes, [&](const CoreRecipe& recipe) { return recipe.name == name; });
  return found == recipes.end() ? nullptr : &*found;
}

void put_recipe(const CoreRecipe& recipe, const CoreGroups& groups, YamlNode& root) {
  const Mark nowhere{root.mark.file, 0, 0};
  const auto put = [&](const std::string& group, const char* name, int value) {
    put_override(root, fmt::format("{}.{}={}", group, name, value), nowhere);
  };
  const std::string& plan = groups.model.back();
  put(plan, "tensor_model_parallel_size", recipe.tensor);
  put(plan, "pipeline_model_parallel_size", recipe.pipeline);
  if (recipe.virtual_stages > 1)
    put(plan, "virtual_pipeline_model_parallel_size", recipe.virtual_stages);
  put(plan, "context_parallel_size", recipe.context);
  if (recipe.expert > 1) put(plan, "expert_model_parallel_size", recipe.expert);
  if (recipe.sequence_parallel) put_override(root, plan + ".sequence_parallel=true", nowhere);
  put(groups.data, "seq_length", recipe.sequence);
  put(groups.batch, "global_batch_size", recipe.global);
  put(groups.batch, "micro_batch_size", recipe.micro);
  for (const std::string& setting : recipe.settings) put_override(root, setting, nowhere);
}

std::string recipe_words(const CoreRecipe& recipe) {
  std::string words = fmt::format("{} of {}: tensor {}, pipeline {}", recipe.name, recipe.model,
                                  recipe.tensor, recipe.pipeline);
  if (recipe.virtual_stages > 1) words += fmt::format(" in {} chunks", recipe.virtual_stages);
  words += fmt::format(", context {}", recipe.context);
  if (recipe.expert > 1) words += fmt::format(", expert {}", recipe.expert);
  return words + fmt::format(", {} tokens, batches of {} and {} ({})", recipe.sequence,
                             recipe.global, recipe.micro, recipe.source);
}

}  // namespace foretrain
