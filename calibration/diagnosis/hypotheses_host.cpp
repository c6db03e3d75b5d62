// SPDX-License-Identifier: Apache-2.0
// Causes on the hosts: what drives the GPUs, feeds them, and interrupts them.
#include <fmt/format.h>

#include <array>

#include "calibration/diagnosis/hypothesis.hpp"

namespace foretrain {
namespace {

std::vector<Variation> host_bound(const DiagnosisCase& of) {
  std::vector<Variation> all;
  for (const double factor : {1.5, 2.0, 3.0, 4.0, 6.0, 10.0}) {
    Job job = of.job;
    job.stack.times.launch_forward *= factor;
    job.stack.times.launch_backward *= factor;
    for (Variation& one :
         variation_of(job, fmt::format("launches take {:.3g} times as long", factor)))
      if (one.run.step > 1.01 * of.expected.step) all.push_back(std::move(one));
  }
  return all;
}

std::vector<Variation> data_loading(const DiagnosisCase& of) {
  std::vector<Variation> all;
  for (const double share : {0.05, 0.1, 0.2, 0.35, 0.6, 1.0}) {
    Variation one{fmt::format("{} % of the forecast", 100.0 * share), of.expected};
    const double wait = share * of.expected.step;
    one.run.step += wait;
    one.run.sections[LogSection::input].least += wait;
    one.run.sections[LogSection::input].most += wait;
    all.push_back(std::move(one));
  }
  return all;
}

/// The median step stays as it is.
std::vector<Variation> pauses_alone(const DiagnosisCase& of) { return {{"", of.expected}}; }

constexpr std::array launch_signs{SignRate{Sign::gpus_idle, 0.9}, SignRate{Sign::wide_spread, 0.3}};
constexpr std::array loading_signs{SignRate{Sign::irregular_stalls, 0.4},
                                   SignRate{Sign::wide_spread, 0.5},
                                   SignRate{Sign::gpus_idle, 0.6}};
constexpr std::array checkpoint_signs{SignRate{Sign::checkpoint_pauses, 0.98}};
constexpr std::array collection_signs{SignRate{Sign::periodic_stalls, 0.95},
                                      SignRate{Sign::collections, 0.3}};

constexpr std::array host_causes{
    Hypothesis{"host-bound", "The processor launches kernels too slowly", 0.05, host_bound,
               launch_signs,
               "GPU utilisation (nvidia-smi dmon, --log-straggler) or gaps between kernels in a "
               "trace; a larger micro-batch then costs nothing"},
    Hypothesis{"data-loading", "Steps wait for their data", 0.07, data_loading, loading_signs,
               "the batch-generator timer (--timing-log-level 2), or a run on mock data "
               "(--mock-data)"},
    Hypothesis{"checkpoint-stalls", "Training stands still while checkpoints are written", 0.04,
               pauses_alone, checkpoint_signs,
               "the save-checkpoint timer; asynchronous saving (--async-save)",
               [](const RunCourse& course) { return course.lost_at_checkpoints(); }},
    Hypothesis{
        "garbage-collection", "Python collects garbage at equal distances", 0.03, pauses_alone,
        collection_signs, "--manual-gc --manual-gc-interval N moves the slow steps to every Nth",
        [](const RunCourse& course) { return course.period ? course.lost_in_slow_steps() : 0.0; }},
};

}  // namespace

std::span<const Hypothesis> host_hypotheses() { return host_causes; }

}  // namespace foretrain
