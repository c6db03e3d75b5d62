// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// What a launcher of plain PyTorch says of the batch; what it leaves to code the user says
/// (PlanImportOptions::micro_batch, accumulation, sequence, model, precision).
struct PlainTorchRun {
  LaunchSize size;
  std::optional<int> micro_batch;
  std::optional<int> accumulation;
  std::optional<Precision> precision;
  std::string decided_by;  ///< what leaves the rest to code: "Horovod"
  Mark mark;
};

/// Fills a plan's model, sequence, batch, precision and data-parallel degree, for the stack of
/// plain PyTorch. Reports everything that nothing says.
void fill_plain_torch(const PlainTorchRun& run, const PlanImportOptions& options, int host_gpus,
                      ImportedPlan& plan, Diagnostics& diagnostics);

/// Refuses a Python source, with what to do instead. True when it is one.
bool refuse_python(const ImportSource& source, Diagnostics& diagnostics);

}  // namespace foretrain
