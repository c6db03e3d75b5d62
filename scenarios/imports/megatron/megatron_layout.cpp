// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "scenarios/imports/megatron/internal/megatron_mapper.hpp"
#include "scenarios/imports/megatron/megatron_arguments.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Chunks exactly as `--pipeline-model-parallel-layout` writes them.
void MegatronMapper::map_written_layout(const std::string& layout) {
  Parallel& parallel = out_.job.parallel;
  parallel.stage_layers = megatron_pipeline_layout(layout);
  const auto stages = static_cast<std::size_t>(parallel.pipeline);
  if (parallel.stage_layers.empty() || parallel.stage_layers.size() % stages != 0) {
    in_.error("--pipeline-model-parallel-layout: " + in_quotes(layout) + " is not a layout of " +
              std::to_string(parallel.pipeline) + " stages");
    return;
  }
  parallel.virtual_stages = static_cast<int>(parallel.stage_layers.size() / stages);
  map_prediction_stage(megatron_prediction_chunk(layout));
}

/// Modules in the loss's chunk are there anyway. @param chunk that holds them, where one is written
void MegatronMapper::map_prediction_stage(std::optional<int> chunk) {
  Parallel& parallel = out_.job.parallel;
  const int chunks = parallel.pipeline * parallel.virtual_stages;
  if (out_.job.model.mtp_layers == 0 || chunk.value_or(chunks - 1) == chunks - 1) return;
  if (*chunk < chunks - parallel.pipeline)
    in_.error(
        "--pipeline-model-parallel-layout: prediction modules (m) lie in the last chunk of a "
        "stage alone");
  parallel.prediction_stage = *chunk % parallel.pipeline;
}

/// Layers per stage where the ends get another number than the rest.
void MegatronMapper::map_uneven_ends(std::optional<int> first, std::optional<int> last) {
  Parallel& parallel = out_.job.parallel;
  const int middle_stages = parallel.pipeline - (first ? 1 : 0) - (last ? 1 : 0);
  const int rest = out_.job.model.layers - first.value_or(0) - last.value_or(0);
  if (middle_stages < 1 && rest != 0) {
    in_.error("--decoder-first/last-pipeline-num-layers leave layers over");
    return;
  }
  const int middle = middle_stages > 0 ? rest / middle_stages : 0;
  parallel.stage_layers.assign(static_cast<std::size_t>(parallel.pipeline), middle);
  if (first) parallel.stage_layers.front() = *first;
  if (last) parallel.stage_layers.back() = *last;
}

void MegatronMapper::map_even_layout(bool embedding, bool loss) {
  Parallel& parallel = out_.job.parallel;
  const int counted = out_.job.model.layers + (embedding ? 1 : 0) + (loss ? 1 : 0);
  const int chunks = parallel.pipeline * parallel.virtual_stages;
  if (counted % chunks != 0) {
    in_.error(std::to_string(counted) + " layers do not divide into " + std::to_string(chunks) +
              " chunks");
    return;
  }
  parallel.stage_layers.assign(static_cast<std::size_t>(chunks), counted / chunks);
  if (embedding) --parallel.stage_layers.front();
  if (loss) --parallel.stage_layers.back();
}

/// Schedules of zero-bubble-pipeline-parallelism, Megatron-LM's fork of their authors: in a V, with
/// the memory that its setup allows, or in one chunk with as many passes pending as its limit says.
/// Returns whether one is asked for.
bool MegatronMapper::map_zero_bubble() {
  Parallel& parallel = out_.job.parallel;
  const bool enabled = in_.flag("enable-zero-bubble");
  const bool folded = in_.flag("zero-bubble-v-schedule");
  const std::string setup = in_.text("zero-bubble-v-schedule-mem-setup", "zb");
  const std::string pending = in_.text("zero-bubble-max-pending-backward", "auto");
  for (const char* name : {"allow-padding-num-layers", "enable-exactly-numeric-match",
                           "enable-optimizer-post-validation", "enable-zb-runtime"})
    in_.accept(name);
  const auto known =
      from_name<ScheduleKind>(said("zero_bubble", "zero-bubble-v-schedule-mem-setup"));
  if (!known)
    in_.error(fmt::format("--zero-bubble-v-schedule-mem-setup: {} is not one of {}",
                          in_quotes(setup), legal_words(*megatron_dialect().term("zero_bubble"))));
  if (setup != "zb" && !folded)
    in_.error("--zero-bubble-v-schedule-mem-setup has no effect without --zero-bubble-v-schedule");
  if (parallel.pipeline <= 1 || !(enabled || folded)) return false;
  if (folded) {
    parallel.schedule = known.value_or(ScheduleKind::zb_v);
    parallel.virtual_stages = 2;
    return true;
  }
  if (pending == std::to_string(parallel.pipeline))
    parallel.schedule = ScheduleKind::zb_h1;
  else if (pending == std::to_string(2 * parallel.pipeline))
    parallel.schedule = ScheduleKind::zb_2p;
  else
    unmodelled("zero-bubble-max-pending-backward " + pending +
               ", which is neither the stages nor twice as many");
  return true;
}

/// @param counted layers, with the ends where these count as layers
void MegatronMapper::map_virtual_stages(int counted, bool zero_bubble) {
  Parallel& parallel = out_.job.parallel;
  const auto per_chunk = in_.integer("num-layers-per-virtual-pipeline-stage");
  const auto chunks = in_.integer("num-virtual-stages-per-pipeline-rank");
  if (zero_bubble) {
    if (chunks || per_chunk || !in_.text("pipeline-model-parallel-layout").empty())
      in_.error("zero-bubble schedules lay their own chunks out");
    return;
  }
  if (chunks) parallel.virtual_stages = std::max(1, *chunks);
  if (per_chunk && *per_chunk > 0)
    parallel.virtual_stages = std::max(1, counted / parallel.pipeline / *per_chunk);
}

void MegatronMapper::map_layout() {
  Parallel& parallel = out_.job.parallel;
  // Megatron-DeepSpeed's way to count both ends as layers.
  const std::string method = in_.text("pp-partition-method", "type:transformer");
  const bool both = method == "type:transformer|embedding";
  if (!both && method != "type:transformer" && method != "uniform")
    unmodelled("pp-partition-method " + method);
  const bool embedding = in_.flag("account-for-embedding-in-pipeline-split") || both;
  const bool loss = in_.flag("account-for-loss-in-pipeline-split") || both;
  const auto first = in_.integer("decoder-first-pipeline-num-layers");
  const auto last = in_.integer("decoder-last-pipeline-num-layers");
  const std::string layout = in_.text("pipeline-model-parallel-layout");
  const bool zero_bubble = map_zero_bubble();
  if (parallel.pipeline <= 1) return;
  const int layers = out_.job.model.layers;
  map_virtual_stages(layers + (embedding ? 1 : 0) + (loss ? 1 : 0), zero_bubble);
  if (!layout.empty())
    map_written_layout(layout);
  else if (first || last)
    map_uneven_ends(first, last);
  else
    map_even_layout(embedding, loss);
  if (!zero_bubble && parallel.virtual_stages > 1) parallel.schedule = ScheduleKind::interleaved;
  const std::vector<int>& held = parallel.stage_layers;
  const int sum = std::accumulate(held.begin(), held.end(), 0);
  if (!held.empty() && sum != layers)
    in_.error("the pipeline split holds " + std::to_string(sum) + " of " + std::to_string(layers) +
              " layers");
}

}  // namespace foretrain
