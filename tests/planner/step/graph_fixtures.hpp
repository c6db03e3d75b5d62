// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/step/path.hpp"
#include "models/step/task_graph.hpp"

namespace foretrain::fixtures {

/// Shape of a hand-made step.
struct StepShape {
  int stages = 4;
  int microbatches = 8;
  bool split_backward = false;  ///< input and weight gradients apart
  bool transfers = true;
  int layers = 1;  ///< tasks per pass
};

/// A 1F1B step: forward 1 ms, backward 2 ms, transfers 0.1 ms, gathering of weights before the
/// first pass 0.5 ms, gradients after the last 0.8 ms, fixed cost 0.3 ms, optimizer 0.2 ms.
[[nodiscard]] TaskGraph step_graph(const StepShape& shape);

}  // namespace foretrain::fixtures
