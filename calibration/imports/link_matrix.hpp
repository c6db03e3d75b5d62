// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/imports/imported_log.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// One matrix of nvbandwidth: rows and columns are the host or GPUs.
struct LinkMatrix {
  std::string test;   ///< "device_to_device_memcpy_read_ce"
  std::string title;  ///< "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)"
  int line = 0;
  std::vector<std::vector<std::optional<double>>> rows;
  std::vector<int> lines;  ///< of the rows
};

/// Adds the matrix's links to the log. A unit other than GB/s and ns, rows of different lengths,
/// and a sum that is not the matrix's are flagged and the matrix is left out.
/// @param sum as the tool prints it; nothing: it does not
void add_link_matrix(const LinkMatrix& matrix, std::optional<double> sum, ImportedLog& log);

/// Sets the log's product from "NVIDIA H100 80GB HBM3 (00000000:1b:00.0)"; GPUs of several products
/// become a diagnostic.
void add_link_device(const std::string& text, int line, ImportedLog& log, Diagnostics& diagnostics);

}  // namespace foretrain
