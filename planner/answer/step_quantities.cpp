// SPDX-License-Identifier: Apache-2.0

#include "planner/answer/internal/quantity_rows.hpp"
#include "planner/answer/prediction_parts.hpp"

namespace foretrain::internal {
namespace {

using enum ConstantSource;

constexpr const char* stage_plan =
    "model parallel.tensor parallel.sequence parallel.pipeline parallel.virtual_stages "
    "parallel.data parallel.zero training.precision";

auto of_stage(const MemoryPart& category) {
  return read<Prediction>([size = category.size](const Prediction& p, std::size_t stage) {
    return p.memory && stage < p.memory->stages.size()
               ? std::optional(p.memory->stages[stage].*size)
               : std::nullopt;
  });
}

std::vector<ValueRow> last_memory_quantities() {
  return {{"memory.stages.*.allocated_bytes", "allocated", Measure::bytes,
           at<&Prediction::memory, &MemoryForecast::stages, &StageMemory::allocated>,
           "What torch reports as max_memory_allocated, in bytes.",
           "weights + gradients + optimizer + activations + buffers", stage_plan, rests_on(stack)},
          {"memory.stages.*.peak_bytes", "peak", Measure::bytes,
           at<&Prediction::memory, &MemoryForecast::stages, &StageMemory::peak>,
           "What the device counter shows, in bytes.", "sum of the eight categories", stage_plan,
           rests_on(stack)},
          {"memory.heaviest_rank", "heaviest rank", Measure::whole,
           read<Prediction>([](const Prediction& p) {
             return p.memory && p.memory->replica ? std::optional(0) : std::nullopt;
           }),
           "Rank that memory.stages describes (torch.nn.DataParallel: GPU 0 holds optimizer, sums "
           "and gathered outputs).",
           "fixed", "parallel.processes", rests_on(), false, true},
          {"memory.other_ranks_peak_bytes", "peak of other ranks", Measure::bytes,
           at<&Prediction::memory, &MemoryForecast::replica, &StageMemory::peak>,
           "The same peak on every other GPU, in bytes.",
           "weights that were broadcast + gradients of the replica + its activations",
           "parallel.processes parallel.gather model training.micro_batch", rests_on(stack), false,
           true}};
}

}  // namespace

std::vector<ValueRow> memory_quantities() {
  std::vector<ValueRow> rows{
      {"memory.capacity_bytes", "capacity", Measure::bytes,
       at<&Prediction::memory, &MemoryForecast::capacity>, "Nominal memory of one GPU, in bytes.",
       "from the device catalog", "cluster.host"},
      {"memory.usable_bytes", "usable memory", Measure::bytes,
       at<&Prediction::memory, &MemoryForecast::usable>,
       "What the driver offers to one process, in bytes.", "from the device catalog",
       "cluster.host"},
      {"memory.peak_bytes", "peak memory", Measure::bytes,
       at<&Prediction::memory, &MemoryForecast::peak>,
       "Device memory of the heaviest stage at its peak, in bytes.",
       "largest peak_bytes of all stages", "@memory.peak_stage"},
      {"memory.low_bytes", "peak memory, lower end of its band", Measure::bytes,
       at<&Prediction::memory, &MemoryForecast::low>,
       "The same at the lower end of the memory band, in bytes: above usable_bytes, no.",
       "memory.peak_bytes with allocated memory x (1 - the stack's band) (foretrain fit)",
       "@memory.peak_bytes stack", rests_on(stack)},
      {"memory.high_bytes", "peak memory, upper end of its band", Measure::bytes,
       at<&Prediction::memory, &MemoryForecast::high>,
       "The same at the upper end of the memory band, 90th percentile of the error, in bytes.",
       "memory.peak_bytes with allocated memory x (1 + the stack's band) (foretrain fit)",
       "@memory.peak_bytes stack", rests_on(stack)},
      {"memory.peak_stage", "heaviest stage", Measure::whole,
       at<&Prediction::memory, &MemoryForecast::peak_stage>,
       "Pipeline stage that needs most memory, counted from 0.",
       "stage with the largest peak_bytes", "@memory.peak_bytes"}};
  rows.push_back({"memory.stages.*.stage", "stage", Measure::whole,
                  at<&Prediction::memory, &MemoryForecast::stages, &StageMemory::stage>,
                  "Number of the pipeline stage, from 0.", "fixed", "parallel.pipeline"});
  for (const MemoryPart& category : memory_parts())
    rows.push_back({"memory.stages.*." + category.json_key(), category.key, Measure::bytes,
                    of_stage(category), category.meaning, category.formula,
                    std::string(category.inputs), rests_on(stack)});
  const std::vector<ValueRow> last = last_memory_quantities();
  rows.insert(rows.end(), last.begin(), last.end());
  return rows;
}

namespace {

using enum ConstantSource;

auto of_step(const StepPart& part) {
  return read<Prediction>([time = part.time](const Prediction& p) {
    return p.step ? std::optional(p.step->breakdown.*time) : std::nullopt;
  });
}

constexpr const char* shape = "model training.sequence training.global_batch";

}  // namespace

std::vector<ValueRow> step_quantities(std::span<const StepPart> parts) {
  std::string inputs;
  for (const StepPart& part : parts)
    inputs += (inputs.empty() ? "@step.breakdown." : " @step.breakdown.") + std::string(part.key);
  std::vector<ValueRow> rows{
      {"step.time_s", "step time", Measure::seconds, at<&Prediction::step, &StepForecast::time>,
       "Time of one optimizer step, in seconds.",
       "the parts of step.breakdown add up to it: work of a stage (mean), what the schedule leaves "
       "idle, and what the critical path grows by with transfers, data-parallel traffic, optimizer "
       "and constant; 1F1B with m micro-batches on p equal stages: (m + p - 1) times a stage's "
       "time per micro-batch, and these (SC21, arXiv 2104.04473 section 2.2)",
       inputs, rests_on(kernels, collectives)},
      {"step.low_s", "step time, 10th percentile", Measure::seconds,
       at<&Prediction::step, &StepForecast::low>, "Tenth percentile of the step time, in seconds.",
       "step.time_s / (1 + the band): what is not known of the plan, root of squares (explain "
       "step.band)",
       "@step.time_s stack site", rests_on(stack)},
      {"step.high_s", "step time, 90th percentile", Measure::seconds,
       at<&Prediction::step, &StepForecast::high>,
       "Ninetieth percentile of the step time, in seconds.",
       "step.time_s x (1 + the band): what is not known of the plan, root of squares (explain "
       "step.band)",
       "@step.time_s stack site", rests_on(stack)}};
  for (const StepPart& part : parts)
    rows.push_back({"step.breakdown." + std::string(part.key), part.label, Measure::seconds,
                    of_step(part), part.meaning, part.formula, std::string(part.inputs),
                    part.constants});
  return rows;
}

std::vector<ValueRow> efficiency_quantities() {
  return {
      {"flops.model_per_step", "model FLOPs per step", Measure::flop,
       at<&Prediction::flops, &FlopsForecast::model_per_step>,
       "FLOPs that the model asks for per step, over all GPUs.",
       "3 x forward FLOPs x sequences per step; a multiplication and an addition are two; "
       "recomputation is not counted",
       shape},
      {"flops.hardware_per_step", "hardware FLOPs per step", Measure::flop,
       at<&Prediction::flops, &FlopsForecast::hardware_per_step>,
       "FLOPs that the GPUs execute per step, recomputation included.",
       "model FLOPs + forward FLOPs of what is recomputed",
       "model training.sequence training.global_batch memory.recompute"},
      {"flops.peak_per_gpu_per_s", "peak of a GPU", Measure::flop_rate,
       at<&Prediction::flops, &FlopsForecast::peak_per_gpu>,
       "Dense peak of one GPU in the training precision, FLOP/s.",
       "from the device catalog; never the sparse rate", "cluster.host training.precision"},
      {"flops.convention", "convention of FLOPs", Measure::text,
       at<&Prediction::flops, &FlopsForecast::convention>,
       "How attention scores are counted in model FLOPs.", "--flops", ""},
      {"mfu", "MFU", Measure::share, at<&Prediction::efficiency, &Efficiency::mfu>,
       "Model FLOPs utilisation, 0 to 1.",
       "flops.model_per_step / (step.time_s x GPUs x flops.peak_per_gpu_per_s)",
       "@flops.model_per_step @step.time_s @flops.peak_per_gpu_per_s cluster.hosts", rests_on(),
       true},
      {"hfu", "HFU", Measure::share, at<&Prediction::efficiency, &Efficiency::hfu>,
       "Hardware FLOPs utilisation, 0 to 1: recomputed work counts.",
       "flops.hardware_per_step / (step.time_s x GPUs x flops.peak_per_gpu_per_s)",
       "@flops.hardware_per_step @step.time_s @flops.peak_per_gpu_per_s cluster.hosts", rests_on(),
       true},
      {"tokens_per_s", "tokens/s", Measure::token_rate,
       at<&Prediction::efficiency, &Efficiency::tokens_per_s>,
       "Tokens per second of the whole job.", "global_batch x sequence / step.time_s",
       "training.global_batch training.sequence @step.time_s", rests_on(), true},
      {"tokens_per_s_per_gpu", "tokens/s per GPU", Measure::token_rate_per_gpu,
       at<&Prediction::efficiency, &Efficiency::tokens_per_s_per_gpu>, "Tokens per second and GPU.",
       "tokens_per_s / GPUs", "@tokens_per_s cluster.hosts", rests_on(), true},
      {"model_tflops_per_gpu", "model TFLOP/s per GPU", Measure::tflop_rate,
       at<&Prediction::efficiency, &Efficiency::model_tflops_per_gpu>, "Model TFLOP/s of one GPU.",
       "flops.model_per_step / (step.time_s x GPUs) / 1e12",
       "@flops.model_per_step @step.time_s cluster.hosts", rests_on(), true}};
}

}  // namespace foretrain::internal
