// SPDX-License-Identifier: Apache-2.0
// libFuzzer target for the importers of training frameworks, one program per framework. Every
// outcome other than a scenario that loads or a ScenarioError with well-formed messages is a
// finding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "scenarios/imports/frameworks.hpp"

namespace {

constexpr auto framework = foretrain::Framework::FORETRAIN_FUZZED;

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
  if (framework == foretrain::Framework::deepspeed) {
    options.model = "llama2-7b";
    options.sequence = 4096;
  }
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  try {
    const auto imported = foretrain::import_framework(framework, text, "fuzz", options());
    const foretrain::Job& job = imported.scenario.job;
    require(job.parallel.gpus() == job.cluster.gpus(), "every GPU is used");
    require(!imported.text.empty(), "an import is written");
  } catch (const foretrain::ScenarioError& error) {
    require(!error.diagnostics().empty(), "a refusal names its reason");
    for (const foretrain::Diagnostic& diagnostic : error.diagnostics()) check_message(diagnostic);
  }
  return 0;
}
