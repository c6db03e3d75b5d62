// SPDX-License-Identifier: Apache-2.0
// libFuzzer target for the importers of plans and models, one program per FORETRAIN_FUZZED: a
// framework, or the config.json of Hugging Face. Every outcome other than a scenario that loads or
// a ScenarioError with well-formed messages is a finding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/models/huggingface_plan.hpp"

namespace {

constexpr std::string_view fuzzed = FORETRAIN_FUZZED;

void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "broken promise: " << what << '\n';
  std::abort();
}

/// Messages go to terminals and logs: one line each, no control characters.
void check_message(const foretrain::Diagnostic& diagnostic) {
  require(!diagnostic.message.empty(), "an error has a message");
  for (const char c : diagnostic.text())
    require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "a message is printable");
}

foretrain::PlanImportOptions options() {
  foretrain::PlanImportOptions options;
  options.find_model = false;  // asks every model of the catalog
  if (fuzzed == "deepspeed") {
    options.model = "llama2-7b";
    options.sequence = 4096;
  }
  return options;
}

foretrain::ImportedScenario import(const std::string& text) {
  if (fuzzed == "huggingface")
    return foretrain::plan_of_huggingface({text, "fuzz", "Hugging Face"}, options());
  const auto framework = foretrain::from_name<foretrain::Framework>(fuzzed);
  require(framework.has_value(), "the build names a framework");
  return foretrain::import_framework(*framework, text, "fuzz", options());
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
    require(!error.diagnostics().empty(), "a refusal names its reason");
    for (const foretrain::Diagnostic& diagnostic : error.diagnostics()) check_message(diagnostic);
  }
  return 0;
}
