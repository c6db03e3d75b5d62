// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "calibration/validate/validations.hpp"
#include "models/memory/memory.hpp"
#include "scenarios/catalog/device_names.hpp"
#include "scenarios/imports/megatron/megatron_arguments.hpp"

namespace foretrain {
namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_string()) return value.get<std::string>();
  return value.dump();
}

std::map<std::string, std::string> texts_of(const json& row, const char* key) {
  std::map<std::string, std::string> texts;
  const auto found = row.find(key);
  if (found != row.end() && found->is_object())
    for (const auto& [name, value] : found->items()) texts[name] = text_of(value);
  return texts;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "; ") + word;
  return text;
}

RecordCheck start(const json& row, const char* quantity) {
  RecordCheck check;
  check.id = row.at("case").get<std::string>() + "/" + row.at("platform").get<std::string>() + "/" +
             row.value("image", std::string());
  check.source = "megatron-ci";
  check.quantity = quantity;
  check.measured = row.at(quantity).get<double>();
  return check;
}

/// The job of a row, or the reason why there is none.
struct MappedRow {
  MegatronMapping mapping;
  std::string why;
};

MappedRow map_row(const json& row, const RunCatalog& catalog) {
  MappedRow mapped;
  const json& gpus = row.at("gpus");
  if (!gpus.is_number_integer()) {
    mapped.why = "the number of GPUs is not stated";
    return mapped;
  }
  MegatronEnvironment environment;
  environment.gpus = gpus.get<int>();
  environment.variables = texts_of(row, "env");
  mapped.mapping = map_megatron_arguments(texts_of(row, "args"), environment);
  if (!mapped.mapping.errors.empty())
    mapped.why = joined(mapped.mapping.errors);
  else if (!mapped.mapping.unmodelled.empty())
    mapped.why = "changes memory and is not modelled: " + joined(mapped.mapping.unmodelled);
  const auto platform = row.at("platform").get<std::string>();
  const std::string called = device_called(platform, DeviceNaming::platform);
  const auto device = catalog.devices.find(called.empty() ? platform : called);
  const auto stack = catalog.stacks.find(mapped.mapping.transformer_engine ? "megatron-core"
                                                                           : "megatron-core-local");
  if (device == catalog.devices.end())
    mapped.why = "no device " + platform;
  else
    mapped.mapping.job.cluster.host.device = device->second;
  if (stack == catalog.stacks.end())
    mapped.why = "no stack profile for this transformer implementation";
  else
    mapped.mapping.job.stack = stack->second;
  return mapped;
}

}  // namespace

std::vector<RecordCheck> check_megatron_memory(const json& document, const RunCatalog& catalog) {
  const auto rows = document.find("rows");
  if (rows == document.end() || !rows->is_array())
    throw std::runtime_error("a document with a list of rows was expected");
  std::vector<RecordCheck> checks;
  for (const json& row : *rows) {
    RecordCheck allocated = start(row, "mem_allocated");
    RecordCheck peak = start(row, "mem_max");
    const MappedRow mapped = map_row(row, catalog);
    if (!mapped.why.empty()) {
      allocated.skipped = peak.skipped = true;
      allocated.why = peak.why = mapped.why;
    } else {
      const Job& job = mapped.mapping.job;
      const StageLayout layout = stage_layout(job.model, job.parallel);
      // Only the last rank is logged, and the last rank is on the last stage.
      const StageAccount account =
          account_stage(job, layout, activation_model(job), layout.stages() - 1);
      allocated.predicted = account.resident;
      peak.predicted = account.counted;
      const double band = memory_band(job);
      for (RecordCheck* check : {&allocated, &peak}) {
        check->low = check->predicted * (1.0 - band);
        check->high = check->predicted * (1.0 + band);
        for (const std::string& name : mapped.mapping.unknown)
          check->remarks.push_back("unknown argument --" + name);
        for (const std::string& name : mapped.mapping.approximated)
          check->remarks.push_back("not modelled: --" + name);
      }
    }
    checks.push_back(std::move(allocated));
    checks.push_back(std::move(peak));
  }
  return checks;
}

}  // namespace foretrain
