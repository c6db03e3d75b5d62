// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/inputs/cluster.hpp"
#include "scenarios/imports/frameworks/adapter_targets.hpp"
#include "scenarios/imports/frameworks/importers.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"
#include "scenarios/imports/tuning/internal/tuning_files.hpp"
#include "scenarios/imports/tuning/tuning_keys.hpp"

namespace foretrain::tuning {

/// Reads one configuration into a plan; every member function reads one group of its keys.
class TuningReader {
 public:
  TuningReader(Framework framework, const TuningFiles& files, TreeReader& in,
               const PlanImportOptions& options, ImportedPlan& plan)
      : framework_{framework},
        keys_{keys_of(framework, options.catalogs)},
        files_{files},
        in_{in},
        options_{options},
        plan_{plan},
        job_{plan.job} {}

  void read(const Host& host, Diagnostics& diagnostics);

 private:
  void assume(std::string sentence) { plan_.notes.assumed.push_back(std::move(sentence)); }
  /// The first of these keys that the files have.
  [[nodiscard]] std::string_view said(const Keys& keys) const;
  /// Refuses what the files say under one of these keys.
  void refuse(const Keys& keys, std::string message) { in_.refuse(said(keys), std::move(message)); }
  /// Refuses a switch that is on.
  void refuse_if_on(const Keys& keys, const char* message);
  /// Words of a text or a list, in lower case.
  [[nodiscard]] std::vector<std::string> words_of(const Keys& keys);
  /// Where the first of these keys stands, for messages about another file.
  [[nodiscard]] std::string place_of(const Keys& keys) const;

  void read_model(Diagnostics& diagnostics);
  [[nodiscard]] bool read_model_folder(const YamlNode& name, Diagnostics& diagnostics);
  void take_checkpoint(bool lora, FrozenFormat& format, Keys& named);
  [[nodiscard]] bool is_trl() const;

  // tuning_sharding.cpp
  [[nodiscard]] bool uses_fsdp(const std::vector<std::string>& words);
  void read_sharding();
  void read_fsdp(std::vector<std::string> words);
  void read_strategy(const std::vector<std::string>& words, int version);
  void read_wrapping();
  void read_fsdp_rest();
  void read_layout(const Host& host);
  void read_ranks(int gpus, int copies, int shards);
  [[nodiscard]] int read_context();
  [[nodiscard]] bool splits_sequences() const;

  // tuning_deepspeed.cpp
  [[nodiscard]] bool uses_deepspeed() const;
  void read_deepspeed(Diagnostics& diagnostics);
  [[nodiscard]] std::optional<YamlNode> deepspeed_of_name(const YamlNode& name);

  void read_batch();
  [[nodiscard]] std::optional<int> batch_part(const Keys& keys, const char* deepspeed_key);
  void read_packing();
  void read_epochs();
  void read_precision(const Host& host);
  [[nodiscard]] std::optional<Precision> stated_precision();
  [[nodiscard]] bool trains_in_eight_bits();
  [[nodiscard]] bool loads_narrow();
  void read_master_weights();

  // tuning_targets.cpp
  /// The model's; null where none is known.
  [[nodiscard]] const LlmShape* shape();
  void read_words(const LlmShape& model, const std::vector<std::string>& words, FineTuning& fine);
  void read_pattern(const LlmShape& model, const YamlNode& node, FineTuning& fine);
  void take_found(const FoundTargets& found, FineTuning& fine);
  void read_parameters(const LlmShape& model, const std::vector<std::string>& names,
                       FineTuning& fine);
  [[nodiscard]] std::vector<std::string> usual_targets();
  void read_targets(bool lora, FineTuning& fine);
  void fit_to_model(FineTuning& fine);
  void drop_prediction(const LlmShape& model);

  // tuning_adapter.cpp
  void read_trained(FineTuning& fine);
  void read_freeze(FineTuning& fine);
  [[nodiscard]] bool adapts();
  /// How the base rests, by switches and bits alone.
  FrozenFormat stated_format(bool quantised);
  void read_frozen(bool lora, bool quantised, FineTuning& fine);
  void read_unfrozen();
  void read_adapter();

  // tuning_objective.cpp
  [[nodiscard]] std::string trainer_of_names();
  [[nodiscard]] std::string trl_trainer();
  void read_trainer();
  void read_objective();
  void read_preference(const std::string& name);
  [[nodiscard]] int generated_rows(int prompt);
  void read_generation();
  void read_token_loss();

  // tuning_optimizer.cpp
  void read_optimizer();
  void read_plugged_optimizer();
  [[nodiscard]] std::string optimizer_argument(const char* name);
  void read_projection(ProjectionKind kind);
  void read_factory_projection();
  void read_projected(const Keys& keys);

  // tuning_kernels.cpp
  void read_checkpointing();
  void offload_activations();
  [[nodiscard]] bool runs_unsloth();
  void add_unsloth(bool plain_loss);
  void read_activation_offload();
  void read_attention();
  void read_fused_kernels();
  void read_axolotl_kernels();
  [[nodiscard]] bool compiles();
  void choose_profile();
  void read_loading();
  void read_rest();

  Framework framework_;
  const TuningKeys keys_;
  const TuningFiles& files_;
  TreeReader& in_;
  const PlanImportOptions& options_;
  ImportedPlan& plan_;
  Job& job_;
  bool fsdp_ = false;
  bool hybrid_ = false;  ///< shards inside of a host
  bool fsdp_checkpoints_ = false;
  bool deepspeed_ = false;
  std::string trainer_;  ///< sft, dpo, grpo ...; empty: next tokens
  bool trl_ = false;     ///< TRL's arguments, since its defaults are others than the Trainer's
  bool kahan_ = false;   ///< 16-bit weights are updated with what rounding lost of them
  std::optional<LlmShape> shape_;
  std::optional<PackedCheckpoint> packed_;   ///< of the model's config.json
  std::optional<int> micro_, accumulation_;  ///< as the files say them
};

}  // namespace foretrain::tuning
