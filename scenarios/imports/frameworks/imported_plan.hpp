// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/inputs/job.hpp"
#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// What an importer made of the keys that it met.
struct PlanNotes {
  std::string stack;  ///< the profile whose kernels and memory rules are used, and why that one
  std::vector<std::string> read;     ///< keys that decided something
  std::vector<std::string> ignored;  ///< keys that change neither memory nor time
  std::vector<std::string>
      approximated;                     ///< keys that change time or memory a little, not modelled
  std::vector<std::string> evaluation;  ///< keys that stop training for evaluation, not modelled
  std::vector<std::string> lengths;     ///< keys that count examples: the length of the run
  std::vector<std::string> unknown;     ///< keys that nobody knows here, passed over as asked for
  std::vector<std::string> assumed;     ///< sentences: what the source does not say
};

/// What a user says beside the source.
struct PlanImportOptions {
  std::string name;                              ///< of the scenario; empty: the source's
  std::string host;                              ///< host catalog; empty: that of `device`
  std::string device;                            ///< whose host; empty: default_machine()
  std::string fabric;                            ///< fabric catalog; empty: the host's own NICs
  std::optional<int> gpus;                       ///< instead of what the source says
  std::string model;                             ///< catalog name or path; empty: the source's
  std::string arguments;                         ///< Megatron-DeepSpeed's, beside a DeepSpeed JSON
  std::optional<int> sequence;                   ///< tokens, where the source does not say
  std::optional<int> micro_batch;                ///< where a DeepSpeed JSON says "auto"
  std::optional<int> accumulation;               ///< micro-batches per step, likewise
  std::optional<Precision> precision;            ///< likewise
  std::optional<int> examples{};                 ///< of an epoch, where the source does not say
  std::optional<LlmShape> shape;                 ///< of a model that was read already
  std::optional<PackedCheckpoint> packed{};      ///< how it rests, likewise
  std::string as;                                ///< family to read a Hugging Face file as (--as)
  bool find_model = true;                        ///< look for the shape among the catalog's models
  std::vector<std::string> left_out;             ///< keys to pass over, whatever they mean
  bool leave_out_unknown = false;                ///< pass over keys that nobody knows here
  std::map<std::string, std::string> variables;  ///< of shell scripts
  /// Names and texts of further files of one configuration.
  std::vector<std::pair<std::string, std::string>> beside;
  std::vector<std::filesystem::path> catalogs;
};

/// A text to import, and what messages call it.
struct ImportSource {
  std::string text;
  std::string name;
  std::string framework;                    ///< for people: "Megatron-LM"
  PlanFramework runs = PlanFramework::any;  ///< which plans it runs
};

/// Cluster size as launch lines state it.
struct LaunchSize {
  std::optional<int> nodes;
  std::optional<int> gpus_per_node;
  std::optional<int> gpus;  ///< of all nodes, where only that is said
};

/// A source as a job, before it has a machine: cluster, stack and site are empty but for the
/// stack's name.
struct ImportedPlan {
  Job job;
  std::string model;  ///< a catalog name or path that the source or the user gave; else job.model
  PlanNotes notes;
  std::optional<ServingPlan> serving{};  ///< of post-training: the engine that generates
  std::optional<PostTrainingPlan> post_training{};
};

/// A scenario that was imported: its file, and the same as loaded.
struct ImportedScenario {
  std::string text;
  Scenario scenario;
  PlanNotes notes;
};

/// Gives a plan the profile of its framework, and says why it is that one: the first line of what
/// an import prints.
void choose_stack(ImportedPlan& plan, const std::string& name, const std::string& why);

/// GPUs to plan for: what the user says, else what the source says, else the fewest that hold whole
/// hosts and whole replicas. What was assumed goes to the notes.
[[nodiscard]] int gpus_for(const LaunchSize& size, int replica, int host_gpus,
                           const PlanImportOptions& options, PlanNotes& notes);

/// The host of the catalog to plan for; nothing after reporting an unknown one at "--host".
[[nodiscard]] std::optional<Host> import_host(const PlanImportOptions& options,
                                              Diagnostics& diagnostics);

/// GPUs of that host.
[[nodiscard]] std::optional<int> host_gpus(const PlanImportOptions& options,
                                           Diagnostics& diagnostics);

/// A model of the catalog that has a shape, whatever vocabulary was guessed for that.
struct CatalogVocabulary {
  std::string model;
  int vocabulary = 0;
};
[[nodiscard]] std::optional<CatalogVocabulary> catalog_vocabulary(const LlmShape& shape,
                                                                  const PlanImportOptions& options);

/// A model by the catalog's name or a path; nothing where it is unknown, which is reported where
/// the plan is resolved.
[[nodiscard]] std::optional<LlmShape> known_shape(const std::string& model,
                                                  const PlanImportOptions& options);

/// Gives a plan its machine, writes it as a scenario and loads that.
/// @throws ScenarioError for everything that was reported before, or that the scenario breaks
[[nodiscard]] ImportedScenario finish_import(ImportedPlan plan, const ImportSource& source,
                                             const PlanImportOptions& options,
                                             Diagnostics& diagnostics);

}  // namespace foretrain
