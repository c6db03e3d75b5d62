// SPDX-License-Identifier: Apache-2.0
#include "planner/explain/explanations.hpp"

#include <array>
#include <utility>

namespace foretrain {
namespace {

using enum ConstantSource;

constexpr std::string_view shape = "model training.sequence training.global_batch";
constexpr std::string_view plan =
    "parallel.tensor parallel.sequence parallel.context parallel.pipeline parallel.virtual_stages "
    "parallel.data training.micro_batch training.global_batch";
constexpr std::string_view stage_plan =
    "model parallel.tensor parallel.sequence parallel.pipeline parallel.virtual_stages "
    "parallel.data parallel.zero training.precision";

constexpr auto table = std::to_array<Explanation>({
    {"schema", "Name and version of this JSON format.", "fixed", ""},
    {"foretrain_version", "Version of the program that computed the forecast.", "fixed", ""},
    {"engine", "How the forecast was computed.", "--engine", ""},
    {"feasible", "Whether the plan can run: legal, modelled, and within memory.",
     "no rule broken, and memory.peak_bytes <= memory.usable_bytes",
     "@memory.peak_bytes @memory.usable_bytes"},
    {"memory.capacity_bytes", "Nominal memory of one GPU, in bytes.", "from the device catalog",
     "cluster.host"},
    {"memory.usable_bytes", "What the driver offers to one process, in bytes.",
     "from the device catalog", "cluster.host"},
    {"memory.peak_bytes", "Device memory of the heaviest stage at its peak, in bytes.",
     "largest peak_bytes of all stages", "@memory.peak_stage"},
    {"memory.peak_stage", "Pipeline stage that needs most memory, counted from 0.",
     "stage with the largest peak_bytes", "@memory.peak_bytes"},
    {"memory.stages.*.stage", "Number of the pipeline stage, from 0.", "fixed",
     "parallel.pipeline"},
    {"memory.stages.*.weights_bytes", "Resident weights of one GPU, in bytes.",
     "parameters of the stage / tensor x bytes per weight (a tied or untied embedding on the end "
     "stages); sharded over data ranks under ZeRO-3",
     stage_plan, stack},
    {"memory.stages.*.gradients_bytes", "Resident gradients of one GPU, in bytes.",
     "parameters of the stage / tensor x bytes per gradient; sharded over data ranks from ZeRO-2",
     stage_plan, stack},
    {"memory.stages.*.optimizer_bytes", "Master weights and moments of one GPU, in bytes.",
     "parameters of the stage / tensor x bytes of optimizer state; sharded over data ranks from "
     "ZeRO-1",
     "model parallel.tensor parallel.pipeline parallel.data parallel.zero training.optimizer",
     stack},
    {"memory.stages.*.activations_bytes",
     "Tensors kept for the backward pass at the stage's peak, in bytes.",
     "bytes kept per layer and micro-batch x layers x micro-batches in flight (1F1B: stages - "
     "stage), plus embedding or loss on the end stages",
     "model training.sequence training.micro_batch parallel.tensor parallel.sequence "
     "parallel.pipeline parallel.schedule memory.recompute memory.attention",
     stack},
    {"memory.stages.*.buffers_bytes", "Temporary buffers and workspaces, in bytes.",
     "cuBLAS and Transformer Engine workspaces, transient tensors of one layer, gathered tensors",
     "stack training.micro_batch training.sequence", stack},
    {"memory.stages.*.communication_bytes", "Buffers of the communication library, in bytes.",
     "communicators of the rank x bytes per communicator",
     "parallel.tensor parallel.pipeline parallel.data communication.backend", stack},
    {"memory.stages.*.context_bytes", "CUDA context and loaded kernels, in bytes.",
     "constant of the stack", "stack", stack},
    {"memory.stages.*.fragmentation_bytes", "Memory that the caching allocator cannot use.",
     "allocated_bytes x (reserved over allocated - 1)", "stack @memory.peak_stage", stack},
    {"memory.stages.*.allocated_bytes", "What torch reports as max_memory_allocated, in bytes.",
     "weights + gradients + optimizer + activations + buffers", stage_plan, stack},
    {"memory.stages.*.peak_bytes", "What the device counter shows, in bytes.",
     "sum of the eight categories", stage_plan, stack},
    {"memory.heaviest_rank",
     "Rank that memory.stages describes (torch.nn.DataParallel: GPU 0 holds optimizer, sums and "
     "gathered outputs).",
     "fixed", "parallel.processes"},
    {"memory.other_ranks_peak_bytes", "The same peak on every other GPU, in bytes.",
     "weights that were broadcast + gradients of the replica + its activations",
     "parallel.processes parallel.gather model training.micro_batch", stack},
    {"step.time_s", "Time of one optimizer step, in seconds.",
     "the parts of step.breakdown add up to it: work of a stage (mean), what the schedule leaves "
     "idle, and what the critical path grows by with transfers, data-parallel traffic, optimizer "
     "and constant; 1F1B with m micro-batches on p equal stages: (m + p - 1) times a stage's time "
     "per micro-batch, and these (SC21, arXiv 2104.04473 section 2.2)",
     "@step.breakdown.compute_s @step.breakdown.recompute_s @step.breakdown.tensor_s "
     "@step.breakdown.context_s @step.breakdown.expert_s @step.breakdown.pipeline_s "
     "@step.breakdown.bubble_s @step.breakdown.data_s @step.breakdown.optimizer_s "
     "@step.breakdown.input_s @step.breakdown.launch_s @step.breakdown.imbalance_s",
     kernels, collectives},
    {"step.low_s", "Tenth percentile of the step time, in seconds.",
     "step.time_s / (1 + the band): what is not known of the plan, root of squares (explain "
     "step.band)",
     "@step.time_s stack site", stack},
    {"step.high_s", "Ninetieth percentile of the step time, in seconds.",
     "step.time_s x (1 + the band): what is not known of the plan, root of squares (explain "
     "step.band)",
     "@step.time_s stack site", stack},
    {"step.breakdown.compute_s", "Kernels of forward and backward passes, in seconds.",
     "micro-batches x mean over stages of (layers x layer kernels + embedding or head kernels); "
     "GEMMs by shape at peak x efficiency, attention by length, the rest by bytes moved",
     "model training.sequence training.micro_batch training.global_batch training.precision "
     "parallel.tensor parallel.pipeline parallel.data cluster.host",
     device, kernels},
    {"step.breakdown.recompute_s", "Forward kernels run again for the backward pass, in seconds.",
     "micro-batches x mean over stages of the recomputed kernels (selective: attention scores; "
     "full: whole layers)",
     "memory.recompute memory.attention training.micro_batch training.global_batch", kernels},
    {"step.breakdown.tensor_s", "Exposed tensor-parallel communication, in seconds.",
     "micro-batches x mean over stages of layers x collectives per layer x (1 - overlapped share); "
     "all-reduce, or all-gather and reduce-scatter with sequence parallelism, of micro_batch x "
     "sequence x hidden elements",
     "parallel.tensor parallel.sequence training.micro_batch training.sequence model cluster.host",
     collectives, stack},
    {"step.breakdown.context_s", "Exposed context-parallel communication, in seconds.",
     "exchange of keys and values that does not overlap with attention", "parallel.context",
     collectives},
    {"step.breakdown.expert_s", "Exposed expert-parallel communication, in seconds.",
     "all-to-all of tokens to and from their experts", "parallel.expert model", collectives},
    {"step.breakdown.pipeline_s", "Exposed transfers between pipeline stages, in seconds.",
     "length of the passes with transfers less their length with ideal ones that take no time, in "
     "the same order; a transfer is micro_batch x sequence x hidden elements",
     plan, collectives, stack},
    {"step.breakdown.bubble_s",
     "Time that a stage is idle waiting for another stage, mean over the stages, in seconds.",
     "length of the schedule with ideal transfers and no data-parallel traffic, less the mean work "
     "of a stage: filling, draining, and waiting for stages with more work; for equal stages "
     "(p - 1) / (m v) of the work (SC21, arXiv 2104.04473 section 2.2)",
     plan, kernels},
    {"step.breakdown.data_s", "Exposed data-parallel communication, in seconds.",
     "gradients (all-reduce; with ZeRO-1 reduce-scatter, and all-gather of updated parameters) of "
     "the slowest stage, less what overlaps with the last backward and first forward pass",
     "parallel.data parallel.zero parallel.tensor parallel.pipeline "
     "communication.overlap.gradients communication.overlap.parameters "
     "communication.gradient_dtype",
     collectives, stack},
    {"step.breakdown.optimizer_s", "Optimizer update of the slowest stage, in seconds.",
     "bytes of states, gradients and weights of one rank's shard / memory bandwidth achieved",
     "training.optimizer parallel.zero parallel.data parallel.tensor parallel.pipeline", device,
     stack},
    {"step.breakdown.input_s", "Waiting for training data, in seconds.",
     "max(0, input - step): loader processes (tokens / (ranks x workers x rate, cores shared)) or "
     "storage (tokens x bytes / read rate), whichever is slower",
     "operations.data_loading operations.storage training.global_batch training.sequence"},
    {"step.breakdown.launch_s",
     "GPU idle because the processor launches kernels too slowly, in seconds.",
     "micro-batches x mean over stages of layers x (launch floor - kernels) where positive, plus "
     "the stack's constant per step",
     "stack training.micro_batch training.sequence", stack},
    {"step.breakdown.imbalance_s", "Stragglers: waiting for the slowest of many hosts, in seconds.",
     "jitter x log2(hosts) x everything else", "cluster.hosts stack", stack},
    {"flops.model_per_step", "FLOPs that the model asks for per step, over all GPUs.",
     "3 x forward FLOPs x sequences per step; a multiplication and an addition are two; "
     "recomputation is not counted",
     shape},
    {"flops.hardware_per_step", "FLOPs that the GPUs execute per step, recomputation included.",
     "model FLOPs + forward FLOPs of what is recomputed",
     "model training.sequence training.global_batch memory.recompute"},
    {"flops.peak_per_gpu_per_s", "Dense peak of one GPU in the training precision, FLOP/s.",
     "from the device catalog; never the sparse rate", "cluster.host training.precision"},
    {"flops.convention", "How attention scores are counted in model FLOPs.", "--flops", ""},
    {"mfu", "Model FLOPs utilisation, 0 to 1.",
     "flops.model_per_step / (step.time_s x GPUs x flops.peak_per_gpu_per_s)",
     "@flops.model_per_step @step.time_s @flops.peak_per_gpu_per_s cluster.hosts"},
    {"hfu", "Hardware FLOPs utilisation, 0 to 1: recomputed work counts.",
     "flops.hardware_per_step / (step.time_s x GPUs x flops.peak_per_gpu_per_s)",
     "@flops.hardware_per_step @step.time_s @flops.peak_per_gpu_per_s cluster.hosts"},
    {"tokens_per_s", "Tokens per second of the whole job.", "global_batch x sequence / step.time_s",
     "training.global_batch training.sequence @step.time_s"},
    {"tokens_per_s_per_gpu", "Tokens per second and GPU.", "tokens_per_s / GPUs",
     "@tokens_per_s cluster.hosts"},
    {"model_tflops_per_gpu", "Model TFLOP/s of one GPU.",
     "flops.model_per_step / (step.time_s x GPUs) / 1e12",
     "@flops.model_per_step @step.time_s cluster.hosts"},
    {"run.tokens", "Tokens of the whole run.", "training.tokens", "training.tokens"},
    {"run.steps", "Optimizer steps of the whole run.",
     "tokens / (global_batch x sequence), rounded up",
     "training.tokens training.global_batch training.sequence"},
    {"run.ideal_s", "Duration of the run without interruptions, in seconds.",
     "run.steps x step.time_s", "@run.steps @step.time_s"},
    {"run.expected_s", "Expected duration with interruptions and checkpoints, in seconds.",
     "sum of run.split", "@run.ideal_s @run.goodput"},
    {"run.goodput", "Share of the run that is productive time, 0 to 1.",
     "run.ideal_s / run.expected_s; Daly's complete model (FGCS 2006) of exponential "
     "interruptions, "
     "to first order (1 - (restart + every / 2) / between) / (1 + stall / every) (arXiv "
     "2410.21680)",
     "operations.mean_time_between_interruptions operations.interruptions operations.restart "
     "operations.recovery operations.warm_up operations.checkpoint operations.storage "
     "operations.spares operations.evaluation operations.fail_slow operations.preemption "
     "operations.queue"},
    {"run.p10_s", "Tenth percentile of the duration, in seconds.",
     "of 200 simulated runs, each with a step time drawn from its band",
     "@run.expected_s @step.low_s @step.high_s"},
    {"run.p90_s", "Ninetieth percentile of the duration, in seconds.",
     "of 200 simulated runs, each with a step time drawn from its band",
     "@run.expected_s @step.low_s @step.high_s"},
    {"run.p50_s", "Median of the duration, in seconds.",
     "of 200 simulated runs, each with a step time drawn from its band",
     "@run.expected_s @step.low_s @step.high_s"},
    {"run.scheduling_goodput", "Share of the run in which the job has its hosts, 0 to 1.",
     "1 - (run.split.planned_s + run.split.waiting_s) / run.expected_s",
     "@run.split.planned_s @run.split.waiting_s @run.expected_s"},
    {"run.runtime_goodput", "Share of the time with hosts that is productive time, 0 to 1.",
     "run.split.steps_s / (run.expected_s - run.split.planned_s - run.split.waiting_s)",
     "@run.split.steps_s @run.expected_s"},
    {"run.interruptions", "Expected number of interruptions without warning.",
     "(run.expected_s - planned stops - waiting) / run.between_interruptions_s, and preemptions "
     "without enough notice",
     "@run.expected_s @run.between_interruptions_s operations.preemption"},
    {"run.between_interruptions_s", "Mean time between interruptions of this job, in seconds.",
     "as given; or 1 / (rate per part x parts); or between the points of a measured curve",
     "operations.mean_time_between_interruptions operations.interruptions cluster.hosts"},
    {"run.checkpoint_bytes", "Size of a checkpoint, in bytes.",
     "operations.checkpoint.size; else parameters x (2 bytes of weights + 12 of optimizer states)",
     "operations.checkpoint.size model training.precision"},
    {"run.checkpoint_every_s", "Training time between two checkpoints, in seconds.",
     "as given, in steps, or the interval that loses least; not below what writing one takes",
     "operations.checkpoint @run.checkpoint_bytes"},
    {"run.checkpoint_stall_s", "Time that one checkpoint stops training, in seconds.",
     "as measured; else sync: size / least of the write rates; async: a GPU's part / PCIe rate",
     "operations.checkpoint operations.storage cluster.host @run.checkpoint_bytes"},
    {"run.meets_deadline", "Probability that the run is over by the deadline, 0 to 1.",
     "share of 200 simulated runs", "operations.deadline @run.p50_s @run.p90_s"},
    {"run.split.steps_s", "Productive time: steps that count, at full speed, in seconds.",
     "run.ideal_s", "@run.ideal_s"},
    {"run.split.evaluation_s", "Pauses for evaluation, in seconds.", "steps / every_steps x pause",
     "operations.evaluation @run.steps"},
    {"run.split.checkpoints_s", "Time that checkpoints stop training, in seconds.",
     "training time / run.checkpoint_every_s x run.checkpoint_stall_s",
     "@run.checkpoint_every_s @run.checkpoint_stall_s"},
    {"run.split.slow_s", "Waiting for stragglers, in seconds.",
     "steps x (1 / mean pace - 1); pace 1 unless some episode is on, which is 1 - e^-(lasts / "
     "every) of the time; then step / (step + (1 / pace - 1) (compute + recompute))",
     "operations.fail_slow @step.breakdown.compute_s @step.breakdown.recompute_s @step.time_s"},
    {"run.split.lost_s", "Lost work: steps repeated after interruptions, in seconds.",
     "(e^(w / between) - 1) between - w per checkpoint interval of w seconds, and what was not "
     "written yet",
     "@run.checkpoint_every_s @run.between_interruptions_s"},
    {"run.split.detection_s", "Detection of interruptions, in seconds.",
     "interruptions x operations.recovery.detection", "operations.recovery @run.interruptions"},
    {"run.split.restart_s", "Rescheduling, loading checkpoints and warming up, in seconds.",
     "interruptions x (reschedule + reload + warm_up), or operations.restart",
     "operations.restart operations.recovery operations.warm_up @run.interruptions"},
    {"run.split.planned_s", "Stops that were announced, in seconds.",
     "run.expected_s / planned_every x (checkpoint + planned_pause + reload + warm-up)",
     "operations.interruptions.planned_every operations.interruptions.planned_pause"},
    {"run.split.waiting_s", "Waiting for hosts: queue, repairs, preempted capacity, in seconds.",
     "operations.queue + preemptions x wait + share of time with more hosts in repair than spares "
     "(Erlang's loss formula)",
     "operations.queue operations.preemption operations.spares"},
    {"cost.gpu_hours", "GPU-hours of the run.",
     "GPUs x (run.expected_s - queue - preempted time; run.ideal_s where that is unknown) / 3600",
     "@run.ideal_s @run.expected_s cluster.hosts operations.queue operations.preemption"},
    {"cost.usd", "Price of the run in US dollars.",
     "sum of cost.parts; unknown without rent or purchase",
     "@cost.gpu_hours operations.price operations.prices_as_of operations.owned "
     "operations.power.electricity"},
    {"cost.energy_kwh", "Energy of the run at the meter, in kWh.",
     "training time x cost.power_w + downtime x (GPUs x idle power + hosts) x PUE",
     "@cost.power_w @run.expected_s operations.power cluster.host", device},
    {"cost.co2_kg", "Carbon dioxide of the run in kg.", "cost.energy_kwh x operations.power.carbon",
     "@cost.energy_kwh operations.power.carbon"},
    {"cost.step_kwh", "Energy of one step at the meter, in kWh.", "cost.power_w x step.time_s",
     "@cost.power_w @step.time_s", device},
    {"cost.power_w", "Mean power at the meter while training, in watts.",
     "(GPUs x (busy power x share of compute, recompute and optimizer in the step + waiting power "
     "x "
     "the rest) + hosts x (host + network)) x PUE; board power where no draw was measured",
     "cluster.host operations.power @step.breakdown.compute_s @step.time_s", device},
    {"cost.gpu_hours_low", "GPU-hours of the run, 10th percentile.",
     "cost.gpu_hours x (1 + share of the run in which steps last x (step.low_s / step.time_s - 1))",
     "@cost.gpu_hours @step.low_s @step.time_s"},
    {"cost.price_low_usd", "Price of the run in US dollars, 10th percentile.",
     "cost.usd with GPU-hours and energy of that percentile", "@cost.usd @cost.gpu_hours_low"},
    {"cost.energy_low_kwh", "Energy of the whole machine at the meter, in kWh, 10th percentile.",
     "cost.energy_kwh x what GPUs, hosts and cooling draw at least and at most where the scenario "
     "does not say it, with the band of the step as root of squares of logarithms",
     "@cost.energy_kwh @step.low_s operations.power cluster.host", device},
    {"cost.co2_low_kg", "Carbon dioxide of the run in kg, 10th percentile.",
     "cost.energy_low_kwh x operations.power.carbon",
     "@cost.energy_low_kwh operations.power.carbon"},
    {"cost.gpu_hours_high", "GPU-hours of the run, 90th percentile.",
     "cost.gpu_hours x (1 + share of the run in which steps last x (step.high_s / step.time_s - "
     "1))",
     "@cost.gpu_hours @step.high_s @step.time_s"},
    {"cost.price_high_usd", "Price of the run in US dollars, 90th percentile.",
     "cost.usd with GPU-hours and energy of that percentile", "@cost.usd @cost.gpu_hours_high"},
    {"cost.energy_high_kwh", "Energy of the whole machine at the meter, in kWh, 90th percentile.",
     "cost.energy_kwh x what GPUs, hosts and cooling draw at least and at most where the scenario "
     "does not say it, with the band of the step as root of squares of logarithms",
     "@cost.energy_kwh @step.high_s operations.power cluster.host", device},
    {"cost.co2_high_kg", "Carbon dioxide of the run in kg, 90th percentile.",
     "cost.energy_high_kwh x operations.power.carbon",
     "@cost.energy_high_kwh operations.power.carbon"},
    {"cost.parts.rent_usd", "Rent, spare hosts included, in US dollars.",
     "cost.gpu_hours x operations.price x (1 + spare hosts / hosts)",
     "@cost.gpu_hours operations.price operations.spares.hosts"},
    {"cost.parts.machine_usd", "Purchased GPUs and hosts, depreciated, in US dollars.",
     "GPUs, spares included, x operations.owned.gpu x run.expected_s / (lifetime x utilisation)",
     "operations.owned @run.expected_s"},
    {"cost.parts.network_usd", "Purchased network, depreciated, in US dollars.",
     "as cost.parts.machine_usd with operations.owned.network", "operations.owned"},
    {"cost.parts.storage_usd", "Purchased storage, depreciated, in US dollars.",
     "as cost.parts.machine_usd with operations.owned.storage", "operations.owned"},
    {"cost.parts.staff_usd", "Staff and upkeep, in US dollars.",
     "run.expected_s x (operations.owned.staff + operations.owned.upkeep)", "operations.owned"},
    {"cost.parts.electricity_usd", "Electricity that rent does not include, in US dollars.",
     "cost.energy_kwh x operations.power.electricity",
     "@cost.energy_kwh operations.power.electricity"},
    {"provenance.device.source", "What the device constants were measured on.",
     "from the device profile", "cluster.host", device},
    {"provenance.device.error", "Median error of the device constants against their source.",
     "from the device profile", "cluster.host", device},
    {"provenance.kernels.source", "What the kernel rates were measured on.",
     "from the device profile", "cluster.host", kernels},
    {"provenance.kernels.error", "Median error of the kernel model against its source.",
     "from the device profile", "cluster.host", kernels},
    {"provenance.collectives.source", "What the collective costs were measured on.",
     "from the site profile", "site", collectives},
    {"provenance.collectives.error", "Median error of the collective model against its source.",
     "from the site profile", "site", collectives},
    {"provenance.stack.source", "What the software constants were fitted to.",
     "from the stack profile", "stack", stack},
    {"provenance.stack.error", "Median error of the stack's fit against its source.",
     "from the stack profile", "stack", stack},
    {"provenance.software.first_year",
     "Year of the oldest software of the runs that the stack was fitted on; null: not known.",
     "from the records", "stack", stack},
    {"provenance.software.last_year", "Year of their newest software; null: not known.",
     "from the records", "stack", stack},
    {"provenance.software.asked_year", "Year of the software that the scenario asks for.",
     "from the scenario", "software_year"},
});

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> short_names{
    {{"step", "step.time_s"},
     {"memory", "memory.peak_bytes"},
     {"flops", "flops.model_per_step"},
     {"run", "run.ideal_s"},
     {"cost", "cost.gpu_hours"},
     {"goodput", "run.goodput"}}};

/// Segment by segment, "*" fitting any number.
bool fits(std::string_view pattern, std::string_view path) {
  while (true) {
    const std::size_t a = pattern.find('.');
    const std::size_t b = path.find('.');
    const std::string_view want = pattern.substr(0, a);
    const std::string_view have = path.substr(0, b);
    const bool number = !have.empty() && have.find_first_not_of("0123456789") == have.npos;
    if (want != have && !(want == "*" && number)) return false;
    if (a == pattern.npos || b == path.npos) return a == pattern.npos && b == path.npos;
    pattern.remove_prefix(a + 1);
    path.remove_prefix(b + 1);
  }
}

}  // namespace

std::span<const Explanation> explanations() { return table; }

const Explanation* find_explanation(std::string_view path) {
  for (const Explanation& entry : table)
    if (fits(entry.path, path)) return &entry;
  return nullptr;
}

std::string_view find_by_last_word(std::string_view word) {
  std::string_view found;
  for (const Explanation& entry : table) {
    if (entry.path.find('*') != std::string_view::npos) continue;
    const std::string_view last = entry.path.substr(entry.path.rfind('.') + 1);
    const bool unit_left_out = last.starts_with(word) && last.find('_') == word.size() &&
                               last.find('_', word.size() + 1) == std::string_view::npos;
    if (last != word && !unit_left_out) continue;
    if (!found.empty()) return {};
    found = entry.path;
  }
  return found;
}

std::string_view expand_quantity(std::string_view quantity) {
  for (const auto& [name, path] : short_names)
    if (name == quantity) return path;
  return quantity;
}

}  // namespace foretrain
