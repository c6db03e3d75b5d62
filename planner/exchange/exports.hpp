// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"
#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/imports/frameworks/importers.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// What a scenario can be written as for those who launch it.
enum class ExportKind {
  megatron,
  megatron_bridge,
  deepspeed,
  torchtitan,
  nanotron,
  transformers,
  axolotl,
  llamafactory,
  swift,
  unsloth,
  accelerate,
  sbatch,
  vllm,
  sglang
};
FORETRAIN_ENUM_NAMES(ExportKind, {ExportKind::megatron, "megatron"},
                     {ExportKind::megatron_bridge, "megatron-bridge"},
                     {ExportKind::deepspeed, "deepspeed"}, {ExportKind::torchtitan, "torchtitan"},
                     {ExportKind::nanotron, "nanotron"}, {ExportKind::transformers, "transformers"},
                     {ExportKind::axolotl, "axolotl"}, {ExportKind::llamafactory, "llamafactory"},
                     {ExportKind::swift, "swift"}, {ExportKind::unsloth, "unsloth"},
                     {ExportKind::accelerate, "accelerate"}, {ExportKind::sbatch, "sbatch"},
                     {ExportKind::vllm, "vllm"}, {ExportKind::sglang, "sglang"});

/// A launch configuration.
struct Exported {
  std::string text;
  std::vector<std::string> left_out;  ///< sentences: what of the scenario the format cannot say
};

/// Whether it starts an engine that answers requests, and takes a scenario with `serving`.
[[nodiscard]] constexpr bool starts_engine(ExportKind kind) {
  return kind == ExportKind::vllm || kind == ExportKind::sglang;
}

/// The plan of `scenario` in the words of a framework. What changes memory or time and cannot be
/// said there is refused, all of it at once; what the launch decides elsewhere (machine, software,
/// bucket sizes) is left out and named, in the text where the format has comments.
/// @param prediction sbatch only: its run gives the time limit; else it may be null
/// @pre of a kind that starts an engine: the scenario was read with `serving`
/// @throws UsageError
[[nodiscard]] Exported export_scenario(ExportKind kind, const Scenario& scenario,
                                       const Prediction* prediction);

/// What was said and what could not be.
class ExportBook {
 public:
  explicit ExportBook(std::string format) : format_{std::move(format)} {}

  /// Changes memory or time: the export is refused.
  void refuse(std::string what) { refused_.push_back(std::move(what)); }
  void refuse_if(bool wrong, const char* what) {
    if (wrong) refuse(what);
  }
  /// Decided elsewhere: named, and the export goes on.
  void leave_out(std::string sentence) { left_out_.push_back(std::move(sentence)); }
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }
  /// Adds what the rows of a dialect say of a job, and books what they cannot.
  /// @param said keys of scenarios that the caller writes
  void say(const Dialect& dialect, const Job& job, const SaidKeys& said, DialectWords& words);

  /// @throws UsageError with everything that was refused
  void check() const;

 private:
  std::string format_;
  std::vector<std::string> refused_;
  std::vector<std::string> left_out_;
};

/// Arguments of Megatron-LM's pretrain_gpt.py, one option with its values each.
[[nodiscard]] std::vector<std::string> megatron_words(const Job& job, ExportBook& book);

// One per kind; see export_scenario().
[[nodiscard]] Exported export_megatron(const Scenario& scenario);
[[nodiscard]] Exported export_bridge(const Scenario& scenario);
[[nodiscard]] Exported export_deepspeed(const Scenario& scenario);
[[nodiscard]] Exported export_torchtitan(const Scenario& scenario);
[[nodiscard]] Exported export_nanotron(const Scenario& scenario);
[[nodiscard]] Exported export_accelerate(const Scenario& scenario);
[[nodiscard]] Exported export_tuning(ExportKind kind, const Scenario& scenario);
[[nodiscard]] Exported export_serving(ExportKind kind, const Scenario& scenario);
[[nodiscard]] Exported export_sbatch(const Scenario& scenario, const Prediction& prediction);

/// Comment lines that say where an export comes from and what it leaves out.
[[nodiscard]] std::string export_comments(const Scenario& scenario, const ExportBook& book);

/// Where a framework finds the model: its id on the hub, else its name in the catalog; booked as
/// what the person may write otherwise.
[[nodiscard]] std::string released_model(const Job& job, ExportBook& book);

/// What every framework leaves to the machine: host, fabric, site, operations.
void leave_out_machine(const Job& job, ExportBook& book);

/// Refuses what only files of fine-tuning can say: fine_tuning and training.samples.
void refuse_fine_tuning(const Job& job, ExportBook& book);

/// Refuses other libraries than NCCL, which launches choose.
void refuse_backend(const Job& job, ExportBook& book);

/// Whole training steps of the run; nothing where the scenario does not say how long it is.
[[nodiscard]] std::optional<long long> training_steps(const Training& training);

}  // namespace foretrain
