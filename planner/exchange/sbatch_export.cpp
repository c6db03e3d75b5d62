// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "planner/exchange/exports.hpp"
#include "planner/exchange/megatron_export.hpp"
#include "planner/forecast/search_limits.hpp"
#include "planner/sweep/sweep_report.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

/// Time to start, compile and load a checkpoint, and doubt about the forecast.
constexpr double margin = 1.10;
constexpr double start_s = 900.0;

struct Limit {
  long long minutes = 0;
  std::string sentence;
};

/// The run's 90th percentile where the scenario tells of failures, else the slow end of the step's
/// band over all steps; both with the margin.
Limit time_limit(const Prediction& prediction, ExportBook& book) {
  const RunForecast& run = prediction.run;
  double seconds = 0.0;
  std::string what;
  if (run.p90) {
    seconds = run.p90->value();
    what = "the 90th percentile of the run with its interruptions";
  } else if (run.ideal && run_duration(prediction) && prediction.step &&
             prediction.step->time.value() > 0.0) {
    seconds = run.ideal->value() * prediction.step->high.value() / prediction.step->time.value();
    what = "all steps at the slow end of the forecast's band, without interruptions";
  } else {
    book.refuse("a time limit, as the scenario has no training.tokens (or does not fit)");
    return {};
  }
  const double total = seconds * margin + start_s;
  return {static_cast<long long>(std::ceil(total / 60.0)),
          fmt::format("{}: {:.1f} h, plus {:.0f} %, plus {:.0f} min to start", what,
                      seconds / 3600.0, 100.0 * (margin - 1.0), start_s / 60.0)};
}

std::string slurm_time(long long minutes) {
  const long long days = minutes / 1440;
  const std::string clock = fmt::format("{:02}:{:02}:00", minutes % 1440 / 60, minutes % 60);
  return days > 0 ? fmt::format("{}-{}", days, clock) : clock;
}

/// Job names end in file names and lists.
std::string job_name(const std::string& name) {
  std::string result;
  for (const char c : name.substr(0, 60)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    result += plain || c == '.' || c == '-' || c == '_' ? c : '-';
  }
  return result.empty() ? "foretrain" : result;
}

}  // namespace

Exported export_sbatch(const Scenario& scenario, const Prediction& prediction) {
  const Job& job = scenario.job;
  ExportBook book("sbatch");
  if (!prediction.feasible())
    throw CannotRun("sbatch: the plan cannot run: " + prediction.reasons.front().message);
  const Limit limit = time_limit(prediction, book);
  const std::vector<std::string> words = megatron_words(job, book);
  book.check();
  const Cluster& cluster = job.cluster;
  book.leave_out(
      fmt::format("the fabric, {} {}", name_of(cluster.network.kind), cluster.network.preset));
  std::string text = fmt::format(
      "#!/bin/bash\n#SBATCH --job-name={}\n#SBATCH --nodes={}\n#SBATCH --ntasks-per-node=1\n"
      "#SBATCH --gres=gpu:{}\n#SBATCH --exclusive\n#SBATCH --time={}\n",
      job_name(job.name), cluster.hosts, cluster.host.gpus, slurm_time(limit.minutes));
  if (cluster.segment_hosts() > 1)  // topology/block keeps so many nodes in one NVLink domain
    text += fmt::format("#SBATCH --segment={}\n", cluster.segment_hosts());
  text += export_comments(scenario, book);
  text += "# Time limit: " + limit.sentence + ". A longer limit than the partition's needs\n" +
          "# checkpoints and --requeue.\n";
  text +=
      "set -euo pipefail\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n"
      "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
      "export MASTER_ADDR\nMODEL_ARGS=(\n";
  for (const std::string& word : words) text += "  " + word + "\n";
  text += fmt::format(
      ")\nsrun torchrun --nnodes {} --nproc_per_node {} --rdzv_backend c10d \\\n"
      "  --rdzv_endpoint \"$MASTER_ADDR:6000\" \\\n"
      "  {} \"${{MODEL_ARGS[@]}}\" ${{MORE_ARGS:-}} \"$@\"\n",
      cluster.hosts, cluster.host.gpus, megatron_program(job.model));
  return {std::move(text), book.left_out()};
}

}  // namespace foretrain
