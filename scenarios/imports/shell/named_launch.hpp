// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/imports/frameworks/imported_plan.hpp"
#include "scenarios/imports/shell/shell_script.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// A command of a script that starts what a reader looks for.
struct NamedLaunch {
  std::vector<std::string> words;   ///< behind the training script, or all of them without one
  std::vector<std::string> before;  ///< the launcher's own
  std::map<std::string, std::string> variables;  ///< of the script at its end, arrays apart
  LaunchSize size;                               ///< of the launcher and of #SBATCH lines
  Mark mark;                                     ///< of the command
  std::vector<std::string> assumed;              ///< sentences
};

/// Follows a script (shell_script.hpp) and takes its last command that `wanted` says yes to.
/// Nothing after reporting what cannot be read, or that there is none: `missing` says what is.
[[nodiscard]] std::optional<NamedLaunch> find_launch(
    const ImportSource& source, const PlanImportOptions& options,
    const std::function<bool(const std::vector<std::string>&)>& wanted, const std::string& missing,
    Diagnostics& diagnostics);

}  // namespace foretrain
