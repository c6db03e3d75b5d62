// SPDX-License-Identifier: Apache-2.0
#include "models/memory/memory_band.hpp"

#include <cmath>

namespace foretrain {
namespace {

// Errors of runs outside of what stacks were fitted on: calibration/docs/memory.md, "Bands by
// kind".
constexpr MemoryDoubt hybrid{0.21, "few hybrids were measured, and those were up to 21 % off"};
constexpr MemoryDoubt graphs{
    0.12, "pools of CUDA graphs were up to 24 GiB off: what a capture holds on to depends on it"};
constexpr MemoryDoubt narrow_base{
    0.1, "packed bases were 4 to 10 % off: what unpacking holds is not known"};
constexpr MemoryDoubt kin{0.3, "no run of this framework was measured, its nearest kin's were"};

}  // namespace

std::vector<MemoryDoubt> memory_doubts(const Job& job) {
  std::vector<MemoryDoubt> doubts;
  if (job.model.is_hybrid()) doubts.push_back(hybrid);
  if (job.training.cuda_graphs.any()) doubts.push_back(graphs);
  if (job.fine_tuning.packs_frozen()) doubts.push_back(narrow_base);
  if (job.stack.bands && job.stack.provenance.trust == Trust::datasheet) doubts.push_back(kin);
  return doubts;
}

double memory_band(const Job& job) {
  double band = job.stack.memory.band;
  for (const MemoryDoubt& doubt : memory_doubts(job)) band = std::hypot(band, doubt.share);
  return band;
}

double reserved_band(const Job& job) {
  return std::hypot(memory_band(job), job.stack.memory.reserved_band);
}

}  // namespace foretrain
