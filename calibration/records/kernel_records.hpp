// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// One measured kernel or link, as calibration/measured/README.md describes kernels.csv.
struct KernelRecord {
  std::string id;
  std::string source;
  std::string op;  ///< operation, behind a colon the library that ran it
  std::string gpu;
  std::string dtype;
  std::optional<double> m;
  std::optional<double> n;
  std::string shape;  ///< depth of a product, or the shape in the words of the source
  std::optional<double> tflops;
  std::optional<double> gbs;
  std::optional<double> time_us;
  std::string note;

  /// The repository or site of the source without its owner: "aiconfigurator".
  [[nodiscard]] std::string family() const;
};

/// The shipped tables in calibration/measured: before 2025, and after.
inline constexpr std::array<const char*, 2> kernel_tables{"kernels.csv", "kernels_2026.csv"};

/// Reads a table in the format of calibration/measured/kernels.csv. Every malformed line becomes a
/// diagnostic under the name `file`.
[[nodiscard]] std::vector<KernelRecord> read_kernel_records(const std::string& text,
                                                            const std::string& file,
                                                            Diagnostics& diagnostics);

}  // namespace foretrain
