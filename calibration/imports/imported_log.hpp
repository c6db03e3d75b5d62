// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/records/kernel_records.hpp"
#include "calibration/records/sweep_records.hpp"
#include "models/base/names.hpp"

namespace foretrain {

/// Files that measurements are read from.
enum class LogFormat {
  nccl_tests,
  nccl_tests_json,
  perftest,
  nccl_inspector,
  nvbandwidth,
  nvbandwidth_json,
  kineto,
  mlperf,
  harness,
  kernel_table,
  sweep_table,
  run_records
};
FORETRAIN_ENUM_NAMES(LogFormat, {LogFormat::nccl_tests, "nccl-tests"},
                     {LogFormat::nccl_tests_json, "nccl-tests-json"},
                     {LogFormat::perftest, "perftest"},
                     {LogFormat::nccl_inspector, "nccl-inspector"},
                     {LogFormat::nvbandwidth, "nvbandwidth"},
                     {LogFormat::nvbandwidth_json, "nvbandwidth-json"},
                     {LogFormat::kineto, "kineto"}, {LogFormat::mlperf, "mlperf"},
                     {LogFormat::harness, "harness"}, {LogFormat::kernel_table, "kernels-csv"},
                     {LogFormat::sweep_table, "sweeps-csv"}, {LogFormat::run_records, "runs-yaml"});

/// What a reader is told that logs do not say.
struct ImportOptions {
  std::string gpu;         ///< catalog device or product name, where the log names none
  int nodes = 0;           ///< 0: as the log says
  int gpus_per_node = 0;   ///< 0: as the log says
  std::string collective;  ///< of nccl-tests: "all_gather", where the log leaves it open
  std::string network;     ///< words for what connects the hosts
  std::string host;        ///< catalog name of the hosts
  std::string fabric;      ///< catalog name of the fabric preset
};

/// Something in a log that was not taken as it stands.
struct FlaggedRow {
  int line = 0;
  bool kept = false;  ///< the row counts all the same; false: it was left out
  std::string what;
};

/// What a log says about where it was written; empty: nothing.
struct LogFacts {
  std::string tool;     ///< "nccl-tests", "gpubench", ...
  std::string gpu;      ///< product name
  std::string device;   ///< catalog name of that product; empty: none
  std::string driver;   ///< NVIDIA driver release
  std::string library;  ///< "NCCL 2.26.6", "CUDA 13.0"
  std::string date;     ///< year-month-day
  std::string benchmark;
  int gpus = 0;
  int nodes = 0;
  std::optional<double> power_limit_w;
  std::optional<double> highest_clock_mhz;
};

/// The rate, or the latency, of one link: a NIC, a pair of GPUs, a GPU and its host.
struct LinkRate {
  std::string kind;  ///< "nic-write", "nic-read", "nic-send", "host-to-device", "peer", ...
  std::string link;  ///< "mlx5_3", "GPU 2", "GPU 0 - GPU 1"
  double bytes = 0.0;
  std::optional<double> gbs;      ///< 1e9 byte/s
  std::optional<double> time_us;  ///< of a latency
  int line = 0;
};

/// A whole training run as a log tells it: how long a step took, and what else it says.
struct LoggedRun {
  std::string id;
  std::string benchmark;
  std::string platform;
  double step_s = 0.0;  ///< median
  double low_s = 0.0;   ///< 5th percentile of the steps or blocks
  double high_s = 0.0;
  int samples = 0;  ///< steps or blocks that the median is of
  std::optional<int> global_batch;
  std::optional<int> sequence;
  std::optional<double> run_minutes;
  std::string how;  ///< which figures of the log the step time comes from
  int line = 0;
};

/// One file as records.
struct ImportedLog {
  std::string file;
  LogFormat format = LogFormat::nccl_tests;
  LogFacts facts;
  std::vector<SweepRecord> sweeps;
  std::vector<KernelRecord> kernels;
  std::vector<LinkRate> links;
  std::vector<LoggedRun> runs;
  std::string run_records;  ///< the text of a file in the format of runs.yaml
  std::vector<FlaggedRow> flagged;
  std::vector<std::string> remarks;

  [[nodiscard]] bool empty() const {
    return sweeps.empty() && kernels.empty() && links.empty() && runs.empty() &&
           run_records.empty();
  }
};

/// Catalog device of a product as drivers name it ("NVIDIA H100 80GB HBM3"), of a catalog name
/// itself, or of a name in calibration/measured; empty: none.
[[nodiscard]] std::string device_of_product(const std::string& product);

}  // namespace foretrain
