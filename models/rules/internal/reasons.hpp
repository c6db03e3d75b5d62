// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Reasons against a plan, in the order in which rules find them.
using Reasons = std::vector<Infeasible>;

/// The plan breaks `rule`: what is wrong at `key`, and the nearest that would be right.
inline void break_rule(Reasons& reasons, std::string_view rule, std::string_view key,
                       std::string message, std::string remedy) {
  reasons.push_back({std::string(rule), std::string(key), std::move(message), std::move(remedy)});
}

/// What `key` asks for has no forecast of its time.
inline void refuse(Reasons& reasons, std::string_view key, std::string message,
                   std::string remedy) {
  break_rule(reasons, not_modelled_rule, key, std::move(message), std::move(remedy));
}

// Parts of broken_rules() and not_modelled().

/// Rules of fine-tuning that the job breaks.
[[nodiscard]] Reasons broken_fine_tuning_rules(const Job& job);
/// What of its fine-tuning and its samples is not modelled.
[[nodiscard]] Reasons fine_tuning_not_modelled(const Job& job);

/// What is not modelled of its update rule with this plan, by key.
void refuse_optimizers(const Job& job, Reasons& reasons);
/// Weights that are updated in the backward pass have no gradients to sum over micro-batches.
void check_accumulation(const Job& job, Reasons& reasons);

/// Cuts of mixers over tensor ranks that their heads and groups do not allow (Megatron-Core,
/// `ssm/mamba_mixer.py`).
void check_mixers(const Job& job, Reasons& reasons);
/// What of the model has to lie on one stage, and is not.
void check_stages(const Job& job, Reasons& reasons);
/// What is not modelled of hybrid layers with this plan, by key.
void refuse_hybrids(const Job& job, Reasons& reasons);

/// What is not modelled of images with this plan, by key.
void refuse_images(const Job& job, Reasons& reasons);

}  // namespace foretrain
