// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/plain_torch.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain {

void fill_plain_torch(const PlainTorchRun& run, const PlanImportOptions& options, int host_gpus,
                      ImportedPlan& plan, Diagnostics& diagnostics) {
  Job& job = plan.job;
  Training& training = job.training;
  const auto needs = [&](const char* option, const char* meaning) {
    diagnostics.add(
        run.mark, option,
        fmt::format("is needed: {} leaves {} to code, which is not run", run.decided_by, meaning));
  };
  plan.model = options.model;
  if (plan.model.empty()) needs("--model", "the model");
  if (!options.sequence) needs("--sequence", "the length of rows");
  const auto micro = run.micro_batch ? run.micro_batch : options.micro_batch;
  if (!micro) needs("--micro-batch", "the batch of a GPU");
  const int gpus = gpus_for(run.size, 1, host_gpus, options, plan.notes);
  job.parallel.data = std::max(1, gpus);
  training.sequence = options.sequence.value_or(1);
  training.micro_batch = micro.value_or(1);
  const auto gathered = run.accumulation ? run.accumulation : options.accumulation;
  if (!gathered) plan.notes.assumed.emplace_back("one micro-batch per step (--accumulation)");
  const double batch = 1.0 * training.micro_batch * gathered.value_or(1) * job.parallel.data;
  if (batch > 1e8)
    diagnostics.add(run.mark, "--micro-batch", "gives a global batch above 100,000,000");
  else
    training.global_batch = static_cast<int>(batch);
  const auto precision = run.precision ? run.precision : options.precision;
  training.precision = precision.value_or(Precision::fp32);
  if (!precision) plan.notes.assumed.emplace_back("training in fp32 (--precision)");
  training.vocabulary_multiple = 1;
  job.communication.gradient_dtype = Precision::fp32;
  choose_stack(plan, "fsdp2", "kernels of plain PyTorch, as those that torchtitan runs uncompiled");
}

bool refuse_python(const ImportSource& source, Diagnostics& diagnostics) {
  const bool python = source.name.ends_with(".py") ||
                      source.text.find("\nimport torch") != std::string::npos ||
                      source.text.starts_with("import ");
  if (python)
    diagnostics.add(Mark{std::make_shared<const std::string>(source.name), 1, 1}, "",
                    "is Python, which is not run; what its strategy or trainer launches stands in "
                    "docs/how-to/other-frameworks.md: import the launch line or the YAML, or "
                    "write the plan as a scenario (foretrain init)");
  return python;
}

}  // namespace foretrain
