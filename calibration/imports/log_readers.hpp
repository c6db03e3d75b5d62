// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "calibration/imports/imported_log.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

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
