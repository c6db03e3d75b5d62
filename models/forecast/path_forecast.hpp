// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/prediction.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/inputs/job.hpp"
#include "models/layers/flops.hpp"
#include "models/step/path.hpp"

namespace foretrain {

/// How much longer a step takes than expected where something is slower: what is hidden shows only
/// then. Shares of the step, 0 or more. The job has to outlive this.
class SlowerStep {
 public:
  explicit SlowerStep(const Job& job);

  /// NICs reach half of what is expected of them: traffic that hides behind kernels no longer does.
  [[nodiscard]] double network() const;
  /// GPUs that PCIe joins reach each other as slowly as on the slowest host that was measured.
  [[nodiscard]] double pcie() const;
  /// The processor takes twice as long for launches, which then show where kernels are small.
  [[nodiscard]] double launches() const;
  /// What routes, permutes and runs experts is slower; 0 of a dense model.
  [[nodiscard]] double experts() const;
  /// How much of the step comes of uneven routing: what it takes beyond one with forced balance.
  [[nodiscard]] double routing() const;

 private:
  [[nodiscard]] Seconds seconds(const Job& job) const;
  [[nodiscard]] double longer(const Job& slow) const;

  const Job& job_;
  StageLayout layout_;
  Seconds expected_;
};

/// One step of a job as a task graph, with the start and end of every task.
struct StepPath {
  TaskGraph graph;
  Timeline timeline;
  double jitter = 0.0;   ///< stragglers among many hosts, as in StepCosts
  double release = 1.0;  ///< of the stack, as in StepCosts

  /// Step over makespan.
  [[nodiscard]] double stretch() const { return (1.0 + jitter) * release; }
};

/// @pre broken_rules(job) and not_modelled(job) are empty.
/// @throws TooLarge where it has more than most_graph_tasks
[[nodiscard]] StepPath step_path(const Job& job, const StageLayout& layout,
                                 Detail detail = Detail::pass);

/// Time and breakdown of a step by the longest path through its task graph, without a band.
[[nodiscard]] StepForecast step_forecast(const StepPath& path);

/// step_forecast(step_path()) whatever the number of micro-batches: a step that is long is told by
/// two that are shorter (schedule.hpp).
/// @pre broken_rules(job) and not_modelled(job) are empty.
[[nodiscard]] StepForecast path_step(const Job& job, const StageLayout& layout);

/// As closed_form(), but the step is the longest path through the task graph.
[[nodiscard]] Prediction path_forecast(const Job& job,
                                       AttentionFlops convention = AttentionFlops::full);

}  // namespace foretrain
