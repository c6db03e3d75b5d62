// SPDX-License-Identifier: Apache-2.0
// What is learnt: next tokens, pairs of answers, rewards, or answers that the run generates itself.
// TRL's trainers: trl/trainer/*_config.py; ms-swift's: swift/llm/argument/rlhf_args.py.
#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/tuning/internal/tuning_reader.hpp"

namespace foretrain::tuning {
namespace {

/// Arguments that trainers alone have that generate answers.
const Keys& generation_keys() {
  static const Keys keys{"num_generations", "max_completion_length", "reward_funcs",
                         "generation_batch_size", "steps_per_generation"};
  return keys;
}

/// Those of trainers of pairs.
const Keys& pair_keys() {
  static const Keys keys{"beta", "max_prompt_length", "precompute_ref_log_probs"};
  return keys;
}

/// Losses of DPOTrainer that no other trainer has.
constexpr auto dpo_losses = std::to_array<std::string_view>(
    {"hinge", "exo_pair", "nca_pair", "robust", "bco_pair", "sppo_hard", "aot", "aot_pair",
     "aot_unpaired", "discopop", "apo_zero", "apo_down", "kto_pair", "sft", "sigmoid_norm"});

/// Losses over pairs without a reference model.
bool without_reference(const std::string& name) {
  return name == "orpo" || name == "simpo" || name == "cpo";
}

std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> pieces(1);
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      pieces.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else
      pieces.emplace_back();
  return pieces;
}

}  // namespace

/// The one trainer of pairs that the names of a run and its files have in them.
std::string TuningReader::trainer_of_names() {
  std::string all = files_.root.mark.file ? *files_.root.mark.file : std::string();
  for (const std::string_view key : {"run_name", "output_dir", "hub_model_id", "project"})
    all += "/" + in_.text({key});
  std::string found;
  for (const std::string& piece : pieces_of(all)) {
    const bool known = piece == "dpo" || piece == "kto" || without_reference(piece);
    if (!known || piece == found) continue;
    if (!found.empty()) return {};
    found = piece;
  }
  return found;
}

/// TRL's arguments do not name their trainer. Keys and losses of one tell it, else the names of the
/// run; pairs would pass for plain fine-tuning, without a reference.
std::string TuningReader::trl_trainer() {
  const auto has = [&](std::string_view key) {
    const YamlNode* const node = node_at(files_.root, key);
    return node != nullptr && !node->is_null();
  };
  for (const std::string_view key : generation_keys())
    if (has(key)) {
      assume(fmt::format("GRPO, as {} is there (trainer)", key));
      return "grpo";
    }
  const std::string loss = in_.text({"loss_type"});
  if (contains(dpo_losses, loss)) {
    assume(fmt::format("DPO, whose loss {} is (trainer)", loss));
    return "dpo";
  }
  const auto pair = std::ranges::find_if(pair_keys(), has);
  if (pair == pair_keys().end()) return {};
  const std::string named = trainer_of_names();
  if (named.empty())
    refuse({*pair},
           "belongs to a trainer of pairs, and nothing says which: give a further file with "
           "trainer: dpo, ipo, orpo, simpo or cpo, or trainer=dpo behind this one");
  else
    assume(fmt::format("{}, as the names of the run say (trainer)", named));
  return named;
}

void TuningReader::read_trainer() {
  trainer_ = in_.text(keys_.objective);
  if (trainer_.empty() && framework_ == Framework::transformers) trainer_ = files_.trainer;
  if (trainer_.empty() && framework_ == Framework::transformers) trainer_ = trl_trainer();
  if (framework_ == Framework::axolotl && in_.truth({"reward_model"}, false)) trainer_ = "rm";
  if (trainer_ == "rm" || trainer_ == "reward") {
    const int labels = in_.integer({"num_labels"}, 1, 1'000'000).value_or(1);
    if (labels != 1) refuse({"num_labels"}, "is more than one score, which is not modelled");
  }
  if (framework_ != Framework::swift) return;
  const std::string task = in_.text({"task_type"});
  const bool head = task == "seq_cls" || task == "embedding" || task.ends_with("reranker");
  if (head && !(task == "seq_cls" && trainer_ == "rm"))
    refuse({"task_type"}, in_quotes(task) + " has another head, which is not modelled");
}

/// A reference of its own, the model without its adapters, or none: of what was computed before,
/// and of losses that have no reference, nothing is left to run.
void TuningReader::read_preference(const std::string& name) {
  FineTuning& fine = job_.fine_tuning;
  fine.objective = Objective::preference;
  in_.harmless({"max_completion_length"});  // cuts answers; rows are max_length
  fine.reference = fine.adapts() ? ReferenceKind::without_adapters : ReferenceKind::copy;
  if (in_.take("ref_model") != nullptr) fine.reference = ReferenceKind::copy;
  const bool before = in_.truth({"precompute_ref_log_probs"}, false);
  const bool free = in_.truth({"reference_free"}, false);
  if (!before && !free && !without_reference(name)) return;
  fine.reference = ReferenceKind::precomputed;
  if (!before)
    assume((free ? std::string("reference_free") : name) + ": no pass of a reference model");
}

/// Rows of a prompt and an answer that the run generated.
int TuningReader::generated_rows(int prompt) {
  const Keys answers{"max_completion_length", "trl.max_completion_length"};
  const int answer = in_.integer(answers, 1, 100'000'000).value_or(512);
  if (framework_ == Framework::axolotl) return prompt;
  if (framework_ == Framework::transformers)
    prompt = in_.integer({"max_prompt_length"}, 1, 100'000'000).value_or(512);
  if (options_.sequence) return *options_.sequence;
  assume(fmt::format("rows of {} tokens: prompts of {} and answers of {} (--sequence)",
                     prompt + answer, prompt, answer));
  return prompt + answer;
}

/// A batch counts answers. The model as it was at the start is a reference where beta is above
/// zero; without, a step is that of plain fine-tuning.
void TuningReader::read_generation() {
  const bool swift = framework_ == Framework::swift;
  const auto said = in_.number({"beta", "trl.beta"});
  const double beta = said.value_or(swift ? 0.04 : 0.0);
  if (beta > 0.0) {
    FineTuning& fine = job_.fine_tuning;
    fine.objective = Objective::preference;
    fine.reference = fine.adapts() ? ReferenceKind::without_adapters : ReferenceKind::copy;
  }
  if (!said)
    assume(swift ? "a reference model, as beta is 0.04 by default"
                 : "no reference model: beta is 0, TRL's default since 2025 (0.04 before)");
  assume(
      "GRPO's training part alone: generating answers, scoring them and the pass of the older "
      "policy take time and memory beside this forecast");
  const bool serves = in_.truth({"use_vllm", "trl.use_vllm"}, false);
  const std::string mode = in_.text({"vllm_mode", "trl.vllm_mode"});
  const auto share = in_.number({"vllm_gpu_memory_utilization", "trl.vllm_gpu_memory_utilization"});
  if (serves && mode != "server")
    assume(
        fmt::format("vLLM beside the training in the same GPUs keeps {} of their memory while "
                    "it is not asleep; leave that free",
                    share ? fmt::format("{:.0f} %", 100.0 * *share) : "its share"));
  in_.harmless_group("generation");
}

/// Losses of next tokens over other distributions have kernels and copies of their own.
void TuningReader::read_token_loss() {
  const std::string loss = in_.text({"loss_type"}, "nll");
  if (loss != "nll" && loss != "chunked_nll" && loss != "cross_entropy")
    refuse({"loss_type"}, in_quotes(loss) +
                              " is a loss of its own over the logits, which is not "
                              "modelled");
}

/// Trainers put both answers of a pair into one pass.
void TuningReader::read_objective() {
  FineTuning& fine = job_.fine_tuning;
  if (framework_ == Framework::transformers) static_cast<void>(in_.take("beta"));
  if (trainer_ == "grpo") return read_generation();
  if (trainer_.empty() || trainer_ == "sft" || trainer_ == "pt") return read_token_loss();
  const std::string loss = in_.text({"pref_loss", "loss_type"}, "sigmoid");
  if (trainer_ == "dpo" || trainer_ == "ipo" || without_reference(trainer_)) {
    read_preference(without_reference(trainer_) ? trainer_ : loss);
  } else if (trainer_ == "rm" || trainer_ == "reward") {
    fine.objective = Objective::reward;
  } else {
    return refuse(keys_.objective, in_quotes(trainer_) +
                                       " is not modelled: sft, dpo, ipo, orpo, simpo, cpo, rm, "
                                       "grpo");
  }
  job_.training.micro_batch *= 2;
  job_.training.global_batch *= 2;
  if (job_.training.tokens) *job_.training.tokens *= 2.0;  // as many steps as were asked for
  assume("batches count pairs of answers: two sequences each");
}

}  // namespace foretrain::tuning
