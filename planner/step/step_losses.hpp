// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/forecast/report.hpp"
#include "planner/scene/number_units.hpp"

namespace foretrain {

struct Scene;
struct SceneSpace;

/// A setting that makes one loss smaller, forecast with the closed form.
struct Lever {
  std::vector<std::string> settings;  ///< as for --set
  Seconds loss_before;
  Seconds loss_after;
  Seconds step_before;
  Seconds step_after;
  Bytes peak;  ///< of the heaviest stage after the change
};

/// One reason why a step takes longer than its model FLOPs at peak.
struct StepLoss {
  std::string key;  ///< as in waterfall.hpp
  std::string label;
  Seconds time;            ///< may be negative for "kernels", see waterfall.hpp
  double factor = 1.0;     ///< of the MFU: what stands before this loss over what stands after it
  double mfu_after = 1.0;  ///< product of the factors so far
  std::string cause;       ///< one sentence with the numbers behind it
  std::optional<Lever> lever;  ///< absent where no setting that was tried helps and fits
};

/// The way from 100 % to the MFU. ideal + the losses' times = the step, and the product of their
/// factors = ideal / step = the MFU.
struct StepLosses {
  bool feasible = true;  ///< false: of a plan that does not fit, as if it did
  Seconds ideal;         ///< model FLOPs at the peak of all GPUs
  Seconds step;
  double mfu = 0.0;
  std::string ideal_cause;
  std::vector<StepLoss> losses;  ///< kernels, recompute, tensor, context, expert, bubble, pipeline,
                                 ///< data, optimizer, input, launch, imbalance; those not zero
};

/// @pre the forecast has flops, and step or if_it_fit
[[nodiscard]] StepLosses step_losses(const Report& report);

/// Losses with a setting that shortens the step, the most first.
[[nodiscard]] std::vector<const StepLoss*> losses_by_gain(const StepLosses& losses);
/// "step 8.31 s -> 8.02 s (-3.5 %), peak 61.2 GiB"
[[nodiscard]] std::string effect_text(const Lever& lever, const NumberUnits& units = {});

/// The table of losses, then a section for each. @param source words that read the scenario again
[[nodiscard]] Answer step_losses_answer(const Report& report, const StepLosses& losses,
                                        const std::string& source = {});
/// The same as one folded section, a row per loss.
[[nodiscard]] AnswerSection step_losses_section(const StepLosses& losses);
/// Schema step-losses/1: planner/README.md, "Output".
[[nodiscard]] std::string step_losses_json(const StepLosses& losses);

/// From the model's FLOPs at peak rate to the step: a bar per loss, each beginning where the one
/// above it ends. @pre report.prediction has a step, perhaps of a plan that does not fit, and FLOPs
[[nodiscard]] Scene waterfall_chart(const Report& report, const StepLosses* losses,
                                    const SceneSpace& space);
[[nodiscard]] std::string waterfall_csv(const Report& report);

}  // namespace foretrain
