// SPDX-License-Identifier: Apache-2.0
// Small trainers that print one line per step: nanoGPT, LitGPT, llm.c, build-nanogpt, nanochat,
// modded-nanogpt, tinygrad's MLPerf example.
#include <array>

#include "calibration/training_logs/log_grammar.hpp"

namespace foretrain {
namespace {

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

std::span<const LogGrammar> small_grammars() { return grammars_of_small; }

}  // namespace foretrain
