// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate/validations.hpp"

#include <utility>

#include "calibration/cases/step_case.hpp"

namespace foretrain {

std::vector<RecordCheck> check_run_steps(const std::vector<RunRecord>& records,
                                         const RunCatalog& catalog) {
  std::vector<RecordCheck> checks;
  for (const RunRecord& record : records) {
    if (record.trains() && !record.tells_speed()) continue;
    StepRun run = step_run(record, catalog);
    predict(run);
    tell_unknown(run);
    checks.push_back(std::move(run.check));
  }
  return checks;
}

}  // namespace foretrain
