// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/internal/quantity_rows.hpp"
#include "planner/answer/memory_part.hpp"

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

}  // namespace foretrain::internal
