// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/forecast/goodput_study.hpp"

namespace foretrain {

/// As study_goodput(), with steps played by the event engine: that of the whole machine, and those
/// of the states in which the job runs on, slower: 1, 2, 4 and 8 NICs out (between these numbers
/// linear, beyond them as with 8; in the mean over three places), one switch of each level out
/// (mean by their number; the same for more), one host with the kernels of operations.fail_slow.
/// Each state is played once, all data replicas of it. Parts of other kinds keep the pace that the
/// scenario gives.
/// @throws UsageError where the fabric cannot be built, or where a state cuts ranks off
[[nodiscard]] GoodputStudy play_goodput(Scenario scenario, const GoodputOptions& options);

}  // namespace foretrain
