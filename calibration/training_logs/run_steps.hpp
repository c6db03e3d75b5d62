// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/training_logs/log_file_reader.hpp"
#include "calibration/training_logs/training_log.hpp"

namespace foretrain {

/// The grammar of the run: the first of log_grammars() whose steps the files hold.
[[nodiscard]] std::optional<int> grammar_of_run(const std::vector<LogFile>& files);

/// The name that the files give to the runs of a grammar.
[[nodiscard]] std::string name_of_format(int grammar, const std::vector<LogFile>& files);

/// The name by grammar_signs(), where no steps tell it; empty: nothing does.
[[nodiscard]] std::string name_of_signs(const std::vector<LogFile>& files);

/// Iterations, step times and rates of the run. Where its grammar says no times, those of another
/// one count that the files hold, too.
void read_run_steps(TrainingLog& log, int grammar, const std::vector<LogFile>& files);

/// What a plan does not say is taken from another one.
void fill_plan(LoggedPlan& plan, const LoggedPlan& other);

}  // namespace foretrain
