// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "scenarios/imports/frameworks/frameworks.hpp"

namespace foretrain {

/// Why a key of a configuration changes neither memory nor time of a step.
enum class NoEffect {
  naming,      ///< names, places, accounts
  reporting,   ///< logs, trackers, profilers
  saving,      ///< checkpoints of the source: their rate is `operations`' to say
  evaluation,  ///< passes between steps
  contents,    ///< which samples and tokens, not how many
  amounts,     ///< numbers inside of the same arithmetic: rates, decays, scales, seeds
  starting,    ///< launch, loading, first values
  elsewhere    ///< a plan or device that is read from other keys or that the run does not use
};

/// Keys with one reason; "group.*" stands for everything under a group.
struct NoEffectKeys {
  NoEffect why;
  std::vector<std::string_view> keys;
};

/// The one list of what an importer passes over as changing nothing.
[[nodiscard]] const std::vector<NoEffectKeys>& no_effect_keys(Framework framework);

}  // namespace foretrain
