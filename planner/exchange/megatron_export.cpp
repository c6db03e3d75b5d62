// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/exchange/exports.hpp"
#include "planner/exchange/megatron_hybrid_words.hpp"

namespace foretrain {

Exported export_megatron(const Scenario& scenario) {
  const Job& job = scenario.job;
  ExportBook book("Megatron-LM");
  leave_out_machine(job, book);
  refuse_fine_tuning(job, book);
  const std::vector<std::string> words = megatron_words(job, book);
  book.check();
  std::string text = "#!/bin/bash\n" + export_comments(scenario, book) +
                     "set -euo pipefail\n"
                     "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
                     "LAUNCH_ARGS=(\n";
  text += fmt::format("  --nnodes {}\n  --nproc_per_node {}\n", job.cluster.hosts,
                      job.cluster.host.gpus);
  text +=
      "  --node_rank \"${NODE_RANK:-0}\"\n"
      "  --master_addr \"${MASTER_ADDR:-localhost}\"\n"
      "  --master_port \"${MASTER_PORT:-6000}\"\n"
      ")\nMODEL_ARGS=(\n";
  for (const std::string& word : words) text += "  " + word + "\n";
  text += fmt::format(
      ")\n"
      "# Data, learning rate and checkpoints are yours: append them, or set MORE_ARGS.\n"
      "torchrun \"${{LAUNCH_ARGS[@]}}\" {} \"${{MODEL_ARGS[@]}}\" ${{MORE_ARGS:-}} \"$@\"\n",
      megatron_program(job.model));
  return {std::move(text), book.left_out()};
}

}  // namespace foretrain
