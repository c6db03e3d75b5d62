// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/sections.hpp"

namespace foretrain {
namespace {

Field memory_of_gpu(const char* path, const char* help) {
  return {.path = path,
          .help = std::string("Most memory of any GPU: ") + help,
          .example = "61.5 GiB",
          .min = 0,
          .above_min = true};
}

}  // namespace

const BoundTable<Job>& measured_keys() {
  using keys::bind;
  static const BoundTable<Job> table(
      "measured",
      {{{.path = "measured",
         .kind = FieldKind::group,
         .help = "What was measured of a run with these settings: reports show it beside the "
                 "forecast, which does not read it."}},
       bind({.path = "measured.step_time",
             .help = "Mean or median time of a step.",
             .example = "7.1 s",
             .min = 0,
             .above_min = true},
            &Job::measured, &RunMeasurements::step),
       bind({.path = "measured.tokens_per_second",
             .kind = FieldKind::quantity,
             .help = "Tokens that all GPUs together train on in a second.",
             .example = "58 k",
             .dimension = Dimension::count,
             .min = 0,
             .above_min = true},
            &Job::measured, &RunMeasurements::tokens_per_s),
       bind(memory_of_gpu("measured.memory_allocated",
                          "of its tensors (torch.cuda.max_memory_allocated)."),
            &Job::measured, &RunMeasurements::allocated),
       bind(memory_of_gpu("measured.memory_reserved",
                          "with what the allocator keeps (torch.cuda.max_memory_reserved)."),
            &Job::measured, &RunMeasurements::reserved),
       bind(memory_of_gpu("measured.memory_device", "in all, as nvidia-smi shows it."),
            &Job::measured, &RunMeasurements::device)});
  return table;
}

}  // namespace foretrain
