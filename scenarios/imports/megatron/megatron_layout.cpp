// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

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
  const auto last_bar = layout.rfind('|');
  const bool with_loss =
      last_bar == std::string::npos || layout.find('m', last_bar) != std::string::npos;
  if (out_.job.model.mtp_layers > 0 && !with_loss)
    unmodelled("a prediction module that is not beside the loss");
  parallel.virtual_stages = static_cast<int>(parallel.stage_layers.size() / stages);
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

void MegatronMapper::map_layout() {
  Parallel& parallel = out_.job.parallel;
  const auto per_chunk = in_.integer("num-layers-per-virtual-pipeline-stage");
  const auto chunks = in_.integer("num-virtual-stages-per-pipeline-rank");
  // Megatron-DeepSpeed's way to count both ends as layers.
  const std::string method = in_.text("pp-partition-method", "type:transformer");
  const bool both = method == "type:transformer|embedding";
  if (!both && method != "type:transformer" && method != "uniform")
    unmodelled("pp-partition-method " + method);
  const bool embedding = in_.flag("account-for-embedding-in-pipeline-split") || both;
  const bool loss = in_.flag("account-for-loss-in-pipeline-split") || both;
  const auto first = in_.integer("decoder-first-pipeline-num-layers");
  const auto last = in_.integer("decoder-last-pipeline-num-layers");
  parallel.microbatch_group = in_.integer("microbatch-group-size-per-virtual-pipeline-stage", 0);
  const std::string layout = in_.text("pipeline-model-parallel-layout");
  if (parallel.pipeline <= 1) return;
  const int layers = out_.job.model.layers;
  const int counted = layers + (embedding ? 1 : 0) + (loss ? 1 : 0);
  if (chunks) parallel.virtual_stages = std::max(1, *chunks);
  if (per_chunk && *per_chunk > 0)
    parallel.virtual_stages = std::max(1, counted / parallel.pipeline / *per_chunk);
  if (!layout.empty())
    map_written_layout(layout);
  else if (first || last)
    map_uneven_ends(first, last);
  else
    map_even_layout(embedding, loss);
  if (parallel.virtual_stages > 1) parallel.schedule = ScheduleKind::interleaved;
  int sum = 0;
  for (const int count : parallel.stage_layers) sum += count;
  if (!parallel.stage_layers.empty() && sum != layers)
    in_.error("the pipeline split holds " + std::to_string(sum) + " of " + std::to_string(layers) +
              " layers");
}

}  // namespace foretrain
