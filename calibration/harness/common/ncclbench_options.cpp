// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/ncclbench_options.hpp"

#include <optional>

#include "calibration/harness/common/flag_reader.hpp"

namespace foretrain::harness {
namespace {

using Wrong = std::optional<std::string>;

Wrong read_operations(const std::string& value, std::vector<NcclOperation>& into) {
  into.clear();
  for (const std::string& part : split_list(value)) {
    const std::optional<NcclOperation> found = find_operation(part);
    if (!found) {
      std::string names;
      for (const NcclOperation each : all_operations())
        names.append(names.empty() ? "" : ", ").append(name(each));
      return std::string("'").append(part).append("' is not an operation: ").append(names);
    }
    into.push_back(*found);
  }
  return std::nullopt;
}

Wrong read_sizes(const std::string& value, NcclbenchOptions& options) {
  const std::size_t colon = value.find(':');
  const auto begin = parse_size(value.substr(0, colon));
  const auto end = colon == std::string::npos ? begin : parse_size(value.substr(colon + 1));
  if (!begin || !end || *begin < 4 || *begin > *end)
    return "'" + value + "' is not a range of sizes from 4 bytes up, e.g. 8:8GiB";
  options.begin_bytes = *begin;
  options.end_bytes = *end;
  return std::nullopt;
}

/// A flag with a whole number of at least one.
FlagAction count_into(int& into, long long least, long long most) {
  return [&into, least, most](const std::string& value) {
    long long number = 0;
    Wrong wrong = read_whole(value, least, most, number);
    into = static_cast<int>(number);
    return wrong;
  };
}

FlagAction text_into(std::string& into) {
  return [&into](const std::string& value) -> Wrong {
    into = value;
    return std::nullopt;
  };
}

FlagAction set(bool& flag, bool value) {
  return [&flag, value](const std::string&) -> Wrong {
    flag = value;
    return std::nullopt;
  };
}

}  // namespace

std::variant<NcclbenchOptions, std::string> parse_ncclbench(
    const std::vector<std::string>& arguments) {
  NcclbenchOptions options;
  FlagTable table;
  table.switches["--help"] = set(options.help, true);
  table.switches["--one-group"] = set(options.one_group, true);
  table.switches["--no-overlap"] = set(options.overlap, false);
  table.with_value["--op"] = [&](const std::string& value) {
    return value == "all" ? Wrong{} : read_operations(value, options.operations);
  };
  table.with_value["--sizes"] = [&](const std::string& value) {
    return read_sizes(value, options);
  };
  table.with_value["--factor"] = count_into(options.factor, 2, 1024);
  table.with_value["--gpus"] = count_into(options.gpus, 1, 64);
  table.with_value["--group-size"] = count_into(options.group_size, 2, 1 << 20);
  table.with_value["--group-stride"] = count_into(options.group_stride, 1, 1 << 20);
  table.with_value["--algorithm"] = text_into(options.algorithm);
  table.with_value["--protocol"] = text_into(options.protocol);
  table.with_value["--out"] = text_into(options.out_file);
  table.with_value["--budget"] = [&](const std::string& value) -> Wrong {
    const std::optional<double> seconds = parse_duration(value);
    if (!seconds) return "'" + value + "' is not a duration, e.g. 90s or 5min";
    options.budget_s = *seconds;
    return std::nullopt;
  };
  if (const Wrong wrong = read_flags(arguments, table)) return *wrong;
  return options;
}

std::string_view ncclbench_help() {
  return "usage: foretrain-ncclbench [options]\n"
         "Measures NCCL collectives and writes JSON Lines. Start it once for all GPUs of a host\n"
         "(--gpus 8), or once per GPU with mpirun, srun or torchrun, whose variables it reads.\n"
         "\n"
         "  --op LIST           all_reduce,all_gather,reduce_scatter,broadcast,reduce,all_to_all,\n"
         "                      send_receive (all)\n"
         "  --sizes FROM:TO     bytes as nccl-tests counts them (8:8GiB)\n"
         "  --factor N          from one size to the next (2)\n"
         "  --gpus N            GPUs of this process, a thread each (1)\n"
         "  --group-size N      process groups of N ranks, all at work at once (all ranks)\n"
         "  --group-stride N    ranks from one member of a group to the next (1)\n"
         "  --one-group         only the first group works\n"
         "  --algorithm NAME    force it, as NCCL_ALGO does: Ring, Tree, NVLS, ...\n"
         "  --protocol NAME     force it, as NCCL_PROTO does: LL, LL128, Simple\n"
         "  --no-overlap        leave out the measurements beside a GEMM\n"
         "  --budget TIME       stop beginning new cases after that long (240s)\n"
         "  --out FILE          rank 0 writes there instead of standard output\n"
         "  --help              this text\n"
         "\n"
         "FORETRAIN_NCCL names another libnccl.so.2.\n"
         "Exit codes: 0 measured, 1 a CUDA or NCCL call failed or data came out wrong,\n"
         "2 wrong option, no GPU or no NCCL.\n";
}

GroupPlace group_place(int rank, int size, int stride) {
  const int block = rank / (size * stride);
  return {block * stride + rank % stride, (rank / stride) % size};
}

}  // namespace foretrain::harness
