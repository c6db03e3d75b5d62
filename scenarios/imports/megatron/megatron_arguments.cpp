// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/megatron/megatron_arguments.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "models/grid/process_grid.hpp"
#include "models/inputs/recipe.hpp"
#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/imports/megatron/internal/megatron_mapper.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {

const Dialect& megatron_dialect() {
  static const auto dialect = dialect_named("megatron");
  return *dialect;
}

bool leaves_memory_alone(const std::string& name) {
  const auto families = megatron_dialect().keys_of("idle.families");
  return contains(megatron_dialect().keys_of("idle"), name) ||
         std::ranges::any_of(families,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Arguments come from users: whatever later divides, multiplies or sizes something is bounded
/// here. False when something was reported.
bool MegatronMapper::check_ranges() {
  const auto check = [&](const char* list, int least) {
    for (const auto& [name, text] : megatron_dialect().term(list)->values) {
      const int most = static_cast<int>(parse_integer(text).value.value_or(0));
      const auto value = in_.peek_integer(name);
      if (value && (*value < least || *value > most))
        in_.error(fmt::format("--{}: {} is not between {} and {}", name, *value, least, most));
    }
  };
  check("from_one", 1);
  check("from_zero", 0);
  double ranks = 1.0;
  for (const char* degree :
       {"tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size"})
    ranks *= in_.integer(degree, 1);
  if (environment_.gpus < 1 || environment_.gpus > 1'000'000)
    in_.error(std::to_string(environment_.gpus) + " GPUs");
  else if (ranks > environment_.gpus)
    in_.error("the layout asks for more ranks than there are GPUs");
  return in_.errors().empty();
}

std::vector<std::string> MegatronMapper::said_list(const char* term) {
  const DialectTerm& list = *megatron_dialect().term(term);
  const std::string& argument = list.keys.front();
  std::vector<std::string> words = in_.words(argument);
  if (words.empty() && !list.usual.empty()) words.push_back(list.usual);
  std::vector<std::string> all;
  for (const std::string& word : words) {
    const auto some = meanings_of(list, word);
    all.insert(all.end(), some.begin(), some.end());
    if (some.empty()) unmodelled(argument + " " + word);
  }
  return all;
}

/// Which of an operand's elements share a scale, and so which kernels multiply.
void MegatronMapper::map_fp8_recipe() {
  Training& training = out_.job.training;
  training.precision = Precision::fp8;
  training.fp8_attention = in_.flag("fp8-dot-product-attention");
  const std::string_view recipe = said("fp8_recipe", "fp8-recipe");
  if (const auto scaling = from_name<Fp8Scaling>(recipe))
    training.fp8_scaling = *scaling;
  else if (const auto precision = from_name<Precision>(recipe))
    training.precision = *precision;
  else
    in_.error(fmt::format("--fp8-recipe: {} is not modelled: {} are",
                          in_quotes(in_.text("fp8-recipe")),
                          legal_words(*megatron_dialect().term("fp8_recipe"))));
}

void MegatronMapper::map_precision() {
  Training& training = out_.job.training;
  training.precision = in_.flag("bf16")   ? Precision::bf16
                       : in_.flag("fp16") ? Precision::fp16
                                          : Precision::fp32;
  if (in_.has("fp8-format") || in_.has("fp8-hybrid") || in_.has("fp8-e4m3")) map_fp8_recipe();
  out_.job.memory.fp8_parameters = in_.flag("fp8-param-gather") || in_.flag("fp8-param");
  in_.accept("reuse-grad-buf-for-mxfp8-param-ag");  // fp8-param-gather of mxfp8 needs it
  if (in_.has("fp4-format")) {
    in_.accept("fp4-format");
    training.precision = Precision::nvfp4;
    const std::string recipe = in_.text("fp4-recipe", "nvfp4");
    if (recipe != "nvfp4")
      in_.error("--fp4-recipe: " + in_quotes(recipe) + " is not modelled: nvfp4 is");
  }
  if (!in_.flag("first-last-layers-bf16") || !quantised(training.precision)) return;
  const int start = in_.integer("num-layers-at-start-in-bf16", 1);
  const int end = in_.integer("num-layers-at-end-in-bf16", 1);
  training.bf16_end_layers = start + end;
  // Half of them are at either end here: as many, but not on the same stages.
  if (start < end || start > end + 1) out_.approximated.emplace_back("num-layers-at-end-in-bf16");
}

void MegatronMapper::map_training() {
  Training& training = out_.job.training;
  map_precision();
  const std::string schedule = in_.text("step-batch-size-schedule");
  std::optional<int> batch = in_.integer("global-batch-size");
  const std::vector<std::string> rampup = in_.words("rampup-batch-size");
  const auto size = [&](const char* name, const std::string& text) {
    const auto parsed = parse_integer(text);
    if (parsed.value && *parsed.value > 0 && *parsed.value <= 100'000'000)
      batch = static_cast<int>(*parsed.value);
    else
      in_.error(std::string("--") + name + ": " + in_quotes(text) + " is not a batch size");
  };
  if (!rampup.empty() && !environment_.final_batch) size("rampup-batch-size", rampup.front());
  if (!schedule.empty()) {
    // "0:384 200B:768": the run starts with the first size.
    const auto colon = environment_.final_batch ? schedule.rfind(':') : schedule.find(':');
    if (colon != std::string::npos)
      size("step-batch-size-schedule",
           schedule.substr(colon + 1, schedule.find(' ', colon) - colon - 1));
  }
  training.global_batch = batch.value_or(0);  // resolved against the data-parallel size later
}

void MegatronMapper::map_parallel() {
  Parallel& parallel = out_.job.parallel;
  // One context rank exchanges nothing, whatever the word.
  if (parallel.context == 1)
    std::erase_if(out_.unmodelled, [](const auto& word) { return word.starts_with("cp-comm"); });
  parallel.expert_tensor = in_.integer("expert-tensor-parallel-size", parallel.tensor);
  const std::int64_t model_ranks = replica_ranks(parallel);
  if (environment_.gpus % model_ranks != 0 || environment_.gpus < model_ranks) {
    in_.error(std::to_string(environment_.gpus) +
              " GPUs are not a multiple of tensor * pipeline * "
              "context = " +
              std::to_string(model_ranks));
    return;
  }
  parallel.data = static_cast<int>(environment_.gpus / model_ranks);
  Training& training = out_.job.training;
  if (training.global_batch == 0) training.global_batch = training.micro_batch * parallel.data;
  if (training.global_batch % (training.micro_batch * parallel.data) != 0)
    in_.error("--global-batch-size " + std::to_string(training.global_batch) +
              " is not a multiple of micro-batch * data");
  const int expert_ranks = parallel.expert * parallel.expert_tensor;
  if (out_.job.model.moe && ProcessGrid{parallel}.stage_ranks() % expert_ranks != 0)
    in_.error("expert * expert-tensor = " + std::to_string(expert_ranks) +
              " does not divide the ranks of a stage");
}

void MegatronMapper::report_rest() {
  for (const std::string_view name : megatron_dialect().keys_of("not_modelled"))
    if (in_.flag(std::string(name))) unmodelled(std::string(name));
  if (in_.has("yaml-cfg"))
    in_.error("--yaml-cfg: names a file that decides the rest; import that file");
  // A layer specification of one's own: only those of GPT are known.
  const std::string spec = in_.text("spec");
  const bool patterned =
      !out_.job.model.layer_pattern.empty() && spec.find("mamba_stack_spec") != std::string::npos;
  if (!spec.empty() && spec != "local" && spec.find("gpt") == std::string::npos && !patterned)
    unmodelled("spec " + spec);
  for (const std::string& name : in_.unread())
    (leaves_memory_alone(name) ? out_.ignored : out_.unknown).push_back(name);
  out_.read = in_.given();
}

std::optional<GraphPart> megatron_graph_part(std::string_view name) {
  return from_name<GraphPart>(meaning_of(*megatron_dialect().term("graph_parts"), name));
}

const std::vector<std::string>& known_megatron_arguments() {
  static const std::vector<std::string> known = [] {
    const MegatronArguments small{{"num-layers", "1"},
                                  {"hidden-size", "8"},
                                  {"num-attention-heads", "1"},
                                  {"seq-length", "8"},
                                  {"micro-batch-size", "1"},
                                  {"num-experts", "1"},
                                  {"multi-latent-attention", "true"}};
    std::vector<std::string> names = MegatronMapper(small, MegatronEnvironment{1, 8, {}}).asked();
    const auto others = megatron_dialect().keys_of("idle");
    names.insert(names.end(), others.begin(), others.end());
    std::ranges::sort(names);
    return names;
  }();
  return known;
}

MegatronMapping map_megatron_arguments(const MegatronArguments& arguments,
                                       const MegatronEnvironment& environment) {
  return MegatronMapper(arguments, environment).run();
}

}  // namespace foretrain
