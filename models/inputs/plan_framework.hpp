// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "models/base/names.hpp"

namespace foretrain {

/// The program that runs a plan, where it cannot run all plans of the stack whose kernels it uses.
enum class PlanFramework {
  any,
  transformers,
  accelerate,
  axolotl,
  llamafactory,
  torchtune,
  lightning,
  horovod
};
FORETRAIN_ENUM_NAMES(PlanFramework, {PlanFramework::any, "any"},
                     {PlanFramework::transformers, "transformers"},
                     {PlanFramework::accelerate, "accelerate"}, {PlanFramework::axolotl, "axolotl"},
                     {PlanFramework::llamafactory, "llamafactory"},
                     {PlanFramework::torchtune, "torchtune"},
                     {PlanFramework::lightning, "lightning"}, {PlanFramework::horovod, "horovod"});

/// Which ways to split a model a framework has, beside replicas and their shards.
struct PlanFrameworkTraits {
  PlanFramework framework = PlanFramework::any;
  std::string_view title;
  bool tensor = false;
  bool context = false;
  bool pipeline = false;
  bool expert = false;
};

inline constexpr std::array plan_frameworks{
    PlanFrameworkTraits{PlanFramework::any, "any framework", true, true, true, true},
    PlanFrameworkTraits{PlanFramework::transformers, "the Hugging Face Trainer"},
    PlanFrameworkTraits{PlanFramework::accelerate, "accelerate's ParallelismConfig", true, true},
    PlanFrameworkTraits{PlanFramework::axolotl, "Axolotl", true, true},
    PlanFrameworkTraits{PlanFramework::llamafactory, "LLaMA-Factory"},
    PlanFrameworkTraits{PlanFramework::torchtune, "torchtune", true},
    PlanFrameworkTraits{PlanFramework::lightning, "Lightning", true},
    PlanFrameworkTraits{PlanFramework::horovod, "Horovod"}};

[[nodiscard]] constexpr const PlanFrameworkTraits& traits_of(PlanFramework framework) {
  for (const PlanFrameworkTraits& traits : plan_frameworks)
    if (traits.framework == framework) return traits;
  return plan_frameworks.front();
}

}  // namespace foretrain
