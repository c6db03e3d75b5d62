// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "models/step/task_graph.hpp"
#include "planner/text/palette.hpp"

namespace foretrain {

/// How a role of a task looks in a Gantt chart: a letter where there is no colour (every second
/// micro-batch in lower case), a coloured block or area with it.
struct TaskLook {
  TaskRole role;
  const char* name;
  char letter;
  Paint paint;
};

inline constexpr std::array<TaskLook, 14> task_looks{
    {{TaskRole::forward, "forward", 'F', palette::blue},
     {TaskRole::backward, "backward", 'B', palette::orange},
     {TaskRole::input_gradient, "input gradient", 'I', palette::vermilion},
     {TaskRole::weight_gradient, "weight gradient", 'W', palette::violet},
     {TaskRole::tensor, "tensor exchange", 'T', palette::yellow},
     {TaskRole::context, "context exchange", 'K', palette::sand},
     {TaskRole::expert, "expert exchange", 'E', palette::mint},
     {TaskRole::transfer, "transfer", 'S', palette::sky},
     {TaskRole::gradients, "gradient reduction", 'G', palette::purple},
     {TaskRole::weights, "weight gathering", 'A', palette::steel},
     {TaskRole::optimizer, "optimizer", 'O', palette::green},
     {TaskRole::input, "input", 'N', palette::brown},
     {TaskRole::offload, "offload", 'M', palette::slate},
     {TaskRole::constant, "fixed cost", 'C', palette::silver}}};

[[nodiscard]] constexpr const TaskLook& look_of(TaskRole role) {
  for (const TaskLook& look : task_looks)
    if (look.role == role) return look;
  return task_looks.back();
}

}  // namespace foretrain
