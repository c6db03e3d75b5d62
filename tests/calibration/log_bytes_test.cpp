// SPDX-License-Identifier: Apache-2.0
// Logs as machines leave them: packed, in UTF-16, with holes; and lines that mean something else
// than they seem to.
#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <zlib.h>

#include "calibration/training_logs/read_training_log.hpp"

namespace foretrain {
namespace {

std::string megatron_steps(int steps) {
  std::string text =
      "> initialized tensor model parallel with size 8\n"
      "> initialized pipeline model parallel with size 4\n";
  for (int step = 1; step <= steps; ++step)
    text += fmt::format(
        " iteration {:8d}/     100 | elapsed time per iteration (ms): 2500.0 | "
        "global batch size:    64 |\n",
        step);
  return text;
}

TrainingLog read_bytes(const std::string& text, Diagnostics& diagnostics) {
  return read_training_log_text(text, "run.log", diagnostics);
}

TrainingLog log_in(const std::string& text) {
  Diagnostics diagnostics;
  TrainingLog log = read_bytes(text, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.items()) FAIL(diagnostic.text());
  return log;
}

void check_megatron(const TrainingLog& log, long steps) {
  CHECK(log.format == "megatron-lm");
  CHECK(log.iterations == steps);
  CHECK(log.step->median == Approx(2.5));
  CHECK(log.plan.tensor == 8);
  CHECK(log.plan.pipeline == 4);
}

std::string packed(const std::string& text) {
  z_stream state{};
  REQUIRE(deflateInit2(&state, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string source = text;
  std::string bytes(deflateBound(&state, static_cast<uLong>(text.size())), '\0');
  state.next_in = reinterpret_cast<Bytef*>(source.data());
  state.avail_in = static_cast<uInt>(source.size());
  state.next_out = reinterpret_cast<Bytef*>(bytes.data());
  state.avail_out = static_cast<uInt>(bytes.size());
  REQUIRE(deflate(&state, Z_FINISH) == Z_STREAM_END);
  const std::size_t size = bytes.size() - state.avail_out;
  deflateEnd(&state);
  return bytes.substr(0, size);
}

std::string wide(const std::string& text, bool big, bool mark) {
  std::string bytes;
  if (mark) bytes = big ? "\xfe\xff" : "\xff\xfe";
  for (const char c : text) {
    if (big) bytes += '\0';
    bytes += c;
    if (!big) bytes += '\0';
  }
  return bytes;
}

}  // namespace

TEST_CASE("logs: gzip and UTF-16 are read", "[calibration][training_logs]") {
  const std::string text = megatron_steps(20);
  check_megatron(log_in(text), 20);
  check_megatron(log_in(packed(text)), 20);
  check_megatron(log_in(packed(megatron_steps(9)) + packed("\n")), 9);
  for (const bool big : {false, true})
    for (const bool mark : {false, true}) check_megatron(log_in(wide(text, big, mark)), 20);
}

TEST_CASE("logs: a hole of zero bytes is passed over and told", "[calibration][training_logs]") {
  std::string text = megatron_steps(20);
  const std::size_t at = text.find(" iteration        9/");
  text = text.substr(0, at) + std::string(4096, '\0') + text.substr(at);
  const TrainingLog log = log_in(text);
  check_megatron(log, 20);
  REQUIRE(log.remarks.size() == 1);
  CHECK(log.remarks.front() ==
        "4096 zero bytes from line 11 on were passed over, as a crash leaves them");
}

TEST_CASE("logs: binary data are named at their line", "[calibration][training_logs]") {
  Diagnostics diagnostics;
  static_cast<void>(
      read_bytes("one\ntwo\nthree\n" + std::string("\x01\x02\x03\0\x04\x05", 6), diagnostics));
  REQUIRE(!diagnostics.empty());
  CHECK(diagnostics.items().front().line == 4);
  CHECK(diagnostics.items().front().message.find("binary data") != std::string::npos);
}

TEST_CASE("logs: LitGPT's micro-batches add up to steps", "[calibration][training_logs]") {
  std::string all;
  std::string few;
  for (int iteration = 1; iteration <= 80; ++iteration) {
    const bool last = iteration % 8 == 0;
    all += fmt::format("Epoch 1 | iter {} step {} | loss train: 1.6 | iter time: {} ms{}\n",
                       iteration, iteration / 8, last ? 500 : 100, last ? " (step)" : "");
    if (last)
      few += fmt::format("Epoch 1 | iter {} step {} | loss train: 1.6 | iter time: 100 ms (step)\n",
                         iteration, iteration / 8);
  }
  const TrainingLog summed = log_in(all);
  CHECK(summed.iterations == 10);
  CHECK(summed.step->median == Approx(1.2));
  const TrainingLog scaled = log_in(few);
  CHECK(scaled.iterations == 10);
  CHECK(scaled.step->median == Approx(0.8));
}

TEST_CASE("logs: summaries of MLPerf's evaluations are no steps", "[calibration][training_logs]") {
  std::string text;
  for (int step = 1; step <= 30; ++step) {
    text += fmt::format(
        ":::MLLOG {{\"key\": \"tracked_stats\", \"value\": {{\"train_loss\": 3.2, "
        "\"train_step_time\": 1.9}}, \"metadata\": {{\"step\": {}}}}}\n",
        step);
    if (step % 10 == 0)
      text += fmt::format(
          ":::MLLOG {{\"key\": \"tracked_stats\", \"value\": {{\"validation_loss\": 3.2, "
          "\"train_step_time\": 38.0}}, \"metadata\": {{\"step\": {}}}}}\n",
          step / 10);
  }
  const TrainingLog log = log_in(text +
                                 " 0:   resume_from_checkpoint: null\n"
                                 " 0:   monitor: val_loss\n");
  CHECK(log.iterations == 30);
  CHECK(log.step->median == Approx(1.9));
  CHECK(log.events.empty());
}

TEST_CASE("logs: bars of several ranks are the bar of one", "[calibration][training_logs]") {
  std::string text = "  Total optimization steps = 60\n";
  for (int step = 1; step <= 80; ++step)
    for (int rank = 0; rank < 4; ++rank) {
      const int at = step - 5 * rank;  // ranks lag behind
      if (at < 1 || at > 60) continue;
      text += fmt::format(" {}/60 [{:02d}:{:02d}<00:10, 2.00s/it]\r", at, at * 2 / 60, at * 2 % 60);
    }
  const TrainingLog log = log_in(text + "\n");
  CHECK(log.iterations == 60);
  CHECK(log.step->median == Approx(2.0));
}

TEST_CASE("logs: settings in quoted source text are none", "[calibration][training_logs]") {
  const TrainingLog log =
      log_in(megatron_steps(10) +
             "Traceback (most recent call last):\n"
             "  File \"train.py\", line 12, in <module>\n"
             "    world_size=2, rank=0)\n"
             "    torch.distributed.init_process_group(backend=\"nccl\", world_size=3)\n"
             "    model = FSDP(model, world_size=4)\n"
             "assert world_size == 5\n");
  CHECK_FALSE(log.plan.gpus);
  CHECK(log_in(megatron_steps(10) + "args = Namespace(world_size=32, seed=1)\n").plan.gpus == 32);
}

TEST_CASE("logs: names of NeMo and Weights & Biases", "[calibration][training_logs]") {
  const TrainingLog nemo = log_in(
      "Training epoch 0, iteration 4/9 | global_step: 4 | train_step_timing in s: 0.75 | "
      "TFLOPS_per_GPU: 4.502e+02 | consumed_samples: 512\n");
  CHECK(nemo.step->median == Approx(0.75));
  CHECK(nemo.tflops_per_gpu == Approx(450.2));
  const TrainingLog wandb = log_in(
      "wandb_version: 1\n\nbatch_size:\n  desc: null\n  value: 12\n"
      "block_size:\n  desc: null\n  value: 1024\n{\"codePath\": \"train.py\", \"gpu_count\": 8}\n");
  CHECK(wandb.plan.micro_batch == 12);
  CHECK(wandb.plan.sequence == 1024);
  CHECK(wandb.plan.gpus == 8);
}

TEST_CASE("logs: a page that quotes a message of a GPU is none", "[calibration][training_logs]") {
  const std::string message =
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n";
  for (const std::string& page :
       {"# Out of memory\n\nIf training stops with\n\n" + message +
            "\nlower the batch:\n\n- use gradient checkpointing\n- use ZeRO-3\n",
        "<html><body><h1>Help</h1>\n<p>" + message + "</p>\n<li>Reduce batch_size</li>\n"}) {
    Diagnostics diagnostics;
    static_cast<void>(read_bytes(page, diagnostics));
    REQUIRE(!diagnostics.empty());
    CHECK(diagnostics.items().front().message.find("prose about a run") != std::string::npos);
  }
  const TrainingLog real = log_in(
      "Traceback (most recent call last):\n  File \"train.py\", line 3, "
      "in <module>\n    loss.backward()\n" +
      message);
  CHECK(real.event_counts[static_cast<std::size_t>(LogEventKind::out_of_memory)] == 1);
}

}  // namespace foretrain
