// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "calibration/records/run_record.hpp"
#include "calibration/training_logs/line_values.hpp"
#include "calibration/training_logs/log_record.hpp"
#include "calibration/training_logs/log_stream.hpp"
#include "calibration/training_logs/read_training_log.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {
namespace {

TrainingLog log_of(const std::string& text) {
  Diagnostics diagnostics;
  TrainingLog log = read_training_log_text(text, "run.log", diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.items()) FAIL(diagnostic.text());
  return log;
}

/// A few lines of steps of one framework, written for this test, and what they say.
struct Sample {
  const char* format;
  const char* text;
  long iterations;
  double median;  ///< 0: none
};

const std::vector<Sample> samples{
    {"megatron-lm",
     " iteration        1/     100 | consumed samples:           64 | elapsed time per iteration "
     "(ms): 9000.0 | global batch size:    64 | lm loss: 1.0E+01 |\n"
     " iteration        2/     100 | consumed samples:          128 | elapsed time per iteration "
     "(ms): 2500.0 | global batch size:    64 | lm loss: 1.0E+01 |\n",
     2, 2.5},
    {"megatron-lm", " iteration 1/ 9 | elapsed time per iteration (s): 97.5 | TFLOPs: 150.1 |\n", 1,
     97.5},
    {"megatron-deepspeed",
     "DeepSpeed info: version=0.9.1, git-hash=x\n"
     " iteration 7/ 9 | consumed tokens: 99 | elapsed time per iteration (ms): 800.0 |\n",
     1, 0.8},
    {"gpt-neox",
     " samples/sec: 8.1 | iteration 3/ 10 | elapsed time per iteration (ms): 4000.5 | approx "
     "flops "
     "per GPU: 99.5TFLOPS | lm_loss: 1.1E+01 |\n",
     1, 4.0005},
    {"megatron-bridge", "Step Time : 3.25s GPU utilization: 512.5MODEL_TFLOP/s/GPU\n", 1, 3.25},
    {"nemo",
     "Training epoch 0, iteration 4/9 | global_batch_size: 8 | global_step: 4 | "
     "train_step_timing in s: 0.75\n",
     1, 0.75},
    {"nanotron",
     "01/02/2024 03:04:05 [INFO|DP=0|PP=0|TP=0]: iteration: 5 / 10 | "
     "elapsed_time_per_iteration_ms: 1.25K | tokens_per_sec: 16K | tokens_per_sec_per_gpu: 2K "
     "|\n",
     1, 1.25},
    {"torchtitan",
     "[rank0]:[titan] 2025-01-01 00:00:10,500 - root - INFO - \x1b[31mstep: 10  "
     "\x1b[32mloss: 7.1 memory: 10.50GiB(13.3%)  tps: 1,024\n"
     "[rank0]:[titan] 2025-01-01 00:00:30,500 - root - INFO - step: 20  loss: 6.1 "
     "memory: 11.50GiB(14.3%)  tps: 1,024\n",
     2, 2.0},
    {"deepspeed",
     "[2024-01-01 00:00:00,000] [INFO] [timer.py:1:stop] epoch=0/micro_step=10/global_step=10, "
     "RunningAvgSamplesPerSec=8.1, CurrSamplesPerSec=8.0, MaxMemAllocated=9.02GB\n"
     "[2024-01-01 00:00:05,000] [INFO] [timer.py:1:stop] epoch=0/micro_step=20/global_step=20, "
     "RunningAvgSamplesPerSec=8.1, CurrSamplesPerSec=8.0, MaxMemAllocated=9.02GB\n",
     2, 0.5},
    {"deepspeed",
     "rank=0 time (ms) | forward: 600.00 | backward: 1200.00 | backward_inner: 1 | step: "
     "200.00\n",
     1, 2.0},
    {"hf-trainer",
     "  1%|1 | 1/100 [00:04<06:36,  4.00s/it]\r{'loss': 2.5, 'epoch': 0.1}\n"
     "  2%|2 | 2/100 [00:08<06:32,  4.00s/it]\r{'loss': 2.4, 'epoch': 0.2}\n",
     2, 4.0},
    {"axolotl",
     "{'loss': 4.7, 'learning_rate': 5e-06, 'memory/max_mem_active(gib)': 25.4, 'epoch': 1.0}\n", 1,
     0.0},
    {"deepspeed", "steps: 10 loss: 5.2 iter time (s): 2.5 samples/sec: 10.2\n", 1, 2.5},
    {"llama-factory",
     "{\"current_steps\": 5, \"total_steps\": 20, \"elapsed_time\": \"0:00:10\"}\n"
     "{\"current_steps\": 10, \"total_steps\": 20, \"elapsed_time\": \"0:00:25\"}\n",
     2, 3.0},
    {"olmo",
     "2024-08-06 10:00:00.000 host:0 olmo.train:908 INFO [step=1/90,epoch=0]\n"
     "    throughput/device/tokens_per_second=1,000\n"
     "2024-08-06 10:00:04.000 host:0 olmo.train:908 INFO [step=2/90,epoch=0]\n"
     "    throughput/device/tokens_per_second=1,002\n    System/Peak GPU Memory (MB)=5,000\n",
     2, 4.0},
    {"olmo-core", "    throughput/device/TPS=25,816\n", 1, 0.0},
    {"composer",
     "[batch=1/10]:\n         Train time/sample: 256\n         Train throughput/batches_per_sec: "
     "0.5\n[batch=2/10]:\n         Train time/sample: 512\n         Train "
     "throughput/batches_per_sec: 0.25\n",
     2, 4.0},
    {"litgpt", "Epoch 1 | iter 4 step 2 | loss train: 2.5, val: n/a | iter time: 250.5 ms (step)\n",
     1, 0.501},  // two micro-batches of a step
    {"nanogpt", "iter 10: loss 10.05, time 263.50ms, mfu 9.31%\n", 1, 0.2635},
    {"nanochat", "step 00004/21400 (0.02%) | loss: 8.9 | dt: 989.50ms | tok/sec: 529,882 |\n", 1,
     0.9895},
    {"llm.c",
     "step    1/32000 | loss 11.1 (+nanz)| norm 52.9 (+nanz)| lr 8.57e-07 | 3056.50 ms | 42.6% "
     "bf16 MFU | 343080 tok/s\n",
     1, 3.0565},
    {"modded-nanogpt",
     "step:1/9 train_time:100ms step_avg:nanms\nstep:1/9 val_loss:3.2 train_time:150ms\n"
     "step:2/9 train_time:300ms step_avg:nanms\n",
     2, 0.2},
    {"maxtext",
     "completed step: 2, seconds: 0.570, TFLOP/s/device: 37.633, Tokens/s/device: 7185.0\n", 1,
     0.57},
    {"internevo",
     "tflops=41.9 step=0 loss=11 tgs (tokens/gpu/second)=338.6 num_consumed_tokens=65536\n"
     "tflops=41.9 step=1 loss=11 tgs (tokens/gpu/second)=338.6 num_consumed_tokens=131072\n",
     2, 0.0},
    {"prime-rl", "02:40:53 SUCCESS Step 1 | Time: 0.60s | Loss: 12.3 | Throughput: 3324 tokens/s\n",
     1, 0.6},
    {"torchtune", "Step 1 | loss:2.08 lr:2e-05 tokens_per_second_per_gpu:57.8\n", 1, 0.0},
    {"xtuner",
     "[XTuner][RANK 2][2025-08-29 09:17:51][INFO] Step 1/100 data_time: 0.05 lr: 0.1 time: 4.5 "
     "text_tokens: 4008.0 tgs: 805.3\n",
     1, 4.5},
    {"colossalai", "[08/30/23 07:07:34] INFO colossalai - colossalai - INFO: Step time: 19.5\n", 1,
     19.5},
    {"levanter",
     "Progress on:train 10.0it/1.00kit rate:2.0s/it remaining:33:00 elapsed:00:20 "
     "postfix:loss=9\n",
     1, 2.0},
    {"mlperf",
     ":::MLLOG {\"key\": \"tracked_stats\", \"value\": {\"train_step_time\": 1.5}, \"metadata\": "
     "{\"step\": 8}}\n",
     1, 1.5},
    {"tinygrad", "    4 4.32 s run, 11.8750 loss, 0.01 LR, 1454.57 GB used, 401488.40 GFLOPS\n", 1,
     4.32},
    {"wandb",
     "{\"_step\": 1, \"_runtime\": 10.0, \"train/loss\": 3}\n"
     "{\"_step\": 3, \"_runtime\": 15.0, \"train/loss\": 3}\n",
     2, 2.5},
};

std::string megatron_line(int step, double ms) {
  return fmt::format(" iteration {:8}/  1000 | elapsed time per iteration (ms): {:.1f} |\n", step,
                     ms);
}

}  // namespace

TEST_CASE("training logs: every format is told by its lines", "[calibration][training_logs]") {
  for (const Sample& sample : samples) {
    CAPTURE(sample.format, sample.text);
    const TrainingLog log = log_of(sample.text);
    CHECK(log.format == sample.format);
    CHECK(log.iterations == sample.iterations);
    CHECK(log.step.has_value() == (sample.median > 0.0));
    if (log.step && sample.median > 0.0) CHECK(log.step->median == Approx(sample.median));
  }
}

TEST_CASE("training logs: every format but event files has a sample",
          "[calibration][training_logs]") {
  for (const TrainingLogFormat& format : training_log_formats()) {
    CAPTURE(format.name);
    if (format.name == "tensorboard" || format.name == "progress-bar") continue;
    CHECK(std::any_of(samples.begin(), samples.end(),
                      [&](const Sample& sample) { return sample.format == format.name; }));
    CHECK(!format.signature.empty());
  }
}

TEST_CASE("training logs: a head of arguments is the plan", "[calibration][training_logs]") {
  const TrainingLog log = log_of(
      "------------------------ arguments ------------------------\n"
      "  bf16 ............................................ True\n"
      "  data_parallel_size .............................. 2\n"
      "  expert_tensor_parallel_size ..................... 3\n"
      "  fp16 ............................................ False\n"
      "  hidden_size ..................................... 4096\n"
      "  micro_batch_size ................................ 1\n"
      "  num_layers ...................................... 32\n"
      "  pipeline_model_parallel_size .................... 2\n"
      "  seq_length ...................................... 8192\n"
      "  tensor_model_parallel_size ...................... 4\n"
      "  virtual_pipeline_model_parallel_size ............ None\n"
      "-------------------- end of arguments ---------------------\n" +
      megatron_line(1, 5000.0));
  CHECK(log.plan.tensor == 4);
  CHECK(log.plan.pipeline == 2);
  CHECK(log.plan.data == 2);
  CHECK(log.plan.gpus == 16);
  CHECK(log.plan.micro_batch == 1);
  CHECK(log.plan.sequence == 8192);
  CHECK(log.plan.layers == 32);
  CHECK(log.plan.precision == "bf16");
  CHECK(!log.plan.virtual_stages);
  CHECK(!log.plan.global_batch);
  CHECK(!log.plan.zero);
}

TEST_CASE("training logs: plans of JSON, YAML, Python and command lines",
          "[calibration][training_logs]") {
  const TrainingLog log = log_of(
      "torchrun train.py --seq-length=2048 --bf16 --tensor_parallel_size 2\n"
      "TrainingArguments(\nper_device_train_batch_size=3,\n"
      "  \"gradient_accumulation_steps\": 4,\nmodel:\n  num_hidden_layers: 24\n"
      "n_embd:\n  desc: null\n  value: 768\n"
      "cmd ['main.py', '--zero_stage', '3']\n");
  CHECK(log.plan.sequence == 2048);
  CHECK(log.plan.precision == "bf16");
  CHECK(log.plan.tensor == 2);
  CHECK(log.plan.micro_batch == 3);
  CHECK(log.plan.accumulation == 4);
  CHECK(log.plan.layers == 24);
  CHECK(log.plan.hidden == 768);
  CHECK(log.plan.zero == 3);
  CHECK(log_of("--hidden-size 4 \\\n  --bf16 \\\n  --lr 1\n").plan.precision == "bf16");
  CHECK(log_of("--hidden-size 4 --fp16 --lr 1\n").plan.precision == "fp16");
}

TEST_CASE("training logs: the median leaves out the first five steps and is robust to pauses",
          "[calibration][training_logs]") {
  std::string text;
  for (int step = 1; step <= 5; ++step) text += megatron_line(step, 90000.0);
  for (int step = 6; step <= 15; ++step) text += megatron_line(step, step == 9 ? 600000.0 : 2000.0);
  const TrainingLog log = log_of(text);
  CHECK(log.iterations == 15);
  CHECK(log.step->records == 10);
  CHECK(log.step->median == Approx(2.0));
}

TEST_CASE("training logs: a step that several ranks print counts once",
          "[calibration][training_logs]") {
  std::string text;
  for (int step = 1; step <= 3; ++step)
    for (int rank = 0; rank < 4; ++rank) text += megatron_line(step, 1000.0 + rank);
  CHECK(log_of(text).iterations == 3);
}

TEST_CASE("training logs: restarts, validation, checkpoints, skips and ends are told",
          "[calibration][training_logs]") {
  std::string text;
  for (int step = 1; step <= 40; ++step) text += megatron_line(step, 1000.0);
  text +=
      "validation loss at iteration 40 | lm loss value: 2.0\n"
      "saving checkpoint at iteration 20 to /home/alice/secret\n"
      "successfully saved checkpoint at iteration 20\n"
      " loading checkpoint from /home/alice/secret\n";
  for (int step = 21; step <= 30; ++step) text += megatron_line(step, 1000.0);
  text +=
      " iteration 31/ 1000 | elapsed time per iteration (ms): 1000.0 | number of skipped "
      "iterations: 2 |\n"
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";
  const TrainingLog log = log_of(text);
  const auto count = [&](LogEventKind kind) {
    return log.event_counts[static_cast<std::size_t>(kind)];
  };
  CHECK(log.iterations == 51);
  CHECK(count(LogEventKind::validation) == 1);
  CHECK(count(LogEventKind::checkpoint) == 1);
  CHECK(count(LogEventKind::restart) == 1);
  CHECK(count(LogEventKind::skipped) == 2);
  CHECK(count(LogEventKind::out_of_memory) == 1);
  CHECK(log.events.back().kind == LogEventKind::out_of_memory);
  CHECK(log.events.back().line == 56);
}

TEST_CASE("training logs: rotated files and files of ranks are one run",
          "[calibration][training_logs]") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "foretrain_training_logs";
  std::filesystem::create_directories(folder);
  std::vector<std::string> files;
  const auto write = [&](const char* name, int first, int last) {
    files.push_back((folder / name).string());
    std::ofstream out(files.back());
    for (int step = first; step <= last; ++step) out << megatron_line(step, 1000.0);
  };
  write("b.log", 11, 20);
  write("a.log", 1, 10);
  write("a_rank1.log", 1, 10);
  Diagnostics diagnostics;
  const TrainingLog log = read_training_log(files, diagnostics);
  CHECK(diagnostics.empty());
  CHECK(log.iterations == 20);
  CHECK(log.first_step == 1);
  CHECK(log.last_step == 20);
  std::filesystem::remove_all(folder);
}

TEST_CASE("training logs: what they hold is read back as a record",
          "[calibration][training_logs]") {
  const TrainingLog log = log_of(
      "  num_layers ...... 32\n  hidden_size ...... 4096\n  world_size ...... 16\n"
      "[Rank 0] (after 2 iterations) memory (MB) | allocated: 1.0 | max allocated: 2048.0 | "
      "reserved: 1.0 | max reserved: 4096.0\n" +
      megatron_line(1, 5000.0) + megatron_line(2, 3000.0));
  for (const LogNaming naming : {LogNaming::file, LogNaming::anonymous}) {
    const std::string text = log_record_text(log, naming);
    CAPTURE(text);
    CHECK((text.find("run.log") == std::string::npos) == (naming == LogNaming::anonymous));
    Diagnostics diagnostics;
    const auto tree = parse_yaml(text, "mine.yaml", run_record_limits(), diagnostics);
    REQUIRE(tree);
    const auto records = read_run_records(*tree, "mine.yaml", diagnostics);
    CHECK(diagnostics.empty());
    REQUIRE(records.size() == 1);
    CHECK(records.front().layers == 32);
    CHECK(records.front().gpus == 16);
    CHECK(*records.front().iteration_s == Approx(3.0));
    CHECK(*records.front().memory == Approx(2.0));
  }
}

TEST_CASE("training logs: what is none is refused by name", "[calibration][training_logs]") {
  for (const std::string& text :
       {std::string(), std::string("hello\nworld\n"), std::string("a\0b", 3)}) {
    Diagnostics diagnostics;
    static_cast<void>(read_training_log_text(text, "run.log", diagnostics));
    REQUIRE(!diagnostics.empty());
    CHECK(diagnostics.items().front().file == "run.log");
  }
}

TEST_CASE("training logs: lines are bounded and bare of escapes", "[calibration][training_logs]") {
  std::istringstream input("\x1b[36mone\x1b[0m\r\ntwo\rthree\n[rank12]: four\n" +
                           std::string(3 * most_line_bytes, 'x') + "\nlast");
  std::vector<std::string> lines;
  std::vector<long> numbers;
  const StreamFacts facts = read_lines(input, [&](const TextLine& line) {
    lines.emplace_back(line.text.substr(0, 20));
    numbers.push_back(line.number);
  });
  CHECK(lines ==
        std::vector<std::string>{"one", "two", "three", " four", std::string(20, 'x'), "last"});
  CHECK(numbers == std::vector<long>{1, 2, 2, 3, 4, 5});
  CHECK(facts.cut == 1);
}

TEST_CASE("training logs: numbers as logs print them", "[calibration][training_logs]") {
  CHECK(leading_number("1,048,576 tokens", false)->value == 1048576.0);
  CHECK(leading_number("11.5K |", true)->value == 11500.0);
  CHECK(leading_number("4e-05,", false)->value == 4e-05);
  CHECK(leading_number("12,34", false)->value == 12.0);
  CHECK(!leading_number("nan", false));
  CHECK(!leading_number("", false));
  CHECK(clock_length("1:02:03<") == 3723.0);
  CHECK(!clock_length("42"));
  bool coarse = false;
  const auto early = stamp_in("2024-12-31 23:59:59,500 x", coarse);
  CHECK(*stamp_in("2025-01-01 00:00:01,250 x", coarse) - *early == Approx(1.75));
  CHECK(!coarse);
}

}  // namespace foretrain
