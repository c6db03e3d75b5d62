// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "models/task_graph.hpp"

namespace foretrain {

/// How a role of a task looks in a Gantt chart: a letter where there is no colour (every second
/// micro-batch in lower case), a coloured block or area with it.
struct TaskLook {
  TaskRole role;
  const char* name;
  char letter;
  const char* color;  ///< ANSI 256-colour number
  const char* paint;  ///< of pictures; told apart with any common colour blindness (Okabe, Ito)
};

inline constexpr std::array<TaskLook, 14> task_looks{
    {{TaskRole::forward, "forward", 'F', "32", "#0072b2"},
     {TaskRole::backward, "backward", 'B', "214", "#e69f00"},
     {TaskRole::input_gradient, "input gradient", 'I', "166", "#d55e00"},
     {TaskRole::weight_gradient, "weight gradient", 'W', "36", "#009e73"},
     {TaskRole::tensor, "tensor exchange", 'T', "227", "#f0e442"},
     {TaskRole::context, "context exchange", 'K', "223", "#e8c9a0"},
     {TaskRole::expert, "expert exchange", 'E', "152", "#9fd3c7"},
     {TaskRole::transfer, "transfer", 'S', "117", "#56b4e9"},
     {TaskRole::gradients, "gradient reduction", 'G', "175", "#cc79a7"},
     {TaskRole::weights, "weight gathering", 'A', "96", "#7f4f8c"},
     {TaskRole::optimizer, "optimizer", 'O', "238", "#333333"},
     {TaskRole::input, "input", 'N', "137", "#8c6d46"},
     {TaskRole::offload, "offload", 'M', "103", "#6b7a8f"},
     {TaskRole::constant, "fixed cost", 'C', "246", "#9a9a9a"}}};

[[nodiscard]] constexpr const TaskLook& look_of(TaskRole role) {
  for (const TaskLook& look : task_looks)
    if (look.role == role) return look;
  return task_looks.back();
}

}  // namespace foretrain
