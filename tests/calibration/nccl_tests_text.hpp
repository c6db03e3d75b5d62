// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/imports/imported_log.hpp"

namespace foretrain {

/// One sweep as nccl-tests prints it, to the digits that it prints. @pre one operation, one
/// machine; every record has a time or a bus bandwidth above zero
[[nodiscard]] std::string nccl_tests_text(const std::vector<SweepRecord>& sweep);

}  // namespace foretrain
