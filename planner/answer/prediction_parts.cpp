// SPDX-License-Identifier: Apache-2.0

#include "planner/answer/prediction_parts.hpp"

#include <array>

namespace foretrain {
namespace {

constexpr std::string_view stage_plan =
    "model parallel.tensor parallel.sequence parallel.pipeline parallel.virtual_stages "
    "parallel.data parallel.zero training.precision";

constexpr auto categories = std::to_array<MemoryPart>(
    {{&StageMemory::weights, "weights", 'W', palette::blue, true,
      "Resident weights of one GPU, in bytes.",
      "parameters of the stage / tensor x bytes per weight (a tied or untied embedding on the end "
      "stages); sharded over data ranks under ZeRO-3",
      stage_plan},
     {&StageMemory::gradients, "gradients", 'G', palette::purple, true,
      "Resident gradients of one GPU, in bytes.",
      "parameters of the stage / tensor x bytes per gradient; sharded over data ranks from ZeRO-2",
      stage_plan},
     {&StageMemory::optimizer, "optimizer", 'O', palette::green, true,
      "Master weights and moments of one GPU, in bytes.",
      "parameters of the stage / tensor x bytes of optimizer state; sharded over data ranks from "
      "ZeRO-1",
      "model parallel.tensor parallel.pipeline parallel.data parallel.zero training.optimizer"},
     {&StageMemory::activations, "activations", 'A', palette::orange, true,
      "Tensors kept for the backward pass at the stage's peak, in bytes.",
      "bytes kept per layer and micro-batch x layers x micro-batches in flight (1F1B: stages - "
      "stage), plus embedding or loss on the end stages",
      "model training.sequence training.micro_batch parallel.tensor parallel.sequence "
      "parallel.pipeline parallel.schedule memory.recompute memory.attention"},
     {&StageMemory::buffers, "buffers", 'B', palette::yellow, true,
      "Temporary buffers and workspaces, in bytes.",
      "cuBLAS and Transformer Engine workspaces, transient tensors of one layer, gathered tensors",
      "stack training.micro_batch training.sequence"},
     {&StageMemory::communication, "communication", 'C', palette::sky, false,
      "Buffers of the communication library, in bytes.",
      "communicators of the rank x bytes per communicator",
      "parallel.tensor parallel.pipeline parallel.data communication.backend"},
     {&StageMemory::context, "context", 'X', palette::grey, false,
      "CUDA context and loaded kernels, in bytes.", "constant of the stack", "stack"},
     {&StageMemory::fragmentation, "fragmentation", 'F', palette::vermilion, false,
      "Memory that the caching allocator cannot use.",
      "allocated_bytes x (reserved over allocated - 1)", "stack @memory.peak_stage"}});

}  // namespace

std::span<const MemoryPart> memory_parts() { return categories; }

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

namespace {

using enum ConstantSource;

constexpr std::string_view plan =
    "parallel.tensor parallel.sequence parallel.context parallel.pipeline parallel.virtual_stages "
    "parallel.data training.micro_batch training.global_batch";

constexpr auto parts = std::to_array<StepPart>(
    {{&TimeBreakdown::compute, "compute_s", "kernels", palette::steel,
      "Kernels of forward and backward passes, in seconds.",
      "micro-batches x mean over stages of (layers x layer kernels + embedding or head kernels); "
      "GEMMs by shape at peak x efficiency, attention by length, the rest by bytes moved",
      "model training.sequence training.micro_batch training.global_batch training.precision "
      "parallel.tensor parallel.pipeline parallel.data cluster.host",
      rests_on(device, kernels),
      "kernels of its shapes run at the rates of the device profile: micro-batch and tensor ranks "
      "decide how large the GEMMs are"},
     {&TimeBreakdown::recompute, "recompute_s", "recomputation", palette::orange,
      "Forward kernels run again for the backward pass, in seconds.",
      "micro-batches x mean over stages of the recomputed kernels (selective: attention scores; "
      "full: whole layers)",
      "memory.recompute memory.attention training.micro_batch training.global_batch",
      rests_on(kernels), "it fits with less recomputation, the allocator's cache included"},
     {&TimeBreakdown::tensor, "tensor_s", "tensor parallel", palette::yellow,
      "Exposed tensor-parallel communication, in seconds.",
      "micro-batches x mean over stages of layers x collectives per layer x (1 - overlapped "
      "share); all-reduce, or all-gather and reduce-scatter with sequence parallelism, of "
      "micro_batch x sequence x hidden elements",
      "parallel.tensor parallel.sequence training.micro_batch training.sequence model cluster.host",
      rests_on(collectives, stack),
      "tensor-parallel exchanges of its groups reach the site's rates, and overlap as the stack "
      "profile says"},
     {&TimeBreakdown::context, "context_s", "context parallel", palette::sand,
      "Exposed context-parallel communication, in seconds.",
      "exchange of keys and values that does not overlap with attention", "parallel.context",
      rests_on(collectives),
      "the exchanges of its context ranks overlap as the stack profile says"},
     {&TimeBreakdown::expert, "expert_s", "expert parallel", palette::mint,
      "Exposed expert-parallel communication, in seconds.",
      "all-to-all of tokens to and from their experts", "parallel.expert model",
      rests_on(collectives), "its all-to-alls reach the site's rates under an even routing"},
     {&TimeBreakdown::pipeline, "pipeline_s", "pipeline transfers", palette::sky,
      "Exposed transfers between pipeline stages, in seconds.",
      "length of the passes with transfers less their length with ideal ones that take no time, in "
      "the same order; a transfer is micro_batch x sequence x hidden elements",
      plan, rests_on(collectives, stack), "transfers between its stages overlap with compute"},
     {&TimeBreakdown::bubble, "bubble_s", "pipeline bubble", palette::grey,
      "Time that a stage is idle waiting for another stage, mean over the stages, in seconds.",
      "length of the schedule with ideal transfers and no data-parallel traffic, less the mean "
      "work of a stage: filling, draining, and waiting for stages with more work; for equal stages "
      "(p - 1) / (m v) of the work (SC21, arXiv 2104.04473 section 2.2)",
      plan, rests_on(kernels),
      "the framework runs this schedule with these virtual stages, and layers are spread over its "
      "stages as the forecast places them"},
     {&TimeBreakdown::data, "data_s", "data parallel", palette::purple,
      "Exposed data-parallel communication, in seconds.",
      "gradients (all-reduce; with ZeRO-1 reduce-scatter, and all-gather of updated parameters) of "
      "the slowest stage, less what overlaps with the last backward and first forward pass",
      "parallel.data parallel.zero parallel.tensor parallel.pipeline "
      "communication.overlap.gradients communication.overlap.parameters "
      "communication.gradient_dtype",
      rests_on(collectives, stack),
      "gradient and weight traffic overlaps with the passes of its last chunk as the stack profile "
      "says"},
     {&TimeBreakdown::optimizer, "optimizer_s", "optimizer", palette::green,
      "Optimizer update of the slowest stage, in seconds.",
      "bytes of states, gradients and weights of one rank's shard / memory bandwidth achieved",
      "training.optimizer parallel.zero parallel.data parallel.tensor parallel.pipeline",
      rests_on(device, stack), "optimizer states are sharded across its data ranks as modelled"},
     {&TimeBreakdown::input, "input_s", "input", palette::brown,
      "Waiting for training data, in seconds.",
      "max(0, input - step): loader processes (tokens / (ranks x workers x rate, cores shared)) or "
      "storage (tokens x bytes / read rate), whichever is slower",
      "operations.data_loading operations.storage training.global_batch training.sequence",
      rests_on(), "its hosts load training data as fast as operations.loading says"},
     {&TimeBreakdown::launch, "launch_s", "kernel launches", palette::slate,
      "GPU idle because the processor launches kernels too slowly, in seconds.",
      "micro-batches x mean over stages of layers x (launch floor - kernels) where positive, plus "
      "the stack's constant per step",
      "stack training.micro_batch training.sequence", rests_on(stack),
      "the host launches its smaller kernels fast enough"},
     {&TimeBreakdown::imbalance, "imbalance_s", "stragglers", palette::vermilion,
      "Stragglers: waiting for the slowest of many hosts, in seconds.",
      "jitter x log2(hosts) x everything else", "cluster.hosts stack", rests_on(stack),
      "its hosts keep pace with each other as the stack profile says"}});
static_assert(parts.size() == time_parts.size());

}  // namespace

std::span<const StepPart> step_parts() { return parts; }

std::string_view waterfall_key(const StepPart& part) {
  return part.time == &TimeBreakdown::compute ? kernels_key : part.key;
}

Paint part_paint(std::string_view key) {
  if (key == ideal_key) return palette::blue;
  for (const StepPart& part : parts)
    if (waterfall_key(part) == key) return part.paint;
  return palette::grey;
}

}  // namespace foretrain
