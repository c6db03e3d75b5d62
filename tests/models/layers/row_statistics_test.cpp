// SPDX-License-Identifier: Apache-2.0
#include "models/layers/row_statistics.hpp"

#include <catch2/catch.hpp>

#include "models/layers/flops.hpp"
#include "models/layers/layer_cost.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

Job with_samples(SampleLayout layout, std::vector<int> lengths) {
  Job job = test::llama2_70b_job();
  job.cluster.hosts = 1;
  job.parallel = Parallel{};
  job.parallel.data = 8;
  job.training.micro_batch = 2;
  job.training.global_batch = 16;
  job.training.samples.layout = layout;
  job.training.samples.lengths = std::move(lengths);
  return job;
}

}  // namespace

TEST_CASE("rows of one sample each are full", "[samples]") {
  const Job job = test::llama2_70b_job();
  const RowStatistics rows = row_statistics(job);
  CHECK(rows.tokens == 4096);
  CHECK(rows.keys == 4096);
  CHECK(tokens_per_step(job) == 4096.0 * 1024);
}

TEST_CASE("attention in a pack costs the squares of its parts", "[samples]") {
  // Samples of 1024 and 3072 tokens: a token is in one of (1024^2 + 3072^2) / 4096 = 2560.
  const Job job = with_samples(SampleLayout::packed, {1024, 3072});
  const RowStatistics rows = row_statistics(job);
  CHECK(rows.computed == 4096);
  CHECK(rows.keys == Approx(2560.0));
  CHECK(rows.tokens <= 4096.0);
  CHECK(rows.tokens > 0.6 * 4096.0);
  // Whole packs of samples that divide the row have no rest.
  CHECK(row_statistics(with_samples(SampleLayout::packed, {512})).tokens == Approx(4096.0));
  const auto scores = [](const Job& of) {
    for (const Operator& op : layer_operators(of, {}))
      if (op.kind == OperatorKind::attention) return op.flop.value();
    return 0.0;
  };
  Job whole = job;
  whole.training.samples = Samples{};
  CHECK(scores(job) / scores(whole) == Approx(2560.0 / 4096));
}

TEST_CASE("pads are computed and are no tokens", "[samples]") {
  // Of two samples from {1000, 3000} the longest is 3000 three times in four.
  const Job padded = with_samples(SampleLayout::padded, {1000, 3000});
  const RowStatistics rows = row_statistics(padded);
  CHECK(rows.tokens == 2000);
  CHECK(rows.computed == Approx(0.75 * 3000 + 0.25 * 1000));
  CHECK(rows.slowest > 1.0);  // the step waits for the longest of eight replicas
  const RowStatistics fixed = row_statistics(with_samples(SampleLayout::fixed, {1000, 3000}));
  CHECK(fixed.tokens == 2000);
  CHECK(fixed.computed == 4096);
  const StepFlops flops = job_flops(padded, RecomputeKind::none, AttentionFlops::full);
  CHECK(flops.model / flops.hardware == Approx(2000.0 / rows.computed));
  CHECK(LayerCost{padded}.layer().all().total() <
        LayerCost{with_samples(SampleLayout::fixed, {1000, 3000})}.layer().all().total());
}

TEST_CASE("a log-normal distribution keeps its mean and is cut off at the row", "[samples]") {
  Job job = with_samples(SampleLayout::fixed, {});
  job.training.samples.mean = 500;
  job.training.samples.deviation = 300;
  CHECK(row_statistics(job).tokens == Approx(500).epsilon(0.01));
  job.training.sequence = 400;
  CHECK(row_statistics(job).tokens < 400);
  job.training.samples.deviation = 0;
  CHECK(row_statistics(job).tokens == Approx(400));
}
