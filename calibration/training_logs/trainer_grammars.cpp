// SPDX-License-Identifier: Apache-2.0
// Frameworks on PyTorch and JAX with loops of their own: torchtitan components/metrics.py,
// torchtune metric loggers, OLMo train.py, OLMo-core console logger, Composer's ConsoleLogger,
// InternEvo record_current_batch_training_metrics, MaxText metric_logger.py, NeMo AutoModel,
// XTuner, prime-rl.
// Hugging Face's Trainer and what prints through it (axolotl, TRL, LLaMA-Factory), Weights & Biases
// histories as JSON lines, and tqdm's bars, the last resort of many frameworks.

#include <array>

#include "calibration/training_logs/log_grammar.hpp"

namespace foretrain {
namespace {

constexpr std::array titan_words{
    GrammarWord{"tps:", Take::tokens_per_s_per_gpu, true},
    GrammarWord{"wps:", Take::tokens_per_s_per_gpu, true},
    GrammarWord{"step:", Take::step},
    GrammarWord{"tflops:", Take::tflops_per_gpu},
};

constexpr std::array automodel_words{
    GrammarWord{"| num_label_tokens", Take::nothing, true},
    GrammarWord{"step", Take::step},
    GrammarWord{"tps", Take::tokens_per_s},
    GrammarWord{"/gpu)", Take::tokens_per_s_per_gpu_before},
};

constexpr std::array olmo_words{
    GrammarWord{"[step=", Take::step, true},
    GrammarWord{"throughput/device/tokens_per_second=", Take::tokens_per_s_per_gpu},
    GrammarWord{"throughput/device/tps=", Take::tokens_per_s_per_gpu},
    GrammarWord{"throughput/total_tokens=", Take::tokens_seen},
    GrammarWord{"throughput/total tokens=", Take::tokens_seen},
};

constexpr std::array olmo_core_words{
    GrammarWord{"throughput/device/tps=", Take::tokens_per_s_per_gpu, true},
};

constexpr std::array composer_words{
    GrammarWord{"[batch=", Take::step, true},
    GrammarWord{"throughput/batches_per_sec:", Take::steps_per_s},
    GrammarWord{"throughput/tokens_per_sec:", Take::tokens_per_s},
    GrammarWord{"throughput/device/tokens_per_sec:", Take::tokens_per_s_per_gpu},
    GrammarWord{"throughput/samples_per_sec:", Take::samples_per_s},
    GrammarWord{"time/sample:", Take::samples_seen},
    GrammarWord{"time/token:", Take::tokens_seen},
};

constexpr std::array maxtext_words{
    GrammarWord{"completed step:", Take::step, true},
    GrammarWord{"seconds:", Take::seconds},
    GrammarWord{"tflop/s/device:", Take::tflops_per_gpu},
    GrammarWord{"tflop/s:", Take::tflops_per_gpu},
    GrammarWord{"tokens/s/device:", Take::tokens_per_s_per_gpu},
};

constexpr std::array internevo_words{
    GrammarWord{"tgs (tokens/gpu/second)=", Take::tokens_per_s_per_gpu, true},
    GrammarWord{"step=", Take::step},
    GrammarWord{"tflops=", Take::tflops_per_gpu},
    GrammarWord{"num_consumed_tokens=", Take::tokens_seen},
};

constexpr std::array xtuner_words{
    GrammarWord{"text_tokens:", Take::nothing, true},
    GrammarWord{"step", Take::step},
    GrammarWord{"time:", Take::seconds},
    GrammarWord{"tgs:", Take::tokens_per_s_per_gpu},
};

constexpr std::array prime_words{
    GrammarWord{"| time:", Take::seconds, true},
    GrammarWord{"step", Take::step},
    GrammarWord{"throughput:", Take::tokens_per_s},
};

constexpr std::array torchtune_words{
    GrammarWord{"lr:", Take::nothing, true},
    GrammarWord{"step", Take::step},
    GrammarWord{"tokens_per_second_per_gpu:", Take::tokens_per_s_per_gpu},
};

constexpr std::array colossal_words{
    GrammarWord{"info: step time:", Take::seconds, true},
    GrammarWord{"throughput:", Take::samples_per_s},
};

constexpr std::array levanter_words{
    GrammarWord{"progress on:train", Take::progress_rate, true},
};

constexpr std::array mlperf_words{
    GrammarWord{"\"train_step_time\":", Take::seconds, true},
    GrammarWord{"\"train_step_timing\":", Take::seconds, true},
    GrammarWord{"\"step\":", Take::step},
};

constexpr std::array mlperf_rate_words{
    GrammarWord{"{\"throughput\":", Take::samples_per_s, true},
};

constexpr std::array grammars_of_loops{
    LogGrammar{"torchtitan",
               "`step: 10  loss: ...  memory: 30.99GiB(32.62%)  tps: 7,034  mfu: ...`", "",
               StepClock::stamps, false, titan_words},
    LogGrammar{"nemo", "`step 9 | ... | tps 11278.56(1409.82/gpu) | num_label_tokens 2154`", "",
               StepClock::stamps, false, automodel_words},
    LogGrammar{"olmo", "`[step=1/739328,epoch=0]` and `throughput/device/tokens_per_second=...`",
               "", StepClock::stamps, true, olmo_words},
    LogGrammar{"olmo-core", "`throughput/device/TPS=258,163`", "", StepClock::none, false,
               olmo_core_words},
    LogGrammar{"composer", "`[batch=1/10]:` and `Train throughput/batches_per_sec: ...`", "",
               StepClock::none, true, composer_words},
    LogGrammar{"maxtext", "`completed step: 2, seconds: 0.570, TFLOP/s/device: 37.633, ...`", "",
               StepClock::none, false, maxtext_words},
    LogGrammar{"internevo", "`tflops=127.8 step=2 ... tgs (tokens/gpu/second)=1031.72 ...`", "",
               StepClock::stamps, false, internevo_words},
    LogGrammar{"xtuner", "`Step 1/100 ... time: 4.9770 text_tokens: 4008.0 ... tgs: 805.3`", "",
               StepClock::none, false, xtuner_words},
    LogGrammar{"prime-rl", "`Step 1 | Time: 0.60s | Loss: ... | Throughput: 3324 tokens/s`", "",
               StepClock::none, false, prime_words},
    LogGrammar{"torchtune", "`Step 1 | loss:2.08 lr:2e-05 tokens_per_second_per_gpu:57.8`", "step_",
               StepClock::none, false, torchtune_words},
    LogGrammar{"colossalai", "`colossalai - INFO: Step time: 22.885`", "", StepClock::none, false,
               colossal_words},
    LogGrammar{"levanter", "`Progress on:train 100it/1000it rate:1.4it/s`", "", StepClock::none,
               false, levanter_words},
    LogGrammar{"mlperf", "`:::MLLOG {... \"tracked_stats\" ... \"train_step_time\": 1.9 ...}`", "",
               StepClock::none, false, mlperf_words, true, "\"validation|\"val_|\"eval"},
    LogGrammar{"mlperf",
               "`:::MLLOG {... \"tracked_stats\", \"value\": {\"throughput\": 8.86} ...}`", "",
               StepClock::none, false, mlperf_rate_words, false},
};

}  // namespace

std::span<const LogGrammar> torch_grammars() { return grammars_of_loops; }

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
