// SPDX-License-Identifier: Apache-2.0
// Hugging Face's Trainer and what prints through it (axolotl, TRL, LLaMA-Factory), Weights & Biases
// histories as JSON lines, and tqdm's bars, the last resort of many frameworks.
#include <array>

#include "calibration/training_logs/log_grammar.hpp"

namespace foretrain {
namespace {

constexpr std::array factory_words{
    GrammarWord{"\"current_steps\":", Take::step, true},
    GrammarWord{"\"elapsed_time\":", Take::elapsed_clock},
};

constexpr std::array wandb_words{
    GrammarWord{"\"_runtime\":", Take::elapsed_seconds, true},
    GrammarWord{"\"_step\":", Take::step},
};

constexpr std::array trainer_words{
    GrammarWord{"'loss':", Take::nothing, true},
    GrammarWord{"{\"loss\":", Take::nothing, true},
    GrammarWord{"'train_runtime':", Take::elapsed_seconds},
    GrammarWord{"'train_runtime':", Take::total_seconds},
    GrammarWord{"'num_input_tokens_seen':", Take::tokens_seen},
    GrammarWord{"total optimization steps", Take::total_steps},
};

constexpr std::array bar_words{
    GrammarWord{"s/it", Take::progress_bar, true},
    GrammarWord{"it/s", Take::progress_bar, true},
};

constexpr std::array signs{
    GrammarSign{"gpt-neox", "gpt-neox"},
    GrammarSign{"axolotl", "axolotl"},
    GrammarSign{"llamafactory", "llama-factory"},
    GrammarSign{"llama-factory", "llama-factory"},
    GrammarSign{"[info|20", "llama-factory"},
    GrammarSign{"instantaneous batch size per device", "hf-trainer"},
    GrammarSign{"transformers/trainer.py", "hf-trainer"},
    GrammarSign{"trainingarguments(", "hf-trainer"},
    GrammarSign{"train_samples_per_second", "hf-trainer"},
    GrammarSign{"[info|trainer.py", "hf-trainer"},
    GrammarSign{"[info|configuration_utils.py", "hf-trainer"},
    GrammarSign{"colossalai - info", "colossalai"},
    GrammarSign{"_wandb:", "wandb"},
    GrammarSign{"\"_wandb\":", "wandb"},
    GrammarSign{"wandb_version:", "wandb"},
    GrammarSign{"\"codepath\":", "wandb"},
    GrammarSign{"\"name\",\"state\",\"notes\"", "wandb"},
    GrammarSign{"deepspeed info", "deepspeed"},
    GrammarSign{"[logging.py", "deepspeed"},
};

constexpr std::array grammars_of_trainers{
    LogGrammar{"llama-factory", "`{\"current_steps\": 5, ..., \"elapsed_time\": \"0:00:19\", ...}`",
               "", StepClock::elapsed, false, factory_words},
    LogGrammar{"hf-trainer", "`{'loss': 2.5586, 'grad_norm': ..., 'epoch': 0.01}`", "",
               StepClock::elapsed, false, trainer_words},
    LogGrammar{"wandb", "`{\"_step\": 10, \"_runtime\": 12.5, ...}`", "", StepClock::elapsed, false,
               wandb_words},
    LogGrammar{"tensorboard",
               "`brain.Event:2` in the first record of an event file",
               "",
               StepClock::stamps,
               false,
               {}},
    LogGrammar{"progress-bar",
               "`12/100 [00:42<05:10, 3.51s/it]`",
               "",
               StepClock::elapsed,
               false,
               bar_words,
               true,
               {},
               true},
};

// Small trainers that print one line per step: nanoGPT, LitGPT, llm.c, build-nanogpt, nanochat,
// modded-nanogpt, tinygrad's MLPerf example.

constexpr std::array litgpt_words{
    GrammarWord{"iter time:", Take::milliseconds, true},
    GrammarWord{"iter", Take::step},
};

constexpr std::array nanogpt_words{
    GrammarWord{", time", Take::milliseconds, true},
    GrammarWord{"iter", Take::step},
};

constexpr std::array nanochat_words{
    GrammarWord{"| dt:", Take::milliseconds, true},
    GrammarWord{"step", Take::step},
    GrammarWord{"tok/sec:", Take::tokens_per_s},
};

constexpr std::array llmc_words{
    GrammarWord{" ms |", Take::milliseconds_before, true},
    GrammarWord{" ms, ", Take::milliseconds_before, true},
    GrammarWord{" tok/s", Take::tokens_per_s_before},
    GrammarWord{"step", Take::step},
};

constexpr std::array llmc_loss_words{
    GrammarWord{" trl:", Take::nothing, true},
    GrammarWord{"s:", Take::step},
};

constexpr std::array modded_words{
    GrammarWord{"train_time:", Take::elapsed_milliseconds, true},
    GrammarWord{"step:", Take::step},
};

constexpr std::array tinygrad_words{
    GrammarWord{" s run,", Take::seconds_before, true},
    GrammarWord{"s run,", Take::step_first},
    GrammarWord{" gflops", Take::gigaflops_before},
};

constexpr std::array grammars_of_small{
    LogGrammar{"litgpt",
               "`Epoch 1 | iter 2 step 1 | loss train: ... | iter time: 112.20 ms (step)`", "",
               StepClock::none, false, litgpt_words},
    LogGrammar{"nanogpt", "`iter 10: loss 10.05, time 263.86ms, mfu 9.31%`", "iter_",
               StepClock::none, false, nanogpt_words},
    LogGrammar{"nanochat", "`step 00004/21400 (0.02%) | loss: ... | dt: 989.44ms | tok/sec: ...`",
               "step_", StepClock::none, false, nanochat_words},
    LogGrammar{"llm.c", "`step 1/32000 | loss ... | 3056.36 ms | 42.6% bf16 MFU | 343080 tok/s`",
               "step_", StepClock::none, false, llmc_words},
    LogGrammar{"llm.c", "`s:1 trl:10.814037`", "s:", StepClock::none, false, llmc_loss_words},
    LogGrammar{"modded-nanogpt", "`step:13/1480 train_time:424ms step_avg:141.48ms`",
               "step:", StepClock::elapsed, false, modded_words, true, "val_loss"},
    LogGrammar{"tinygrad", "`4 4.32 s run, 11.8750 loss, ... GB used, 401488.40 GFLOPS`", "",
               StepClock::none, false, tinygrad_words},
};

}  // namespace

std::span<const GrammarSign> grammar_signs() { return signs; }

std::span<const LogGrammar> trainer_grammars() { return grammars_of_trainers; }

std::span<const LogGrammar> small_grammars() { return grammars_of_small; }

}  // namespace foretrain
