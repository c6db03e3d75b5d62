// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/memory_part.hpp"

#include <array>

namespace foretrain {
namespace {

constexpr std::string_view stage_plan =
    "model parallel.tensor parallel.sequence parallel.pipeline parallel.virtual_stages "
    "parallel.data parallel.zero training.precision";

constexpr auto categories = std::to_array<MemoryPart>(
    {{&StageMemory::weights, "weights", 'W', palette::blue, true,
      "Resident weights of one GPU, in bytes.",
      "parameters of the stage / tensor x bytes per weight (a tied or untied embedding on the end "
      "stages); sharded over data ranks under ZeRO-3",
      stage_plan},
     {&StageMemory::gradients, "gradients", 'G', palette::purple, true,
      "Resident gradients of one GPU, in bytes.",
      "parameters of the stage / tensor x bytes per gradient; sharded over data ranks from ZeRO-2",
      stage_plan},
     {&StageMemory::optimizer, "optimizer", 'O', palette::green, true,
      "Master weights and moments of one GPU, in bytes.",
      "parameters of the stage / tensor x bytes of optimizer state; sharded over data ranks from "
      "ZeRO-1",
      "model parallel.tensor parallel.pipeline parallel.data parallel.zero training.optimizer"},
     {&StageMemory::activations, "activations", 'A', palette::orange, true,
      "Tensors kept for the backward pass at the stage's peak, in bytes.",
      "bytes kept per layer and micro-batch x layers x micro-batches in flight (1F1B: stages - "
      "stage), plus embedding or loss on the end stages",
      "model training.sequence training.micro_batch parallel.tensor parallel.sequence "
      "parallel.pipeline parallel.schedule memory.recompute memory.attention"},
     {&StageMemory::buffers, "buffers", 'B', palette::yellow, true,
      "Temporary buffers and workspaces, in bytes.",
      "cuBLAS and Transformer Engine workspaces, transient tensors of one layer, gathered tensors",
      "stack training.micro_batch training.sequence"},
     {&StageMemory::communication, "communication", 'C', palette::sky, false,
      "Buffers of the communication library, in bytes.",
      "communicators of the rank x bytes per communicator",
      "parallel.tensor parallel.pipeline parallel.data communication.backend"},
     {&StageMemory::context, "context", 'X', palette::grey, false,
      "CUDA context and loaded kernels, in bytes.", "constant of the stack", "stack"},
     {&StageMemory::fragmentation, "fragmentation", 'F', palette::vermilion, false,
      "Memory that the caching allocator cannot use.",
      "allocated_bytes x (reserved over allocated - 1)", "stack @memory.peak_stage"}});

}  // namespace

std::span<const MemoryPart> memory_parts() { return categories; }

}  // namespace foretrain
