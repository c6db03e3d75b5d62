// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/inputs/job.hpp"

namespace foretrain {

/// Keys of training, fine-tuning, plan, memory and communication that differ from a plain job of
/// the same precision, each as "section.key: value": what an export that said the others has left.
[[nodiscard]] std::vector<std::string> key_differences(const Job& rest);

}  // namespace foretrain
