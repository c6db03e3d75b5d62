// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/sections.hpp"

#include <utility>

#include "scenarios/sections/operations_fields.hpp"

namespace foretrain {
namespace {

namespace kind = operations_field;
using section::always;
using section::group;
using section::left_out;
using section::with_default;

std::vector<SectionKey<Operations>> rate_keys() {
  return {
      group<Operations>(
          "operations",
          "Facts of running the cluster; what is left out stays unknown in the forecast."),
      left_out(kind::positive(
                   "operations.mean_time_between_interruptions", Dimension::time,
                   "Average time from one interruption of the job to the next, all GPUs together.",
                   "3.1 h"),
               &Operations::mean_time_between_interruptions),
      group<Operations>(
          "operations.interruptions",
          "How often the job is interrupted without warning, where that is known per part: one "
          "of the forms below instead of mean_time_between_interruptions."),
      left_out(kind::number("operations.interruptions.per_gpu_hour",
                            "Interruptions per GPU and hour.", "0.0000197"),
               &Operations::interruptions, &InterruptionFacts::per_gpu_hour),
      left_out(kind::number("operations.interruptions.per_1000_node_days",
                            "Interruptions per thousand hosts and day.", "6.5"),
               &Operations::interruptions, &InterruptionFacts::per_1000_node_days),
  };
}

std::vector<SectionKey<Operations>> component_keys() {
  return section::list_of(
      "operations.interruptions.components",
      "Parts that fail by themselves; one failing stops the job, unless it says degraded_for.",
      section::Elements<ComponentFailures>{
          {always(kind::due({.path = "operations.interruptions.components[].name",
                             .help = "What reports call it.",
                             .example = "hbm"}),
                  &ComponentFailures::name),
           always(kind::due({.path = "operations.interruptions.components[].per",
                             .help = "How many there are: one per GPU, NIC, host, NVSwitch domain "
                                     "(a rack, or a host), switch of the network, or job.",
                             .example = "gpu"}),
                  &ComponentFailures::per),
           always(kind::due(
                      kind::positive("operations.interruptions.components[].every", Dimension::time,
                                     "Mean time between failures of one such part.", "50000 h")),
                  &ComponentFailures::every),
           left_out(kind::positive(
                        "operations.interruptions.components[].degraded_for", Dimension::time,
                        "Mean time until one is repaired, if the job runs on without it, slower; "
                        "left out, its failure stops the job.",
                        "4 h"),
                    &ComponentFailures::degraded_for),
           left_out(kind::share("operations.interruptions.components[].pace",
                                "Speed of the job meanwhile, however many are out; 1 is full "
                                "speed. Left out, goodput --engine event plays it for NICs and "
                                "switches.",
                                "0.97"),
                    &ComponentFailures::pace)}},
      &Operations::interruptions, &InterruptionFacts::components);
}

std::vector<SectionKey<Operations>> curve_keys() {
  return section::list_of(
      "operations.interruptions.curve",
      "Measured time between interruptions by job size; large jobs fail more often than "
      "their hosts' rate says.",
      section::Elements<InterruptionPoint>{
          {always(kind::due(kind::integer("operations.interruptions.curve[].gpus",
                                          "Size of the job.", "1024", 1)),
                  &InterruptionPoint::gpus),
           always(
               kind::due(kind::positive("operations.interruptions.curve[].every", Dimension::time,
                                        "Its mean time between interruptions.", "7.9 h")),
               &InterruptionPoint::every)}},
      &Operations::interruptions, &InterruptionFacts::curve);
}

std::vector<SectionKey<Operations>> trace_keys() {
  return section::list_of(
      "operations.interruptions.trace",
      "Interruptions of a recorded run, repeated in random order.",
      section::Elements<Outage>{
          {always(kind::due(kind::positive("operations.interruptions.trace[].at", Dimension::time,
                                           "Time after the start of the record.", "3.2 h")),
                  &Outage::at),
           left_out(
               kind::time("operations.interruptions.trace[].down",
                          "From this one to training again; left out, as `recovery`.", "40 min"),
               &Outage::down)}},
      &Operations::interruptions, &InterruptionFacts::trace);
}

std::vector<SectionKey<Operations>> record_and_plan_keys() {
  return {
      {{.path = "operations.interruptions.trace_file",
        .help = "The same as a CSV file with the columns at,down (times with units), relative to "
                "this file.",
        .example = "interruptions.csv"}},
      left_out(kind::positive(
                   "operations.interruptions.planned_every", Dimension::time,
                   "Time between stops that are announced, so that a checkpoint is taken first.",
                   "1.1 d"),
               &Operations::interruptions, &InterruptionFacts::planned_every),
      left_out(kind::time("operations.interruptions.planned_pause",
                          "How long such a stop takes until the checkpoint is loaded.", "20 min"),
               &Operations::interruptions, &InterruptionFacts::planned_pause),
  };
}

std::vector<SectionKey<Operations>> recovery_keys() {
  return {
      left_out(
          kind::time("operations.restart",
                     "From an interruption to training again: detection, rescheduling, loading the "
                     "checkpoint.",
                     "10 min"),
          &Operations::restart),
      group<Operations>("operations.recovery", "The same part by part, instead of `restart`."),
      left_out(kind::time("operations.recovery.detection", "Until the interruption is detected.",
                          "3 min"),
               &Operations::recovery, &RecoveryFacts::detection),
      left_out(kind::time("operations.recovery.reschedule",
                          "Until hosts are chosen and processes run again.", "5 min"),
               &Operations::recovery, &RecoveryFacts::reschedule),
      left_out(kind::time("operations.recovery.reload",
                          "Until the checkpoint is in GPU memory; left out, its size over "
                          "checkpoint.read_bandwidth.",
                          "2 min"),
               &Operations::recovery, &RecoveryFacts::reload),
      left_out(kind::time("operations.warm_up",
                          "Lost at every start, beyond the restart, until steps run at full speed.",
                          "1 min"),
               &Operations::warm_up),
      group<Operations>("operations.spares",
                        "Hosts that replace failed ones; left out, one is always there."),
      left_out(
          kind::integer("operations.spares.hosts", "How many stand ready for this job.", "16", 0),
          &Operations::spares, &SpareFacts::hosts),
      left_out(kind::positive("operations.spares.repair", Dimension::time,
                              "Mean time until a host that was taken out is back.", "2 d"),
               &Operations::spares, &SpareFacts::repair),
      with_default(kind::share("operations.spares.share",
                               "Part of the interruptions that take a host out.", "0.78"),
                   &Operations::spares, &SpareFacts::share),
  };
}

std::vector<SectionKey<Operations>> slow_and_taken_keys() {
  return {
      group<Operations>(
          "operations.fail_slow",
          "Hosts that become slow without failing (stragglers): all ranks wait for them."),
      left_out(kind::positive("operations.fail_slow.every", Dimension::time,
                              "Mean time between two such episodes anywhere in the job.", "2 d"),
               &Operations::fail_slow, &FailSlowFacts::every),
      left_out(kind::number("operations.fail_slow.per_1000_node_days",
                            "The same per thousand hosts and day.", "1.5"),
               &Operations::fail_slow, &FailSlowFacts::per_1000_node_days),
      left_out(kind::share("operations.fail_slow.pace",
                           "Speed of the straggler's kernels; 1 is full speed.", "0.8"),
               &Operations::fail_slow, &FailSlowFacts::pace),
      left_out(kind::positive("operations.fail_slow.lasts", Dimension::time,
                              "Mean time until an episode is found or over.", "72 min"),
               &Operations::fail_slow, &FailSlowFacts::lasts),
      with_default(
          kind::flag("operations.fail_slow.restart",
                     "Each episode ends in a restart without the slow host, after a checkpoint."),
          &Operations::fail_slow, &FailSlowFacts::restart),
      group<Operations>("operations.preemption",
                        "Spot capacity that is taken away and given back."),
      left_out(kind::positive("operations.preemption.every", Dimension::time,
                              "Mean time between two losses.", "8 h"),
               &Operations::preemption, &PreemptionFacts::every),
      left_out(
          kind::time("operations.preemption.notice",
                     "Warning ahead of each: one that suffices for a checkpoint saves the work.",
                     "2 min"),
          &Operations::preemption, &PreemptionFacts::notice),
      left_out(kind::time("operations.preemption.wait", "Until capacity is back.", "30 min"),
               &Operations::preemption, &PreemptionFacts::wait),
      left_out(kind::time("operations.queue", "Wait before the job first starts.", "6 h"),
               &Operations::queue),
      left_out(
          kind::positive(
              "operations.deadline", Dimension::time,
              "The run must end this long after submission; the forecast gives the probability.",
              "60 d"),
          &Operations::deadline),
  };
}

}  // namespace

const SectionTable<Operations>& operations_keys() {
  static const SectionTable<Operations> table(section::joined<Operations>(
      {rate_keys(), component_keys(), curve_keys(), trace_keys(), record_and_plan_keys(),
       recovery_keys(), slow_and_taken_keys(), operations_upkeep_keys()}));
  return table;
}

}  // namespace foretrain
