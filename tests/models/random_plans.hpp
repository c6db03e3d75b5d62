// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>

#include "models/rules/plan_rules.hpp"
#include "models/schedules/registry.hpp"
#include "tests/models/example_job.hpp"

namespace foretrain::test {

/// Legal plans of random models on random clusters, the same on every machine: only the engine's
/// raw numbers are used, since the distributions of the standard library differ between vendors.
class RandomPlans {
 public:
  explicit RandomPlans(std::uint64_t seed) : engine_{seed} {}

  /// The next plan that breaks no rule and is modelled.
  Job next() {
    for (;;) {
      Job job = draw();
      if (broken_rules(job).empty() && not_modelled(job).empty()) return job;
    }
  }

  int below(int end) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(end)); }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<int>(values.size()))];
  }

 private:
  Job draw() {
    Job job = llama2_70b_job();
    draw_model(job);
    draw_plan(job);
    draw_machine(job);
    return job;
  }

  void draw_model(Job& job) {
    LlmShape& model = job.model;
    model.heads = one_of({8, 16, 32, 64, 96});
    model.kv_heads = one_of({8, model.heads});
    model.hidden = 128 * model.heads;
    model.ffn_hidden = model.hidden * one_of({3, 4});
    model.layers = 2 + below(126);
    model.vocabulary = one_of({32000, 50257, 128256, 256000});
    model.gated_mlp = below(2) == 0;
    model.tied_embeddings = below(4) == 0;
    job.training.sequence = one_of({1024, 2048, 4096, 8192, 32768});
    job.training.micro_batch = one_of({1, 2, 4});
  }

  void draw_plan(Job& job) {
    Parallel& plan = job.parallel;
    plan.tensor = one_of({1, 2, 4, 8});
    plan.sequence = plan.tensor > 1 && below(2) == 0;
    plan.pipeline = one_of({1, 2, 3, 4, 6, 8, 12, 16});
    plan.schedule =
        one_of({ScheduleKind::naive, ScheduleKind::gpipe, ScheduleKind::one_f_one_b,
                ScheduleKind::one_f_one_b, ScheduleKind::interleaved, ScheduleKind::zb_h1,
                ScheduleKind::zb_2p, ScheduleKind::zb_v, ScheduleKind::dualpipe});
    plan.virtual_stages = 1;
    if (plan.schedule == ScheduleKind::interleaved) plan.virtual_stages = 2 + below(4);
    if (traits_of(plan.schedule).placement == Placement::folded) plan.virtual_stages = 2;
    plan.data = one_of({1, 2, 3, 8, 32});
    plan.zero = one_of({0, 1, 1, 1, 3});
    if (plan.zero == 3) job.stack.memory.compute_weight_bytes = 2.0;  // FSDP, under pipelines too
    const int rounds = 1 + below(12);
    const int microbatches = below(2) == 0 ? rounds * plan.pipeline : 1 + below(96);
    // A third of the folded schedules each, without another draw.
    if (plan.schedule == ScheduleKind::zb_v && microbatches % 3 > 0)
      plan.schedule = microbatches % 3 == 1 ? ScheduleKind::v_half : ScheduleKind::v_min;
    job.training.global_batch = microbatches * plan.data * job.training.micro_batch;
    job.memory.recompute.kind =
        one_of({RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full});
    Overlap& overlap = job.communication.overlap;
    overlap = {below(2) == 0, below(2) == 0, below(2) == 0, below(4) != 0};
  }

  void draw_machine(Job& job) {
    job.cluster.host.gpus = 8;
    job.cluster.hosts = (job.parallel.gpus() + 7) / 8;
    if (job.parallel.gpus() % 8 != 0) {
      job.cluster.host.gpus = job.parallel.gpus() % 4 == 0 ? 4 : 1;
      job.cluster.hosts = job.parallel.gpus() / job.cluster.host.gpus;
    }
    const double nic = one_of({25.0, 100.0, 200.0, 400.0});
    job.cluster.network.nic_link.bandwidth = nic * Gbps;
    job.cluster.host.gpu_link.bandwidth = one_of({64.0, 300.0, 450.0}) * GBps;
    job.cluster.host.nics = job.cluster.host.gpus;
  }

  std::mt19937_64 engine_;
};

}  // namespace foretrain::test
