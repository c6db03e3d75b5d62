// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/huggingface_plan.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "scenarios/huggingface/huggingface.hpp"

namespace foretrain {
namespace {

constexpr int usual_sequence = 4096;

/// A file called config.json lies in a folder that is named like its model.
std::string name_of(const std::string& file) {
  const std::filesystem::path path(file);
  std::string stem = path.stem().string();
  if (stem != "config") return stem;
  const std::string folder = std::filesystem::absolute(path).parent_path().filename().string();
  return folder.empty() ? stem : folder;
}

}  // namespace

ImportedScenario plan_of_huggingface(const ImportSource& source, const PlanImportOptions& options) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(source.text, source.name, YamlLimits{}, diagnostics);
  const std::string name = name_of(source.name);
  const auto model =
      root ? import_huggingface(*root, name, diagnostics) : std::optional<HuggingFaceModel>{};
  const auto per_host = host_gpus(options, diagnostics);
  diagnostics.throw_if_any();
  ImportedPlan plan;
  plan.job.name = name;
  plan.job.model = model->shape;
  for (const ResolvedValue& value : model->values) plan.notes.read.push_back(value.path);
  plan.notes.ignored = model->ignored;
  plan.notes.approximated = model->unknown;
  plan.notes.assumed = model->assumed;
  const int gpus = gpus_for({}, 1, *per_host, options, plan.notes);
  const int longest = model->shape.positions > 0 ? model->shape.positions : usual_sequence;
  Training& training = plan.job.training;
  training.sequence = options.sequence.value_or(std::min(longest, usual_sequence));
  training.global_batch = gpus;
  plan.job.parallel.data = gpus;
  plan.job.parallel.zero = 1;
  choose_stack(plan, "megatron-core",
               "today's Megatron-Core with Transformer Engine: a model's configuration names no "
               "framework (--set stack=fsdp2 takes torchtitan)");
  plan.notes.assumed.push_back(
      fmt::format("{} replicas with ZeRO-1, one sequence of {} tokens each (--set, --sequence)",
                  gpus, training.sequence));
  return finish_import(std::move(plan), source, options, diagnostics);
}

}  // namespace foretrain
