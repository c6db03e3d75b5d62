// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks.hpp"

#include "models/require.hpp"
#include "scenarios/imports/megatron_import.hpp"

namespace foretrain {

const char* title_of(Framework framework) {
  switch (framework) {
    case Framework::megatron:
      return "Megatron-LM";
    case Framework::deepspeed:
      return "DeepSpeed";
    case Framework::nanotron:
      return "nanotron";
    case Framework::torchtitan:
      return "torchtitan";
    case Framework::nemo:
      return "NeMo";
  }
  return "";
}

ImportedScenario import_framework(Framework framework, const std::string& text,
                                  const std::string& name, const ImportOptions& options) {
  const ImportSource source{text, name, title_of(framework)};
  switch (framework) {
    case Framework::megatron:
    default:
      return import_megatron(source, options);
  }
}

}  // namespace foretrain
