// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/forecast/report.hpp"

namespace foretrain::fixtures {

/// A Llama-2-70B job on 1024 H100; the numbers of the forecasts below are made up but consistent.
[[nodiscard]] Job job();
/// A forecast that fits: eight stages, every breakdown part positive, everything known.
[[nodiscard]] Report fitting();
/// The same with `stages` stages whose memory all differ.
[[nodiscard]] Report with_stages(int stages);
/// A forecast whose first stage needs more than there is.
[[nodiscard]] Report out_of_memory();
/// A plan that breaks two rules.
[[nodiscard]] Report illegal();

}  // namespace foretrain::fixtures
