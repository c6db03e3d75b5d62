// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "calibration/harness/common/gemm_shapes.hpp"

namespace foretrain::harness {

struct GpubenchOptions {
  int device = 0;
  double budget_s = 240.0;
  std::vector<NumberType> types{NumberType::bf16, NumberType::fp16, NumberType::fp8,
                                NumberType::tf32, NumberType::fp32};
  std::string shapes_file;  ///< empty: default_cases()
  std::string out_file;     ///< empty: standard output
  bool help = false;
};

/// @return the options, or one sentence about the first thing that is wrong.
[[nodiscard]] std::variant<GpubenchOptions, std::string> parse_gpubench(
    const std::vector<std::string>& arguments);

[[nodiscard]] std::string_view gpubench_help();

}  // namespace foretrain::harness
