// SPDX-License-Identifier: Apache-2.0
#include "calibration/diagnosis/setting_difference.hpp"

#include <array>
#include <optional>

namespace foretrain {

std::string recompute_word(const Job& job) {
  return std::string(name_of(job.memory.recompute.kind));
}

std::vector<SettingDifference> setting_differences(const LoggedPlan& log, const Job& job) {
  struct Row {
    const char* key;
    std::optional<int> said;
    int planned;
  };
  const Parallel& plan = job.parallel;
  const LlmShape& model = job.model;
  // Of a log that names no context ranks, replicas are what tensor and pipeline ranks leave.
  const int data = log.context ? plan.data : plan.data * plan.context;
  const auto rows = std::to_array<Row>({
      {"cluster.gpus", log.gpus, plan.gpus()},
      {"parallel.tensor", log.tensor, plan.tensor},
      {"parallel.pipeline", log.pipeline, plan.pipeline},
      {"parallel.data", log.data, data},
      {"parallel.context", log.context, plan.context},
      {"parallel.expert", log.expert, plan.expert},
      {"training.micro_batch", log.micro_batch, job.training.micro_batch},
      {"training.global_batch", log.global_batch, job.training.global_batch},
      {"training.sequence", log.sequence, job.training.sequence},
      {"model.layers", log.layers, model.layers},
      {"model.hidden", log.hidden, model.hidden},
      {"model.heads", log.heads, model.heads},
  });
  std::vector<SettingDifference> differences;
  for (const Row& row : rows)
    if (row.said && *row.said != row.planned)
      differences.push_back({row.key, std::to_string(*row.said), std::to_string(row.planned)});
  const std::string precision(name_of(job.training.precision));
  // A log says fp8 of any recipe in eight bits.
  const bool alike = precision == log.precision ||
                     (log.precision == "fp8" && precision.find("fp8") != std::string::npos);
  if (!log.precision.empty() && !alike)
    differences.push_back({"training.precision", log.precision, precision});
  return differences;
}

Job with_batch_of(const LoggedPlan& log, Job job) {
  Training& training = job.training;
  training.micro_batch = log.micro_batch.value_or(training.micro_batch);
  training.global_batch = log.global_batch.value_or(training.global_batch);
  training.sequence = log.sequence.value_or(training.sequence);
  return job;
}

}  // namespace foretrain
