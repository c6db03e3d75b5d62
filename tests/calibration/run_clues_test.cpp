// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <cstring>

#include "calibration/training_logs/log_record.hpp"
#include "calibration/training_logs/read_training_log.hpp"

namespace foretrain {
namespace {

TrainingLog clue_log(const std::string& text) {
  Diagnostics diagnostics;
  TrainingLog log = read_training_log_text(text, "run.log", diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.items()) FAIL(diagnostic.text());
  return log;
}

std::string clue_step(int step) {
  return fmt::format(" iteration {:8}/  1000 | elapsed time per iteration (ms): 1000.0 |\n", step);
}

const LoggedSection& section(const TrainingLog& log, LogSection which) {
  const auto found = log.clues.sections.find(which);
  if (found == log.clues.sections.end()) FAIL("no " << name_of(which));
  return found->second;
}

}  // namespace

TEST_CASE("clues: timers on one line, as Megatron-LM of 2021 and DeepSpeed print them",
          "[calibration][training_logs]") {
  const TrainingLog old = clue_log(
      clue_step(1) +
      "time (ms) | forward-compute: 900.00 | backward-compute: 1800.0 | batch-generator: 2.97\n" +
      clue_step(2) +
      "time (ms) | forward-compute: 175.00 | forward-recv: 120.0 | backward-compute: 510.0 | "
      "backward-send: 5.0 | backward-params-all-reduce: 23.0 | backward-reduce-model-grads: 99 | "
      "optimizer: 110.0 | batch-generator: 2.5\n");
  // The batch is made inside the forward pass.
  CHECK(section(old, LogSection::forward).most == Approx(0.1725));
  CHECK(section(old, LogSection::backward).most == Approx(0.51));
  CHECK(section(old, LogSection::waiting).most == Approx(0.125));
  CHECK(section(old, LogSection::gradients).most == Approx(0.023));
  CHECK(section(old, LogSection::optimizer).most == Approx(0.11));
  CHECK(section(old, LogSection::input).most == Approx(0.0025));
  const TrainingLog deepspeed = clue_log(
      "rank=0 time (ms) | forward: 600.0 | backward: 1300.0 | backward_inner: 1200.0 | "
      "backward_allreduce: 100.0 | step: 200.0\n");
  CHECK(section(deepspeed, LogSection::backward).most == Approx(1.2));
  CHECK(section(deepspeed, LogSection::gradients).most == Approx(0.1));
}

TEST_CASE("clues: timers in blocks, of the fastest and the slowest rank, or of each",
          "[calibration][training_logs]") {
  const TrainingLog ranges =
      clue_log(clue_step(1) +
               "(min, max) time across ranks (ms):\n"
               "    forward-backward ...............................: (2600.00, 2610.00)\n"
               "    forward-compute ................................: (800.00, 1000.00)\n"
               "    backward-compute ...............................: (1600.00, 2000.00)\n"
               "    all-grads-sync .................................: (1.00, 40.00)\n"
               "    params-all-gather ..............................: (10.00, 12.00)\n" +
               clue_step(2));
  CHECK(ranges.iterations == 2);
  CHECK(section(ranges, LogSection::forward).least == Approx(0.8));
  CHECK(section(ranges, LogSection::forward).most == Approx(1.0));
  CHECK(section(ranges, LogSection::parameters).most == Approx(0.012));
  const TrainingLog ranks = clue_log(clue_step(1) +
                                     "times across ranks (ms):\n"
                                     "  forward-compute:\n"
                                     "     rank  0: 412.00\n"
                                     "     rank  1: 512.00\n"
                                     "  optimizer:\n"
                                     "     rank  0: 12.00\n" +
                                     clue_step(2));
  CHECK(ranks.iterations == 2);
  CHECK(section(ranks, LogSection::forward).least == Approx(0.412));
  CHECK(section(ranks, LogSection::forward).most == Approx(0.512));
  CHECK(section(ranks, LogSection::optimizer).most == Approx(0.012));
  // What stands below a block without being of it is read as ever.
  const TrainingLog after = clue_log(
      "(min, max) time across ranks (ms):\n"
      "    save-checkpoint ................................: (24895.07, 24895.13)\n"
      "seq_length: 4096\n" +
      clue_step(1));
  CHECK(after.plan.sequence == 4096);
  CHECK(section(after, LogSection::checkpoint).most == Approx(24.89513));
}

TEST_CASE("clues: stragglers, NICs, attention, retries and collections",
          "[calibration][training_logs]") {
  const TrainingLog log = clue_log(
      clue_step(1) +
      "0: INFO:megatron.core.utils:[2024-03-14 23:07:56] | MnRtt/Rnk: 3000.00ms/8 | MxRtt/Rnk: "
      "3300.00ms/0 | MnPwr/Rnk: 601796W/8 | MnUtl/Rnk: 97%/8 | MxUtl/Rnk: 100%/6 | MnClk/Rnk: "
      "1950MHz/28 | MxClk/Rnk: 1980MHz/0 |\n"
      "n1:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB "
      "eth0:10.0.0.1<0>\n"
      "DEBUG:DotProductAttention:Selected backend = FlashAttention (2.4.2)\n"
      "[WARNING] [stage3.py:1850:step] 2 pytorch allocator cache flushes since last step. this "
      "happens when there is high memory pressure\n"
      "[titan] 2025-01-01 00:00:10,500 - root - INFO - [GC] Performing periodic GC collection 0.05 "
      "seconds\n");
  CHECK(*log.clues.rank_gap == Approx(1.1));
  CHECK(*log.clues.clock_low_mhz == Approx(1950.0));
  CHECK(*log.clues.clock_high_mhz == Approx(1980.0));
  CHECK(*log.clues.use_low == Approx(0.97));
  CHECK(log.clues.nics == 2);
  CHECK_FALSE(log.clues.sockets);
  CHECK(log.clues.attention == "flash");
  CHECK(log.clues.allocator_retries == 1);
  CHECK(log.clues.collections == 1);
  CHECK(
      clue_log(clue_step(1) + "NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\n").clues.sockets);
}

TEST_CASE("clues: settings that are switched on and off", "[calibration][training_logs]") {
  const TrainingLog log = clue_log(
      "  overlap_grad_reduce ............................. False\n"
      "  overlap_param_gather ............................ True\n"
      "  tp_comm_overlap ................................. False\n"
      "  swiglu .......................................... True\n"
      "  transformer_impl ................................ transformer_engine\n" +
      clue_step(1));
  CHECK(log.plan.overlap_gradients == false);
  CHECK(log.plan.overlap_parameters == true);
  CHECK(log.plan.overlap_tensor == false);
  CHECK(log.plan.gated == true);
  CHECK(stack_of_log(log) == "megatron-core");
  TrainingLog other;
  other.format = "nemo";
  CHECK(stack_of_log(other) == "nemo");
  other.format = "nanogpt";
  CHECK(stack_of_log(other).empty());
}

TEST_CASE("training logs: prose that quotes a message is none", "[calibration][training_logs]") {
  const std::string page =
      "# How we trained the model\n\n"
      "We trained with a sequence_length of 4096 and a micro_batch_size of 1 on one cluster.\n"
      "After some hours the job failed, because a GPU had run out of memory.\n"
      "This was a surprise to all of us, since nothing had been changed before.\n\n"
      "    RuntimeError: CUDA out of memory. Tried to allocate 18.00 MiB\n";
  Diagnostics diagnostics;
  static_cast<void>(read_training_log_text(page, "page.md", diagnostics));
  REQUIRE(diagnostics.items().size() == 1);
  CHECK(diagnostics.items().front().text().find("prose about a run") != std::string::npos);
  // A trace with the same message is a log, and so are steps with sentences between them.
  CHECK(clue_log("Traceback (most recent call last):\n"
                 "  File \"/a/train.py\", line 67, in <module>\n"
                 "RuntimeError: CUDA out of memory. Tried to allocate 18.00 MiB\n")
            .event_counts[static_cast<std::size_t>(LogEventKind::out_of_memory)] == 1);
  CHECK(clue_log(page + clue_step(1)).iterations == 1);
}

TEST_CASE("training logs: tables that Weights & Biases exports", "[calibration][training_logs]") {
  const TrainingLog history = clue_log(
      ",_step,_runtime,_timestamp,train/loss\n"
      "0,10,100.5,1700000100.5,2.0\n1,20,120.5,1700000120.5,1.9\n2,30,140.5,1700000140.5,1.8\n");
  CHECK(history.format == "wandb");
  CHECK(history.iterations == 3);
  CHECK(history.step->median == Approx(2.0));
  const TrainingLog chart = clue_log(
      "\"Step\",\"run, \"\"one\"\" - iteration-time\",\"run, \"\"one\"\" - "
      "iteration-time__MIN\"\n\"1\",\"9.5\",\"9.5\"\n\"2\",\"2.5\",\"2.5\"\n\"3\",\"2.5\",\"2."
      "5\"\n");
  CHECK(chart.iterations == 3);
  CHECK(chart.step->median == Approx(2.5));
  CHECK(chart.remarks.empty());
  const TrainingLog several =
      clue_log("\"Step\",\"a - step_time\",\"b - step_time\"\n1,9,7\n2,2,5\n");
  CHECK(several.step->median == Approx(2.0));
  REQUIRE(several.remarks.size() == 1);
  CHECK(several.remarks.front().find("2 runs") != std::string::npos);
  const TrainingLog one_run = clue_log(
      "\"Name\",\"State\",\"Notes\",\"seq_length\",\"num_layers\"\n\"a\",\"finished\",\"-\","
      "\"4096\",\"12\"\n");
  CHECK(one_run.plan.sequence == 4096);
  CHECK(one_run.plan.layers == 12);
  CHECK(one_run.iterations == 0);
  const TrainingLog many = clue_log(
      "\"Name\",\"State\",\"Notes\",\"n_layer\"\n\"a\",\"\",\"\",\"1\"\n\"b\",\"\",\"\",\"2\"\n");
  CHECK_FALSE(many.plan.layers);
  REQUIRE(many.remarks.size() == 1);
  CHECK(many.remarks.front().find("a row each") != std::string::npos);
}

namespace {

template <class T>
std::string bytes_of(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// A field with a length. @pre fewer than 128 bytes
std::string field(int number, const std::string& content) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} +
         content;
}

/// A record of an event file; checksums are not looked at.
std::string event_record(const std::string& event) {
  return bytes_of(static_cast<std::uint64_t>(event.size())) + std::string(4, 'c') + event +
         std::string(4, 'c');
}

std::string scalar_event(double stamp, int step, const std::string& tag, float value) {
  const std::string number = std::string{static_cast<char>(2 << 3 | 5)} + bytes_of(value);
  const std::string summary = field(1, field(1, tag) + number);
  return event_record(std::string{static_cast<char>(1 << 3 | 1)} + bytes_of(stamp) +
                      std::string{static_cast<char>(2 << 3)} +
                      std::string{static_cast<char>(step)} + field(5, summary));
}

}  // namespace

TEST_CASE("training logs: steps of an event file of TensorBoard", "[calibration][training_logs]") {
  const std::string head = event_record(field(3, "brain.Event:2"));
  std::string timed = head;
  std::string stamped = head;
  for (int step = 1; step <= 4; ++step) {
    timed += scalar_event(1000.0 + step, step, "iteration-time/iteration-time", 0.5F) +
             scalar_event(1000.0 + step, step, "loss", 2.0F);
    stamped += scalar_event(1000.0 + 3.0 * step, 10 * step, "train/loss", 2.0F) +
               scalar_event(1000.5 + 3.0 * step, 10 * step, "eval/loss", 2.0F);
  }
  const TrainingLog log = clue_log(timed);
  CHECK(log.format == "tensorboard");
  CHECK(log.iterations == 4);
  CHECK(log.step->median == Approx(0.5));
  const TrainingLog by_stamps = clue_log(stamped);
  CHECK(by_stamps.iterations == 4);
  CHECK(by_stamps.first_step == 10);
  CHECK(by_stamps.last_step == 40);
  CHECK(by_stamps.step->median == Approx(0.3));
}

}  // namespace foretrain
