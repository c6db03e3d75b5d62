// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "planner/answer/answer.hpp"
#include "planner/forecast/report.hpp"

namespace foretrain {

/// What a sentence such as "2 T tokens on 1024 H100 in 7 days" states. Absent: not said.
struct Claim {
  std::optional<double> tokens;
  std::optional<int> gpus;
  std::optional<std::string> device;  ///< as written, e.g. "H100"
  std::optional<Seconds> duration;
};

/// Reads a claim. Understood: tokens with k, M, B or T; a count of GPUs, "GPUs" or a device name;
/// a duration in minutes, hours, days, weeks, months (30 days) or years; little words between.
/// @throws UsageError naming the word that is not understood, or a part said twice, and what is.
[[nodiscard]] Claim parse_claim(const std::string& text);

enum class ClaimVerdict { impossible, unpublished, ambitious, plausible };
FORETRAIN_ENUM_NAMES(ClaimVerdict, {ClaimVerdict::impossible, "impossible"},
                     {ClaimVerdict::unpublished, "beyond anything published"},
                     {ClaimVerdict::ambitious, "ambitious"},
                     {ClaimVerdict::plausible, "plausible"});

/// A claim with its blanks filled in from the scenario, and the MFU that it needs.
struct ClaimCheck {
  double tokens = 0.0;
  int gpus = 0;
  Seconds duration;
  bool tokens_from_scenario = false;
  bool gpus_from_scenario = false;
  bool duration_from_forecast = false;
  std::string device;  ///< title
  std::string precision;
  std::string convention;  ///< of the FLOPs
  Flop flops_per_token;
  FlopPerSecond peak_per_gpu;
  double mfu = 0.0;                    ///< needed
  std::optional<double> forecast_mfu;  ///< what the scenario itself is forecast to reach
  double best_published = 0.0;         ///< see published_mfu()
  std::string best_published_source;
  ClaimVerdict verdict = ClaimVerdict::plausible;
};

/// Computes the MFU that a claim needs: tokens x FLOPs per token / (GPUs x peak x duration), on the
/// scenario's device, in its precision and with its model.
/// @throws UsageError when the claim names another device, or when a part is neither in the claim
///   nor in the scenario or forecast.
[[nodiscard]] ClaimCheck check_claim(const Report& report, const Claim& claim,
                                     AttentionFlops convention = AttentionFlops::full);

/// The highest MFU that has been published for a kind of device and precision, with its source.
struct PublishedMfu {
  double mfu = 0.0;
  std::string source;
};

[[nodiscard]] Answer claim_answer(const ClaimCheck& check);
[[nodiscard]] std::string claim_json(const ClaimCheck& check);

}  // namespace foretrain
