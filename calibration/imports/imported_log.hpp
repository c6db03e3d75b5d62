// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/records/measured_data.hpp"
#include "models/base/names.hpp"
#include "scenarios/yaml/diagnostics.hpp"

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

/// Reads a log of one format. Rows that contradict themselves or are cut are flagged and left out;
/// what makes the whole log unusable becomes a diagnostic. Each has its row in import_log.cpp.
using LogReader = ImportedLog(const std::string& text, const std::string& file,
                              const ImportOptions& options, Diagnostics& diagnostics);

/// What the programs of NVIDIA/nccl-tests print, one test after another; rows with wrong elements
/// are flagged, too.
LogReader import_nccl_tests;
/// The same from the file that `-J` writes.
LogReader import_nccl_tests_json;

/// What ib_write_bw, ib_read_bw, ib_send_bw and their _lat siblings of linux-rdma/perftest print,
/// several tests of one file after another. Rates in Gbit/s and in MiB/s (printed as MB/sec) are
/// told apart by the header, and checked against the message rate of their row.
LogReader import_perftest;

/// What NCCL's Inspector plug-in dumps from running jobs: one JSON object per collective and rank.
/// A record is one size of one communicator's shape: of the ranks of one call the fastest, which
/// did not wait for others, and of the calls the median. The plug-in does not tell the GPU.
LogReader import_inspector;

/// What NVIDIA/nvbandwidth prints: matrices of rates (GB/s) and of latencies (ns).
LogReader import_nvbandwidth;
/// The same from what it prints with `-j`.
LogReader import_nvbandwidth_json;

/// A trace of PyTorch's profiler (Kineto, Chrome trace events). Kernels of one name become one
/// record with their median duration, count and share of all kernel time. Where the trace has
/// shapes (record_shapes=True), matrix products become records of their shape.
LogReader import_kineto;

/// The ":::MLLOG" lines of an MLPerf training result as one run: its step time is the median of the
/// steps that the log times (train_step_time), else the batch over the throughput that it tracks,
/// else the blocks' times over their samples. What the plan was is not in these logs.
LogReader import_mlperf;

/// The JSON Lines of calibration/harness: foretrain-gpubench, foretrain-ncclbench, and the kernels
/// of torch_step.py. Results that came out wrong are left out; what the run did not get to and what
/// it skipped is in the remarks.
LogReader import_harness;

}  // namespace foretrain
