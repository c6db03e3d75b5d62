// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/frameworks.hpp"

#include <stdexcept>

#include "scenarios/imports/frameworks/bridge_import.hpp"
#include "scenarios/imports/frameworks/deepspeed_import.hpp"
#include "scenarios/imports/frameworks/horovod_import.hpp"
#include "scenarios/imports/frameworks/lightning_import.hpp"
#include "scenarios/imports/frameworks/maxtext_import.hpp"
#include "scenarios/imports/frameworks/nanotron_import.hpp"
#include "scenarios/imports/frameworks/nemo2_import.hpp"
#include "scenarios/imports/frameworks/nemo_import.hpp"
#include "scenarios/imports/frameworks/torchtitan_import.hpp"
#include "scenarios/imports/frameworks/torchtune_import.hpp"
#include "scenarios/imports/frameworks/tuning_import.hpp"
#include "scenarios/imports/megatron/megatron_import.hpp"

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
    case Framework::transformers:
      return "Hugging Face Trainer";
    case Framework::axolotl:
      return "Axolotl";
    case Framework::llamafactory:
      return "LLaMA-Factory";
    case Framework::swift:
      return "ms-swift";
    case Framework::bridge:
      return "Megatron-Bridge";
    case Framework::nemo2:
      return "NeMo 2";
    case Framework::torchtune:
      return "torchtune";
    case Framework::horovod:
      return "Horovod";
    case Framework::lightning:
      return "Lightning";
    case Framework::maxtext:
      return "MaxText";
  }
  return "";
}

bool reads_several_files(Framework framework) {
  return framework == Framework::transformers || framework == Framework::axolotl ||
         framework == Framework::llamafactory || framework == Framework::swift;
}

ImportedScenario import_framework(Framework framework, const std::string& text,
                                  const std::string& name, const PlanImportOptions& options) {
  const ImportSource source{
      text, name, title_of(framework),
      from_name<PlanFramework>(std::string(name_of(framework))).value_or(PlanFramework::any)};
  switch (framework) {
    case Framework::megatron:
      return import_megatron(source, options);
    case Framework::deepspeed:
      return import_deepspeed(source, options);
    case Framework::nanotron:
      return import_nanotron(source, options);
    case Framework::torchtitan:
      return import_torchtitan(source, options);
    case Framework::nemo:
      return import_nemo(source, options);
    case Framework::transformers:
      return import_tuning(TuningFramework::transformers, source, options);
    case Framework::axolotl:
      return import_tuning(TuningFramework::axolotl, source, options);
    case Framework::llamafactory:
      return import_tuning(TuningFramework::llamafactory, source, options);
    case Framework::swift:
      return import_tuning(TuningFramework::swift, source, options);
    case Framework::bridge:
      return import_bridge(source, options);
    case Framework::nemo2:
      return import_nemo2(source, options);
    case Framework::torchtune:
      return import_torchtune(source, options);
    case Framework::horovod:
      return import_horovod(source, options);
    case Framework::lightning:
      return import_lightning(source, options);
    case Framework::maxtext:
      return import_maxtext(source, options);
  }
  throw std::logic_error("no such framework");
}

}  // namespace foretrain
