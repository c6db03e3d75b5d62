// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/run_part.hpp"

#include <array>

namespace foretrain {
namespace {

constexpr auto parts_of_a_run = std::to_array<RunPart>(
    {{&RunSplit::steps, "steps_s", "productive time",
      "Productive time: steps that count, at full speed, in seconds.", "run.ideal_s",
      "@run.ideal_s"},
     {&RunSplit::evaluation, "evaluation_s", "evaluation", "Pauses for evaluation, in seconds.",
      "steps / every_steps x pause", "operations.evaluation @run.steps"},
     {&RunSplit::checkpoints, "checkpoints_s", "checkpoints",
      "Time that checkpoints stop training, in seconds.",
      "training time / run.checkpoint_every_s x run.checkpoint_stall_s",
      "@run.checkpoint_every_s @run.checkpoint_stall_s"},
     {&RunSplit::slow, "slow_s", "stragglers, degraded",
      "What stragglers and parts that are out make steps longer, in seconds.",
      "steps x (1 / mean pace - 1); a straggler's pace is 1 unless some episode is on, which is 1 "
      "- "
      "e^-(lasts / every) of the time; then step / (step + (1 / pace - 1) (compute + recompute)), "
      "or "
      "as played; times that of n parts out, which are Poisson distributed (mean: parts x "
      "degraded_for / every)",
      "operations.fail_slow operations.interruptions.components @step.breakdown.compute_s "
      "@step.breakdown.recompute_s @step.time_s"},
     {&RunSplit::lost, "lost_s", "lost work",
      "Lost work: steps repeated after interruptions, in seconds.",
      "(e^(w / between) - 1) between - w per checkpoint interval of w seconds, and what was not "
      "written yet",
      "@run.checkpoint_every_s @run.between_interruptions_s"},
     {&RunSplit::detection, "detection_s", "detection", "Detection of interruptions, in seconds.",
      "interruptions x operations.recovery.detection", "operations.recovery @run.interruptions"},
     {&RunSplit::restart, "restart_s", "restarts",
      "Rescheduling, loading checkpoints and warming up, in seconds.",
      "interruptions x (reschedule + reload + warm_up), or operations.restart",
      "operations.restart operations.recovery operations.warm_up @run.interruptions"},
     {&RunSplit::planned, "planned_s", "planned stops", "Stops that were announced, in seconds.",
      "run.expected_s / planned_every x (checkpoint + planned_pause + reload + warm-up)",
      "operations.interruptions.planned_every operations.interruptions.planned_pause"},
     {&RunSplit::waiting, "waiting_s", "waiting for hosts",
      "Waiting for hosts: queue, repairs, preempted capacity, in seconds.",
      "operations.queue + preemptions x wait + share of time with more hosts in repair than spares "
      "(Erlang's loss formula)",
      "operations.queue operations.preemption operations.spares"}});
static_assert(parts_of_a_run.size() == run_time_parts.size());

}  // namespace

std::span<const RunPart> run_parts() { return parts_of_a_run; }

}  // namespace foretrain
