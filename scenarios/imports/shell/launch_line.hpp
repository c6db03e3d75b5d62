// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/imports/frameworks/imported_plan.hpp"
#include "scenarios/imports/megatron/megatron_arguments.hpp"
#include "scenarios/imports/shell/shell_script.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Cluster size that the words before a training script state: torchrun and torch.distributed
/// (--nnodes, --nproc_per_node), deepspeed (--num_nodes, --num_gpus), srun and sbatch (-N, --nodes,
/// --ntasks-per-node, -n, --gpus-per-node, --gres=gpu:8), mpirun (-np). Values that are no numbers
/// are passed over.
[[nodiscard]] LaunchSize launch_size(const std::vector<std::string>& words);

/// Words of all #SBATCH lines of a script.
[[nodiscard]] std::vector<std::string> directive_words(std::string_view text);

/// Variables by which Slurm tells its jobs what #SBATCH lines asked for.
[[nodiscard]] std::map<std::string, std::string> slurm_variables(const LaunchSize& size);

/// `inner` where it says something, else `outer`.
[[nodiscard]] LaunchSize combined(const LaunchSize& inner, const LaunchSize& outer);

/// Arguments behind a training script: "--name value value" and "--name=value", last one wins.
/// Words that belong to no argument go to `strays`, and so does what the script leaves unknown
/// behind an argument that has its value.
[[nodiscard]] MegatronArguments arguments_of(const std::vector<std::string>& words,
                                             std::vector<std::string>& strays);

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
