// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "models/base/prediction.hpp"
#include "models/layers/flops.hpp"
#include "sim/step/event_run.hpp"

namespace foretrain {

struct EventForecast {
  Prediction prediction;        ///< without a step where the run was stopped
  std::optional<EventRun> run;  ///< absent where the plan cannot run
};

/// As path_forecast(), but the step is played on the fabric. What makes a run impossible is a
/// reason of the prediction.
[[nodiscard]] EventForecast event_forecast(const Job& job, const Fabric& fabric,
                                           AttentionFlops convention = AttentionFlops::full,
                                           const EventOptions& options = {});

}  // namespace foretrain
