// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <optional>

#include "planner/cli/calibrate/validate_options.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/fields/field_table.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

/// Records of one kind: of the user's file; else of the folder of --measured, which must have them
/// where they are asked for by name; else those that ship (an empty path). Nothing: none are read.
std::optional<fs::path> records_of(const AskedFile& asked, const char* name, bool all,
                                   const ValidateOptions& options) {
  if (!asked && !all) return std::nullopt;
  if (!asked.value_or("").empty() || options.measured.empty()) return asked.value_or("");
  const fs::path own = fs::path(options.measured) / name;
  if (fs::is_regular_file(own)) return own;
  if (asked) throw UsageError("--measured " + in_quotes(options.measured) + " has no " + name);
  return std::nullopt;
}

std::optional<std::vector<fs::path>> vtrain_of(const ValidateOptions& options, bool all) {
  const bool asked = options.vtrain.has_value();
  if (!asked && !all) return std::nullopt;
  std::vector<fs::path> files;
  if (asked) files.assign(options.vtrain->begin(), options.vtrain->end());
  if (!files.empty() || options.measured.empty()) return files;
  for (const char* name : {"vtrain_single.csv", "vtrain_multi.csv"})
    if (const fs::path own = fs::path(options.measured) / name; fs::is_regular_file(own))
      files.push_back(own);
  if (!files.empty()) return files;
  if (asked) throw UsageError("--measured " + in_quotes(options.measured) + " has no vtrain table");
  return std::nullopt;
}

void refuse_ungraded(const ValidateOptions& options) {
  const bool alone = options.kernels || options.collectives;
  if (!options.confidence.empty() && options.memory)
    throw UsageError("--confidence grades training runs; the records of --memory have no grade");
  if (!options.confidence.empty() && alone)
    throw UsageError("--confidence grades training runs; kernels and collectives have no grade");
  if (alone && options.one_kind())
    throw UsageError("--only is about training runs; it leaves --kernels and --collectives out");
}

}  // namespace

bool ValidateOptions::names_records() const {
  return memory || runs || kernels || collectives || vtrain;
}

bool ValidateOptions::only_shipped() const {
  return measured.empty() && memory.value_or("").empty() && runs.value_or("").empty() &&
         kernels.value_or("").empty() && collectives.value_or("").empty() &&
         (!vtrain || vtrain->empty());
}

ValidateRequest request_of(const ValidateOptions& options) {
  refuse_ungraded(options);
  if (!options.measured.empty() && !fs::is_directory(options.measured))
    throw UsageError("--measured " + in_quotes(options.measured) +
                     " is not a folder; --runs, --memory, --vtrain, --kernels and --collectives "
                     "take files");
  ValidateRequest request;
  request.catalogs = own_roots(options.folders);
  const bool all = !options.names_records();
  const bool ungraded = all && options.confidence.empty();  // kinds without grades
  request.memory = records_of(options.memory, "megatron_ci_memory.json", ungraded, options);
  request.runs = records_of(options.runs, "runs.yaml", all, options);
  request.vtrain = vtrain_of(options, all);
  request.kernels = records_of(options.kernels, "kernels.csv", ungraded, options);
  request.collectives = records_of(options.collectives, "nccl_sweeps.csv", ungraded, options);
  if (!request.memory && !request.runs && !request.vtrain && !request.kernels &&
      !request.collectives)
    throw UsageError("--measured " + in_quotes(options.measured) +
                     " has none of runs.yaml, megatron_ci_memory.json, vtrain_single.csv, "
                     "vtrain_multi.csv, kernels.csv and nccl_sweeps.csv");
  request.only = options.only;
  request.sources = options.sources;
  request.confidence = options.confidence;
  return request;
}

void add_record_options(CommandRow& command, ValidateOptions& options) {
  const auto records = [&](const char* name, AskedFile& asked, const char* what) {
    command.option(name, asked, "[FILE]", what, {.values = {{0, 1}}});
  };
  records("--memory", options.memory,
          "Megatron-LM test memory, as megatron_ci_memory.json; without FILE the shipped one");
  records("--runs", options.runs,
          "Training runs, as runs.yaml: step time, memory and whether they fit; without FILE the "
          "shipped ones");
  command.option("--vtrain", options.vtrain, "[FILE...]",
                 "Training iterations, as vtrain_single.csv and "
                 "vtrain_multi.csv; without FILE the shipped ones",
                 {.values = {{0, -1}}});
  command.option("--measured", options.measured, "DIR",
                 "Folder of your own records under the names of calibration/measured, in place of "
                 "the shipped ones: what it has is compared");
  records("--kernels", options.kernels,
          "Kernels run alone, as kernels.csv; without FILE the shipped ones");
  records("--collectives", options.collectives,
          "Sweeps of collectives, as nccl_sweeps.csv; without FILE the shipped ones");
  records("--inference", options.inference,
          "Inference runs, as inference_runs.yaml: tokens per second, times to first and to "
          "further tokens; without FILE the shipped ones");
  command.option("--only", options.only, "WHAT", "Compare time or memory alone");
  command.option("--source", options.sources, "NAME",
                 "Records of this family alone, as the tables call it (may be repeated)",
                 {.repeated = true});
  command.option("--confidence", options.confidence, "GRADE",
                 "Runs of this grade alone: A table or log with nearly full configuration, B some "
                 "of it missing, C inferred or read from a figure, D secondary (may be repeated)",
                 {.repeated = true, .legal = {"A", "B", "C", "D"}});
}

}  // namespace foretrain
