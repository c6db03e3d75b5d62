// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/gpubench_options.hpp"

#include <optional>

#include "calibration/harness/common/flag_reader.hpp"

namespace foretrain::harness {
namespace {

std::optional<std::string> read_types(const std::string& value, std::vector<NumberType>& into) {
  into.clear();
  for (const std::string& part : split_list(value)) {
    std::optional<NumberType> found;
    for (const NumberType type :
         {NumberType::fp32, NumberType::tf32, NumberType::fp16, NumberType::bf16, NumberType::fp8})
      if (name(type) == part) found = type;
    if (!found) return "'" + part + "' is not a type: fp32, tf32, fp16, bf16, fp8";
    into.push_back(*found);
  }
  return std::nullopt;
}

}  // namespace

std::variant<GpubenchOptions, std::string> parse_gpubench(
    const std::vector<std::string>& arguments) {
  GpubenchOptions options;
  FlagTable table;
  table.switches["--help"] = [&](const std::string&) -> std::optional<std::string> {
    options.help = true;
    return std::nullopt;
  };
  table.with_value["--device"] = [&](const std::string& value) {
    long long device = 0;
    auto wrong = read_whole(value, 0, 1023, device);
    options.device = static_cast<int>(device);
    return wrong;
  };
  table.with_value["--budget"] = [&](const std::string& value) -> std::optional<std::string> {
    const std::optional<double> seconds = parse_duration(value);
    if (!seconds) return "'" + value + "' is not a duration, e.g. 90s or 5min";
    options.budget_s = *seconds;
    return std::nullopt;
  };
  table.with_value["--types"] = [&](const std::string& value) {
    return read_types(value, options.types);
  };
  table.with_value["--shapes"] = [&](const std::string& value) -> std::optional<std::string> {
    options.shapes_file = value;
    return std::nullopt;
  };
  table.with_value["--out"] = [&](const std::string& value) -> std::optional<std::string> {
    options.out_file = value;
    return std::nullopt;
  };
  if (const std::optional<std::string> wrong = read_flags(arguments, table)) return *wrong;
  return options;
}

std::string_view gpubench_help() {
  return "usage: foretrain-gpubench [options]\n"
         "Measures one GPU and writes JSON Lines: GEMMs, memory-bound kernels,\n"
         "launches, copies, and what a communication kernel beside them costs.\n"
         "\n"
         "  --device N      which GPU (0)\n"
         "  --budget TIME   stop beginning new cases after that long, e.g. 90s, 5min (240s)\n"
         "  --types LIST    of fp32,tf32,fp16,bf16,fp8 (all that the device knows)\n"
         "  --shapes FILE   GEMMs to measure instead of the default grid, a line each:\n"
         "                  TOKENS OUT IN [BATCH] forward|input-gradient|weight-gradient TYPE\n"
         "  --out FILE      write there instead of standard output\n"
         "  --help          this text\n"
         "\n"
         "Exit codes: 0 measured, 1 a CUDA call failed or the output cannot be written,\n"
         "2 wrong option or no GPU.\n";
}

}  // namespace foretrain::harness
