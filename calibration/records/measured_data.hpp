// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/fields/field_reader.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Reads the shipped file `calibration/measured/NAME` and checks it against its keys.
/// @throws ScenarioError with the places of what is wrong
[[nodiscard]] FieldValues read_measured_data(const std::string& name, const FieldTable& table,
                                             Diagnostics& diagnostics);

/// One measured collective at one size, as calibration/measured/README.md describes
/// nccl_sweeps.csv.
struct SweepRecord {
  std::string sweep;  ///< points with one name form a sweep over sizes
  std::string source;
  std::string
      collective;  ///< all_reduce, all_gather, reduce_scatter, alltoall, broadcast, sendrecv
  std::string gpu;
  int nodes = 0;
  int gpus_per_node = 0;
  std::string network;  ///< words of the source
  double size_bytes = 0.0;
  std::optional<double> time_us;
  std::optional<double> busbw_gbs;
  bool in_place = false;
  std::string host;    ///< catalog name of the hosts; empty: by GPU
  std::string fabric;  ///< catalog name of the fabric preset; empty: by the words for the network
  std::string note;    ///< "calls=20"

  [[nodiscard]] std::string id() const;
  /// The repository or site of the source without its owner.
  [[nodiscard]] std::string family() const;
};

/// Reads a table in the format of calibration/measured/nccl_sweeps.csv. Every malformed line
/// becomes a diagnostic under the name `file`.
[[nodiscard]] std::vector<SweepRecord> read_sweep_records(const std::string& text,
                                                          const std::string& file,
                                                          Diagnostics& diagnostics);

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
