// SPDX-License-Identifier: Apache-2.0
// libFuzzer target for the importers of plans and models, one program per FORETRAIN_FUZZED: a
// framework, or the config.json of Hugging Face. Every outcome other than a scenario that loads or
// a ScenarioError with well-formed messages is a finding.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/huggingface_plan.hpp"
#include "tests/fuzz/promises.hpp"

using foretrain::fuzz::require;

namespace {

constexpr std::string_view fuzzed = FORETRAIN_FUZZED;

foretrain::PlanImportOptions options() {
  // What does not depend on the input is asked once: every model and host of the catalog would be
  // read.
  static const foretrain::DefaultMachine machine = foretrain::default_machine();
  foretrain::PlanImportOptions options;
  options.find_model = false;
  options.host = machine.host;
  options.fabric = machine.fabric;
  if (fuzzed == "deepspeed" || fuzzed == "transformers" || fuzzed == "horovod" ||
      fuzzed == "lightning") {
    options.model = "llama2-7b";
    options.sequence = 4096;
    options.micro_batch =
        fuzzed == "horovod" || fuzzed == "lightning" ? std::optional(1) : std::nullopt;
  }
  return options;
}

// Further files of a configuration follow a record separator; `text` keeps the first.
std::vector<std::pair<std::string, std::string>> files_beside(std::string& text) {
  constexpr char separator = '\x1e';
  std::vector<std::pair<std::string, std::string>> files;
  for (std::size_t at = text.rfind(separator); at != std::string::npos;
       at = text.rfind(separator)) {
    files.emplace_back("beside" + std::to_string(files.size()), text.substr(at + 1));
    text.resize(at);
  }
  return files;
}

foretrain::ImportedScenario import(const std::string& text) {
  if (fuzzed == "huggingface")
    return foretrain::plan_of_huggingface({text, "fuzz", "Hugging Face"}, options());
  const auto framework = foretrain::from_name<foretrain::Framework>(fuzzed);
  require(framework.has_value(), "the build names a framework");
  foretrain::PlanImportOptions with = options();
  std::string first = text;
  if (foretrain::reads_several_files(*framework)) with.beside = files_beside(first);
  return foretrain::import_framework(*framework, first, "fuzz", with);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  try {
    const auto imported = import(text);
    const foretrain::Job& job = imported.scenario.job;
    require(job.parallel.gpus() == job.cluster.gpus(), "every GPU is used");
    require(!imported.text.empty(), "an import is written");
  } catch (const foretrain::ScenarioError& error) {
    foretrain::fuzz::check_refusal(error);
  }
  return 0;
}
