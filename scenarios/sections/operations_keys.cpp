// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/sections.hpp"

#include <utility>

#include "scenarios/sections/operations_fields.hpp"

namespace foretrain {
namespace {

namespace kind = operations_field;
using keys::always;
using keys::bind;
using keys::group;
using keys::with_default;

KeyRows rate_keys() {
  return {
      group("operations",
            "Facts of running the cluster; what is left out stays unknown in the forecast."),
      bind(kind::positive(
               "operations.mean_time_between_interruptions", Dimension::time,
               "Average time from one interruption of the job to the next, all GPUs together.",
               "3.1 h"),
           &Operations::mean_time_between_interruptions),
      group("operations.interruptions",
            "How often the job is interrupted without warning, where that is known per part: one "
            "of the forms below instead of mean_time_between_interruptions."),
      bind(kind::number("operations.interruptions.per_gpu_hour", "Interruptions per GPU and hour.",
                        "0.0000197"),
           &Operations::interruptions, &InterruptionFacts::per_gpu_hour),
      bind(kind::number("operations.interruptions.per_1000_node_days",
                        "Interruptions per thousand hosts and day.", "6.5"),
           &Operations::interruptions, &InterruptionFacts::per_1000_node_days),
  };
}

KeyRows component_keys() {
  return keys::list_of(
      "operations.interruptions.components",
      "Parts that fail by themselves; one failing stops the job, unless it says degraded_for.",
      KeyRows{
          always(kind::due({.path = "operations.interruptions.components[].name",
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
          bind(kind::positive(
                   "operations.interruptions.components[].degraded_for", Dimension::time,
                   "Mean time until one is repaired, if the job runs on without it, slower; "
                   "left out, its failure stops the job.",
                   "4 h"),
               &ComponentFailures::degraded_for),
          bind(kind::share("operations.interruptions.components[].pace",
                           "Speed of the job meanwhile, however many are out; 1 is full "
                           "speed. Left out, goodput --engine event plays it for NICs and "
                           "switches.",
                           "0.97"),
               &ComponentFailures::pace)},
      &Operations::interruptions, &InterruptionFacts::components);
}

KeyRows curve_keys() {
  return keys::list_of(
      "operations.interruptions.curve",
      "Measured time between interruptions by job size; large jobs fail more often than "
      "their hosts' rate says.",
      KeyRows{
          always(kind::due(kind::integer("operations.interruptions.curve[].gpus",
                                         "Size of the job.", "1024", 1)),
                 &InterruptionPoint::gpus),
          always(kind::due(kind::positive("operations.interruptions.curve[].every", Dimension::time,
                                          "Its mean time between interruptions.", "7.9 h")),
                 &InterruptionPoint::every)},
      &Operations::interruptions, &InterruptionFacts::curve);
}

KeyRows trace_keys() {
  return keys::list_of(
      "operations.interruptions.trace",
      "Interruptions of a recorded run, repeated in random order.",
      KeyRows{
          always(kind::due(kind::positive("operations.interruptions.trace[].at", Dimension::time,
                                          "Time after the start of the record.", "3.2 h")),
                 &Outage::at),
          bind(kind::time("operations.interruptions.trace[].down",
                          "From this one to training again; left out, as `recovery`.", "40 min"),
               &Outage::down)},
      &Operations::interruptions, &InterruptionFacts::trace);
}

KeyRows record_and_plan_keys() {
  return {
      {{.path = "operations.interruptions.trace_file",
        .help = "The same as a CSV file with the columns at,down (times with units), relative to "
                "this file.",
        .example = "interruptions.csv"}},
      bind(kind::positive(
               "operations.interruptions.planned_every", Dimension::time,
               "Time between stops that are announced, so that a checkpoint is taken first.",
               "1.1 d"),
           &Operations::interruptions, &InterruptionFacts::planned_every),
      bind(kind::time("operations.interruptions.planned_pause",
                      "How long such a stop takes until the checkpoint is loaded.", "20 min"),
           &Operations::interruptions, &InterruptionFacts::planned_pause),
  };
}

KeyRows recovery_keys() {
  return {
      bind(
          kind::time("operations.restart",
                     "From an interruption to training again: detection, rescheduling, loading the "
                     "checkpoint.",
                     "10 min"),
          &Operations::restart),
      group("operations.recovery", "The same part by part, instead of `restart`."),
      bind(kind::time("operations.recovery.detection", "Until the interruption is detected.",
                      "3 min"),
           &Operations::recovery, &RecoveryFacts::detection),
      bind(kind::time("operations.recovery.reschedule",
                      "Until hosts are chosen and processes run again.", "5 min"),
           &Operations::recovery, &RecoveryFacts::reschedule),
      bind(kind::time("operations.recovery.reload",
                      "Until the checkpoint is in GPU memory; left out, its size over "
                      "checkpoint.read_bandwidth.",
                      "2 min"),
           &Operations::recovery, &RecoveryFacts::reload),
      bind(kind::time("operations.warm_up",
                      "Lost at every start, beyond the restart, until steps run at full speed.",
                      "1 min"),
           &Operations::warm_up),
      group("operations.spares", "Hosts that replace failed ones; left out, one is always there."),
      bind(kind::integer("operations.spares.hosts", "How many stand ready for this job.", "16", 0),
           &Operations::spares, &SpareFacts::hosts),
      bind(kind::positive("operations.spares.repair", Dimension::time,
                          "Mean time until a host that was taken out is back.", "2 d"),
           &Operations::spares, &SpareFacts::repair),
      with_default(kind::share("operations.spares.share",
                               "Part of the interruptions that take a host out.", "0.78"),
                   &Operations::spares, &SpareFacts::share),
  };
}

KeyRows slow_and_taken_keys() {
  return {
      group("operations.fail_slow",
            "Hosts that become slow without failing (stragglers): all ranks wait for them."),
      bind(kind::positive("operations.fail_slow.every", Dimension::time,
                          "Mean time between two such episodes anywhere in the job.", "2 d"),
           &Operations::fail_slow, &FailSlowFacts::every),
      bind(kind::number("operations.fail_slow.per_1000_node_days",
                        "The same per thousand hosts and day.", "1.5"),
           &Operations::fail_slow, &FailSlowFacts::per_1000_node_days),
      bind(kind::share("operations.fail_slow.pace",
                       "Speed of the straggler's kernels; 1 is full speed.", "0.8"),
           &Operations::fail_slow, &FailSlowFacts::pace),
      bind(kind::positive("operations.fail_slow.lasts", Dimension::time,
                          "Mean time until an episode is found or over.", "72 min"),
           &Operations::fail_slow, &FailSlowFacts::lasts),
      with_default(
          kind::flag("operations.fail_slow.restart",
                     "Each episode ends in a restart without the slow host, after a checkpoint."),
          &Operations::fail_slow, &FailSlowFacts::restart),
      group("operations.preemption", "Spot capacity that is taken away and given back."),
      bind(kind::positive("operations.preemption.every", Dimension::time,
                          "Mean time between two losses.", "8 h"),
           &Operations::preemption, &PreemptionFacts::every),
      bind(kind::time("operations.preemption.notice",
                      "Warning ahead of each: one that suffices for a checkpoint saves the work.",
                      "2 min"),
           &Operations::preemption, &PreemptionFacts::notice),
      bind(kind::time("operations.preemption.wait", "Until capacity is back.", "30 min"),
           &Operations::preemption, &PreemptionFacts::wait),
      bind(kind::time("operations.queue", "Wait before the job first starts.", "6 h"),
           &Operations::queue),
      bind(kind::positive(
               "operations.deadline", Dimension::time,
               "The run must end this long after submission; the forecast gives the probability.",
               "60 d"),
           &Operations::deadline),
  };
}

}  // namespace

const BoundTable<Operations>& operations_keys() {
  static const BoundTable<Operations> table(
      "operations", joined_rows({rate_keys(), component_keys(), curve_keys(), trace_keys(),
                                 record_and_plan_keys(), recovery_keys(), slow_and_taken_keys(),
                                 operations_upkeep_keys()}));
  return table;
}

}  // namespace foretrain
