// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/imports/frameworks/internal/tuning_files.hpp"

namespace foretrain::tuning {

/// Arguments of OpenRLHF's train_sft and train_dpo, known by `pretrain` with
/// `micro_train_batch_size`, as the Trainer calls them, and the DeepSpeed configuration that its
/// strategy makes of them. Others stay as they are.
void turn_openrlhf_keys(TuningFiles& files);

}  // namespace foretrain::tuning
