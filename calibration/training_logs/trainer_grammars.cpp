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

}  // namespace

std::span<const GrammarSign> grammar_signs() { return signs; }

std::span<const LogGrammar> trainer_grammars() { return grammars_of_trainers; }

}  // namespace foretrain
