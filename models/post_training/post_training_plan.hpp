// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"
#include "models/serving/request_load.hpp"

namespace foretrain {

/// How a policy learns from its own answers. PPO has a critic (arXiv 1707.06347); GRPO
/// (2402.03300), DAPO (2503.14476), RLOO (2402.14740) and REINFORCE++ (2501.03262) compare answers
/// without one; online DPO (2402.04792) trains on pairs of them.
enum class PolicyAlgorithm : std::uint8_t { grpo, ppo, dapo, rloo, reinforce_pp, online_dpo };
FORETRAIN_ENUM_NAMES(PolicyAlgorithm, {PolicyAlgorithm::grpo, "grpo"},
                     {PolicyAlgorithm::ppo, "ppo"}, {PolicyAlgorithm::dapo, "dapo"},
                     {PolicyAlgorithm::rloo, "rloo"},
                     {PolicyAlgorithm::reinforce_pp, "reinforce++"},
                     {PolicyAlgorithm::online_dpo, "online-dpo"});

/// The program that runs the loop: what its clocks count. Its own time is one for all
/// (models/post_training/README.md, "Loops").
enum class PolicyLoop : std::uint8_t { generic, verl, nemo_rl, openrlhf, slime, skyrl, trl };
FORETRAIN_ENUM_NAMES(PolicyLoop, {PolicyLoop::generic, "generic"}, {PolicyLoop::verl, "verl"},
                     {PolicyLoop::nemo_rl, "nemo-rl"}, {PolicyLoop::openrlhf, "openrlhf"},
                     {PolicyLoop::slime, "slime"}, {PolicyLoop::skyrl, "skyrl"},
                     {PolicyLoop::trl, "trl"});

/// Whether generation and training take turns on the same GPUs or have GPUs of their own.
enum class RolloutPlacement : std::uint8_t { colocated, separate };
FORETRAIN_ENUM_NAMES(RolloutPlacement, {RolloutPlacement::colocated, "colocated"},
                     {RolloutPlacement::separate, "separate"});

/// How new weights reach the engine: tensor by tensor, in buckets, or by a service that overlaps
/// gathering with broadcasting (checkpoint-engine, NIXL).
enum class SyncPath : std::uint8_t { per_tensor, buckets, checkpoint_engine };
FORETRAIN_ENUM_NAMES(SyncPath, {SyncPath::per_tensor, "per-tensor"}, {SyncPath::buckets, "buckets"},
                     {SyncPath::checkpoint_engine, "checkpoint-engine"});

/// One step of post-training: `post_training` of a scenario.
struct PostTrainingPlan {
  PolicyAlgorithm algorithm = PolicyAlgorithm::grpo;
  PolicyLoop loop = PolicyLoop::generic;
  int prompts = 0;    ///< per step
  int answers = 1;    ///< per prompt
  TokenLaw prompt{};  ///< tokens
  TokenLaw answer{};  ///< tokens; `mean` is of answers that were cut to `most`
  int epochs = 1;     ///< passes of training over the answers of a step
  double kept = 1.0;  ///< dynamic sampling: share of the prompts generated that are trained on
  /// Log-probabilities of the answers are computed again by the trainer, not taken from the engine.
  bool old_log_probs = true;
  std::optional<bool> reference{};  ///< log-probabilities of a frozen copy; absent: by `algorithm`
  bool reward_model = false;        ///< a forward pass of a model of the policy's size
  Seconds reward_time{};            ///< of all rewards of a step that nothing hides
  int turns = 1;                    ///< generations of one answer, tools between them
  Seconds tool_wait{};              ///< between two turns
  RolloutPlacement placement = RolloutPlacement::colocated;
  int generation_gpus = 0;  ///< of `separate`
  /// Steps that generation may be ahead of training: 0 takes turns, 1 is one-step-off-policy.
  double staleness = 0.0;
  /// Answers that are not done go on after the weights changed: no step waits for the longest.
  bool partial_rollouts = false;
  SyncPath sync = SyncPath::buckets;
  bool offload = true;  ///< colocated: the trainer's states rest in host memory while it generates

  /// A second model of the policy's size is trained.
  [[nodiscard]] bool critic() const { return algorithm == PolicyAlgorithm::ppo; }
  [[nodiscard]] bool has_reference() const {
    return reference.value_or(algorithm != PolicyAlgorithm::dapo);
  }
  [[nodiscard]] bool overlaps() const { return staleness > 0.0; }
  /// Answers that a step trains on.
  [[nodiscard]] double samples() const { return static_cast<double>(prompts) * answers; }
  /// Answers that a step generates.
  [[nodiscard]] double generated() const { return samples() / kept; }
};

/// A law of lengths as quantiles: uniform around its mean, or log-normal, cut to `most`. A cut
/// log-normal law keeps its mean: what lies below the cut is longer for it.
/// @pre law.mean > 0
class TokenLengths {
 public:
  explicit TokenLengths(const TokenLaw& law);

  /// Tokens that a share of all does not exceed. @pre 0 < share < 1
  [[nodiscard]] double quantile(double share) const;
  /// The middles of `count` equal shares, ascending. @pre count >= 1
  [[nodiscard]] std::vector<double> middles(int count) const;
  /// Where the longest of `count` draws is expected. @pre count >= 1
  [[nodiscard]] double longest(double count) const;
  /// Standard deviation.
  [[nodiscard]] double deviation() const;

 private:
  TokenLaw law_;
  double middle_ = 0.0;  ///< of the logarithm
  double spread_ = 0.0;
};

}  // namespace foretrain
