// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/imports/frameworks/imported_plan.hpp"
#include "scenarios/imports/megatron/megatron_arguments.hpp"

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

}  // namespace foretrain
