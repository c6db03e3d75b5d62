// SPDX-License-Identifier: Apache-2.0
// Megatron-LM and what descends from it or is driven by it: megatron/training/training.py
// (training_log), gpt-neox megatron/logging.py, nanotron trainer.py (train_step_logs), NeMo's
// progress printer, DeepSpeed utils/timer.py (ThroughputTimer) and runtime/engine.py.
#include <array>

#include "calibration/training_logs/log_grammar.hpp"

namespace foretrain {
namespace {

constexpr std::array megatron_words{
    GrammarWord{"elapsed time per iteration (ms)", Take::milliseconds, true},
    GrammarWord{"elapsed time per iteration (s)", Take::seconds, true},
    GrammarWord{"elapsed_time_per_iteration_ms=", Take::milliseconds, true},
    GrammarWord{"iteration", Take::step},
    GrammarWord{"global batch size", Take::global_batch},
    GrammarWord{"actual seqlen", Take::sequence},
    GrammarWord{"throughput per gpu (tflop/s/gpu)", Take::tflops_per_gpu},
    GrammarWord{"throughput per gpu (tflops/s/gpu)", Take::tflops_per_gpu},
    GrammarWord{"approx flops per gpu", Take::tflops_per_gpu},
    GrammarWord{"tflops", Take::tflops_per_gpu},
    GrammarWord{"model tflops", Take::tflops_per_gpu},
    GrammarWord{"tokens per gpu per second (tgs)", Take::tokens_per_s_per_gpu},
    GrammarWord{"tokens per gpu per second(tgs)", Take::tokens_per_s_per_gpu},
    GrammarWord{"tokens per gpu per second", Take::tokens_per_s_per_gpu},
    GrammarWord{"tokens/sec/gpu", Take::tokens_per_s_per_gpu},
    GrammarWord{"tokens/s/gpu", Take::tokens_per_s_per_gpu},
    GrammarWord{"samples/sec", Take::samples_per_s},
    GrammarWord{"samples per second", Take::samples_per_s},
    GrammarWord{"consumed samples", Take::samples_seen},
    GrammarWord{"number of skipped iterations", Take::skipped},
    GrammarWord{"number of nan iterations", Take::skipped},
};

constexpr std::array bridge_words{
    GrammarWord{"step time :", Take::seconds, true},
    GrammarWord{"gpu utilization", Take::tflops_per_gpu},
    GrammarWord{"iteration", Take::step},
};

constexpr std::array nemo_words{
    GrammarWord{"train_step_timing in s", Take::seconds, true},
    GrammarWord{"global_step", Take::step},
    GrammarWord{"iteration", Take::step},
    GrammarWord{"global_batch_size", Take::global_batch},
    GrammarWord{"tflops_per_sec_per_gpu", Take::tflops_per_gpu},
    GrammarWord{"tflops_per_gpu:", Take::tflops_per_gpu},
    GrammarWord{"consumed_samples", Take::samples_seen},
};

constexpr std::array nanotron_words{
    GrammarWord{"elapsed_time_per_iteration_ms:", Take::milliseconds, true},
    GrammarWord{"time_per_iteration_ms:", Take::milliseconds, true},
    GrammarWord{"iteration:", Take::step},
    GrammarWord{"tokens_per_sec:", Take::tokens_per_s},
    GrammarWord{"tokens_per_sec_per_gpu:", Take::tokens_per_s_per_gpu},
    GrammarWord{"global_batch_size:", Take::global_batch},
    GrammarWord{"model_tflops_per_gpu:", Take::tflops_per_gpu},
};

constexpr std::array deepspeed_words{
    GrammarWord{"samplespersec=", Take::samples_per_s, true},
    GrammarWord{"runningavgsamplespersec=", Take::nothing, true},
    GrammarWord{"currsamplespersec=", Take::samples_per_s},
    GrammarWord{"global_step=", Take::step},
    GrammarWord{", samplespersec=", Take::step_before},
};

constexpr std::array pipeline_words{
    GrammarWord{"iter time (s):", Take::seconds, true},
    GrammarWord{"steps:", Take::step},
    GrammarWord{"samples/sec:", Take::samples_per_s},
};

constexpr std::array breakdown_words{
    GrammarWord{"| forward:", Take::milliseconds_part, true},
    GrammarWord{"| fwd:", Take::milliseconds_part, true},
    GrammarWord{"| backward:", Take::milliseconds_part},
    GrammarWord{"| bwd:", Take::milliseconds_part},
    GrammarWord{"| step:", Take::milliseconds_part},
};

constexpr std::array grammars{
    LogGrammar{"megatron-lm",
               "`iteration 10/ 1000 | ... elapsed time per iteration (ms): 5837.9 |`", "",
               StepClock::none, false, megatron_words},
    LogGrammar{"nemo", "`iteration 120/149 | ... | train_step_timing in s: 0.0315`", "",
               StepClock::none, false, nemo_words},
    LogGrammar{"megatron-bridge", "`Step Time : 11.65s GPU utilization: 1158.1TFLOP/s/GPU`", "",
               StepClock::none, false, bridge_words},
    LogGrammar{"nanotron", "`iteration: 991 / 1000 | ... | elapsed_time_per_iteration_ms: 35.7 |`",
               "", StepClock::none, false, nanotron_words},
};

constexpr std::array engine_grammars{
    LogGrammar{"deepspeed",
               "`steps: 10 loss: 5.2 iter time (s): 2.5 samples/sec: 10.2`",
               "",
               StepClock::none,
               false,
               pipeline_words,
               true,
               {},
               true},
    LogGrammar{"deepspeed",
               "`global_step=40, RunningAvgSamplesPerSec=..., CurrSamplesPerSec=...`",
               "",
               StepClock::stamps,
               false,
               deepspeed_words,
               true,
               {},
               true},
    LogGrammar{"deepspeed",
               "`time (ms) | forward: 652.4 | backward: ... | step: 1172.1`",
               "",
               StepClock::none,
               false,
               breakdown_words,
               true,
               {},
               true},
};

constexpr std::array<GrammarVariant, 12> variants{{
    {"megatron-lm", "approx flops per gpu", "gpt-neox"},
    {"megatron-lm", "gpt-neox", "gpt-neox"},
    {"megatron-lm", "deepspeed info:", "megatron-deepspeed"},
    {"megatron-lm", "deepspeed_config", "megatron-deepspeed"},
    {"megatron-lm", "[real_accelerator.py", "megatron-deepspeed"},
    {"megatron-lm", "consumed tokens", "megatron-deepspeed"},
    {"megatron-lm", "step time :", "megatron-bridge"},
    {"olmo", "throughput/device/tps", "olmo-core"},
    {"hf-trainer", "axolotl", "axolotl"},
    {"hf-trainer", "memory/max_mem_active(gib)", "axolotl"},
    {"hf-trainer", "memory/max_active (gib)", "axolotl"},
    {"hf-trainer", "llamafactory", "llama-factory"},
}};

}  // namespace

std::span<const LogGrammar> megatron_grammars() { return grammars; }

std::span<const GrammarVariant> grammar_variants() { return variants; }

const std::vector<LogGrammar>& log_grammars() {
  static const std::vector<LogGrammar> all = [] {
    std::vector<LogGrammar> made;
    for (const auto family : {megatron_grammars(), torch_grammars(), small_grammars(),
                              trainer_grammars(), std::span<const LogGrammar>(engine_grammars)})
      made.insert(made.end(), family.begin(), family.end());
    return made;
  }();
  return all;
}

}  // namespace foretrain
