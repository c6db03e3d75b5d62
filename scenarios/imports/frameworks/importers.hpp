// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/inputs/llm.hpp"
#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

enum class Framework;

/// The scenario of a framework's configuration, of which data alone is read: a recipe that is not
/// in a table of ours is refused with what to state. Each is in the file of its name and has its
/// row in frameworks.cpp; Megatron-LM's is in megatron_import.hpp. @throws ScenarioError
using Importer = ImportedScenario(const ImportSource& source, const PlanImportOptions& options);

/// A DeepSpeed JSON. It holds neither model nor sequence: `options.model` and `options.sequence`
/// give them, or `options.arguments`, the Megatron-DeepSpeed arguments that go with it.
Importer import_deepspeed;

/// A nanotron YAML.
Importer import_nanotron;

/// A torchtitan TOML: the keys of the versions of 2024 ([training] and [experimental] hold the
/// degrees) and of 2025 ([parallelism], local_batch_size, [compile]).
Importer import_torchtitan;

/// A NeMo (1.x) configuration: its YAML, or overrides `model.hidden_size=4096`, or the YAML with
/// overrides in the lines behind it. NeMo runs Megatron-Core, so its keys become the arguments of
/// that.
Importer import_nemo;

/// A recipe of NeMo AutoModel, which `import nemo` and `nemo2` know by its targets: FSDP2 or DDP
/// over models of Hugging Face.
Importer import_automodel;
[[nodiscard]] bool is_automodel(const ImportSource& source);

/// A fine-tuning configuration, YAML or JSON: keys of the Trainer's arguments with those of an
/// `accelerate` configuration and of a PEFT adapter_config.json (transformers; each may be a file
/// of its own, see PlanImportOptions::beside), or of Axolotl, LLaMA-Factory and ms-swift.
/// @pre one of those four
[[nodiscard]] ImportedScenario import_tuning(Framework framework, const ImportSource& source,
                                             const PlanImportOptions& options);

/// A Megatron-Bridge run: a launch that names a recipe (core_recipes.hpp) with overrides
/// `model.tensor_model_parallel_size=4`, a YAML of overrides with `--recipe NAME` and overrides in
/// the lines behind it, or the YAML of a whole ConfigContainer (`run_config.yaml`).
Importer import_bridge;

/// A NeMo 2 run: a line `nemo llm pretrain --factory llama3_8b trainer.num_nodes=2` of NeMo-Run, or
/// its YAML, with the recipes of core_recipes.hpp.
Importer import_nemo2;

/// A torchtune configuration of full, LoRA, QLoRA, DoRA or DPO recipes, with overrides
/// `batch_size=4` in the lines behind it.
Importer import_torchtune;

/// A Horovod launch (horovodrun, or mpirun with a Python script): replicas whose gradients are
/// summed in rings while the backward pass runs, in fusion buffers, which are
/// `communication.bucket`.
Importer import_horovod;

/// A YAML of LightningCLI: what its `trainer` launches (DDP, FSDP, DeepSpeed). Model, rows and
/// batch are code there: the user says them.
Importer import_lightning;

/// Post-training with verl, NeMo-RL, OpenRLHF or slime: the script that starts it, its YAML, or its
/// overrides. The scenario has `post_training` and `serving`; lengths of prompts and answers are
/// assumed from their limits.
[[nodiscard]] ImportedScenario import_policy(Framework framework, const ImportSource& source,
                                             const PlanImportOptions& options);

/// A MaxText configuration over its base.yml: a YAML, overrides `per_device_batch_size=4` in the
/// lines behind it, or overrides alone. Axes of data, sharding and tensor parallelism are read;
/// others are refused.
Importer import_maxtext;

// What exporters and records share with the importers.

/// Layers per stage as nanotron deals them: by their matrix multiplications, the vocabulary
/// projection included; a stage is full once its share of the running sum is exceeded
/// (nanotron/models/base.py and llama.py).
[[nodiscard]] std::vector<int> nanotron_stage_layers(const LlmShape& model, int stages);

/// The catalog's name of a torchtitan flavour, e.g. llama3 and 8B; empty where there is none.
[[nodiscard]] std::string torchtitan_model(const std::string& name, const std::string& flavor);

/// Names that a model builder may have in the catalog: "llama3.1-8b" and "llama3-1.8b" of
/// "torchtune.models.llama3_1.lora_llama3_1_8b".
[[nodiscard]] std::vector<std::string> torchtune_models(const std::string& component);

}  // namespace foretrain
