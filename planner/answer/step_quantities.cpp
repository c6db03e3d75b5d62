// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/internal/quantity_rows.hpp"

namespace foretrain::internal {
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
