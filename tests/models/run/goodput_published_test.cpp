// SPDX-License-Identifier: Apache-2.0
// Published runs: what their sources state goes in, what they state comes out. Inputs that no
// source states are named where they are used. The table in calibration/docs/goodput.md has
// these numbers.
#include <catch2/catch.hpp>

#include "models/memory/memory.hpp"
#include "models/run/goodput.hpp"
#include "models/run/run_model.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

constexpr double three_points = 0.03;

double share(const RunModel& model) { return model.ideal / expect_run(model).total(); }

LlmShape llama3(int layers, int hidden, int heads, int ffn) {
  LlmShape shape;
  shape.layers = layers;
  shape.hidden = hidden;
  shape.heads = heads;
  shape.kv_heads = 8;
  shape.head_dim = 128;
  shape.ffn_hidden = ffn;
  shape.vocabulary = 128256;
  shape.gated_mlp = true;
  return shape;
}

Job job_of(const LlmShape& shape) {
  Job job = test::llama2_70b_job();
  job.model = shape;
  return job;
}

/// Llama 3 405B for 54 days on 16,384 H100 (arXiv 2407.21783 section 3.3.4): 419 unexpected and 47
/// planned interruptions, storage that sustains 2 TB/s (section 3.3.1). Not stated: how long one
/// takes; how often checkpoints are taken (here: as often as loses least).
RunModel llama3_run(Seconds restart) {
  RunModel model;
  model.ideal = 54.0 * days;
  model.between = 54.0 * days / 419.0;
  model.reload = restart;
  model.stall = checkpoint_size(job_of(llama3(126, 16384, 128, 53248))) / (2.0 * TBps);
  model.planned_every = 54.0 * days / 47.0;
  model.every = Seconds{1.0};
  model.every = best_interval(model, Seconds{1.0});
  return model;
}

}  // namespace

TEST_CASE("published: Llama 3 405B trains more than 90 % of 54 days", "[models][run][published]") {
  // MegaScale (arXiv 2402.15627) states less than 10 min to detect and diagnose on as many GPUs.
  const double goodput = share(llama3_run(10.0 * minutes));
  CHECK(goodput > 0.90);
  CHECK(goodput < 0.90 + three_points);
  CHECK(goodput == Approx(0.921).margin(0.001));
  // What the published 90 % leaves for one interruption, lost steps included.
  const Seconds affordable = affordable_interruption(54.0 * days / 466.0, 0.90);
  CHECK(affordable.in(minutes) == Approx(16.7).margin(0.05));
}

TEST_CASE("published: Meta's projections of the time between failures",
          "[models][run][published]") {
  // arXiv 2410.21680: 6.50 failures per 1000 node-days on RSC-1, hosts of 8 GPUs; the paper
  // projects 1.8 h for 16,384 GPUs and 0.23 h for 131,072.
  Job job = test::llama2_70b_job();
  job.operations.interruptions.per_1000_node_days = 6.50;
  std::vector<Warning> warnings;
  job.cluster.hosts = 2048;
  CHECK(time_between_interruptions(job, warnings)->in(hours) == Approx(1.8).epsilon(0.005));
  job.cluster.hosts = 16384;
  CHECK(time_between_interruptions(job, warnings)->in(hours) == Approx(0.23).epsilon(0.025));
  // Measured on jobs of 1024 GPUs: 7.9 h where the rate of nodes says 28.8 h. That is why a
  // scenario can give the measured curve instead.
  job.cluster.hosts = 128;
  CHECK(time_between_interruptions(job, warnings)->in(hours) == Approx(28.8).epsilon(0.005));
  job.operations.interruptions = {};
  job.operations.interruptions.curve = {{8.0, 47.7 * days}, {1024.0, 7.9 * hours}};
  CHECK(time_between_interruptions(job, warnings)->in(hours) == Approx(7.9));
  CHECK(warnings.empty());
}

TEST_CASE("published: Meta's ETTR model against the complete one", "[models][run][published]") {
  // The formula and its optimum, over the range of the paper's figures: RSC-1 and RSC-2 rates, 128
  // to 2,048 nodes, minutes to an hour between checkpoints.
  for (const double rate : {6.50, 2.34})
    for (const double nodes : {128.0, 512.0, 2048.0})
      for (const double every : {2.0, 10.0, 60.0}) {
        RunModel model;
        model.ideal = 100.0 * days;
        model.between = 1000.0 * days / (rate * nodes);
        model.reload = 5.0 * minutes;
        model.stall = Seconds{10.0};
        model.every = every * minutes;
        const double formula = ettr({model.between, model.reload, model.every, model.stall});
        CAPTURE(rate, nodes, every, formula);
        // To first order an interruption costs the same however many strike.
        if (formula > 0.75) CHECK(share(model) == Approx(formula).margin(three_points));
        model.every = Seconds{1.0};
        const Seconds best = best_interval(model, Seconds{1.0});
        CHECK(best / young_interval(model.stall, model.between) == Approx(1.0).margin(0.1));
      }
}

TEST_CASE("published: ByteRobust keeps 97 % over three months", "[models][run][published]") {
  // arXiv 2509.16293: 9,600 GPUs, a checkpoint every step for less than 0.9 % overhead. Not stated:
  // interruptions and how long one takes; taken here from Llama 3 (per GPU-hour) and MegaScale (10
  // min to detect and diagnose), and steps of 10 s.
  RunModel model;
  model.ideal = 90.0 * days;
  model.between = 54.0 * days / 419.0 * (16384.0 / 9600.0);
  model.reload = 10.0 * minutes;
  model.every = Seconds{10.0};
  model.stall = Seconds{0.09};
  CHECK(share(model) == Approx(0.97).margin(three_points));
  CHECK(share(model) == Approx(0.960).margin(0.001));
  CHECK(affordable_interruption(model.between, 0.97 * 1.009).in(minutes) ==
        Approx(6.7).margin(0.1));
}

TEST_CASE("published: MegaScale trains more than 90 % with a restart or more every few hours",
          "[models][run][published]") {
  // arXiv 2402.15627: more than 100 restarts in several weeks (taken as three), less than 10 min to
  // detect and diagnose and less than 15 min to catch up.
  RunModel model;
  model.ideal = 21.0 * days;
  model.between = 21.0 * days / 100.0;
  model.detection = 10.0 * minutes;
  model.every = 30.0 * minutes;  // catching up 15 min on average
  const double goodput = share(model);
  CHECK(goodput == Approx(0.90).margin(three_points));
  CHECK(goodput > 0.90);
}

TEST_CASE("published: BLOOM spends 0.37 % of its time on checkpoints", "[models][run][published]") {
  // 2.3 TB in 40 s every 100 iterations, about 3 h; one GPU failure a week (bigscience chronicles).
  Job job = test::llama2_70b_job();
  job.operations.checkpoint.size = 2.3 * TB;
  job.operations.checkpoint_write_bandwidth = 57.5 * GBps;
  job.operations.checkpoint_mode = CheckpointMode::sync;
  RunModel model;
  model.ideal = 100.0 * days;
  model.every = 3.0 * hours;
  model.stall = *checkpoint_times(job).stall;
  CHECK(model.stall.value() == Approx(40.0));
  const RunSplit alone = expect_run(model);
  CHECK(alone.checkpoints / alone.total() == Approx(0.0037).margin(0.00005));
  model.between = 7.0 * days;
  const RunSplit split = expect_run(model);
  // Half of 3 h is done again once a week.
  CHECK(split.lost / split.total() == Approx(1.5 / 168.0).epsilon(0.02));
}

TEST_CASE("published: BLOOM's checkpoint is 2.3 TB", "[models][run][published]") {
  // 176B: 70 layers, hidden 14336, 112 heads, vocabulary 250,880 tied (arXiv 2211.05100 Table 3).
  Job job = test::llama2_70b_job();
  LlmShape& shape = job.model;
  shape = {};
  shape.layers = 70;
  shape.hidden = 14336;
  shape.heads = 112;
  shape.kv_heads = 112;
  shape.head_dim = 128;
  shape.ffn_hidden = 57344;
  shape.vocabulary = 250880;
  shape.tied_embeddings = true;
  // Between 2.3 TB and 2.3 TiB; the source rounds and does not say which.
  CHECK(checkpoint_size(job).in(TB) == Approx(2.3 * 1.05).epsilon(0.05));
}

TEST_CASE("published: MLPerf Storage's checkpoint sizes", "[models][run][published]") {
  // Submission guidelines: 105 GB, 912 GB, 5.29 TB; 2 + 12 bytes per parameter if read as binary
  // units. The layers of the 1T model (18 TB) are not stated here.
  const auto gib = [](const LlmShape& shape) { return checkpoint_size(job_of(shape)).in(GiB); };
  CHECK(gib(llama3(32, 4096, 32, 14336)) == Approx(105.0).epsilon(three_points));
  CHECK(gib(llama3(80, 8192, 64, 28672)) == Approx(912.0).epsilon(three_points));
  CHECK(gib(llama3(126, 16384, 128, 53248)) == Approx(5.29 * 1024.0).epsilon(three_points));
}
