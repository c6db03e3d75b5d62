// SPDX-License-Identifier: Apache-2.0
#include "models/inputs/fused_kernels.hpp"

#include <catch2/catch.hpp>

#include <string_view>

#include "models/grid/stage_layout.hpp"
#include "models/layers/layer_operators.hpp"
#include "models/memory/memory.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

/// Eager modules that move several times what fused ones would, on one GPU.
Job eager_job() {
  Job job = test::llama2_70b_job();
  job.cluster.hosts = 1;
  job.parallel = Parallel{};
  job.parallel.data = 8;
  job.parallel.zero = 3;
  job.training.global_batch = 8;
  job.training.micro_batch = 1;
  job.stack.times.elementwise = 6.0;
  job.stack.times.fused_elementwise = 1.5;
  job.stack.times.head = 1.5;
  job.stack.memory.loss_bytes = 14.0;
  job.stack.memory.norm_extra_bytes = 8.0;
  job.stack.memory.rotary_extra_bytes = 4.0;
  job.stack.memory.swiglu_fused = false;
  job.stack.memory.step_copies = 1.0;
  return job;
}

Job with(FusedKernels kernels) {
  Job job = eager_job();
  job.training.fused_kernels = kernels;
  return job;
}

Seconds time_of(const Job& job, std::string_view name) {
  Seconds sum;
  for (const Operators& list : {layer_operators(job, {}), head_operators(job)})
    for (const Operator& op : list)
      if (op.name == name) sum += op.forward + op.input_gradient;
  return sum;
}

double row_of(const Job& job, MemoryItem item, MemoryPhase phase) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  return account_stage(job, layout, activation_model(job), 0).at(phase)[item];
}

}  // namespace

TEST_CASE("a fused kernel moves the least traffic, its neighbours what they did", "[models]") {
  using enum FusedKernel;
  const Job plain = eager_job();
  const Job fused = with({norm, rope});
  CHECK(time_of(fused, "MLP norm") == time_of(plain, "MLP norm") * (1.5 / 6.0));
  CHECK(time_of(fused, "rotary") == time_of(plain, "rotary") * (1.5 / 6.0));
  CHECK(time_of(fused, "activation") == time_of(plain, "activation"));
  CHECK(time_of(with({swiglu}), "activation") < time_of(plain, "activation"));
  // 6 bytes of a logit times 1.5, of 18 times 1.5.
  CHECK(time_of(with({loss}), "loss") / time_of(plain, "loss") == Approx(6.0 / 18.0));
  CHECK(time_of(with({linear_loss}), "loss") == time_of(with({loss}), "loss"));
}

TEST_CASE("a policy's loss moves what its kernels in 32 bits do, whatever is fused", "[models]") {
  using enum FusedKernel;
  const auto policy = [](FusedKernels kernels) {
    Job job = with(kernels);
    job.fine_tuning.objective = Objective::policy;
    return job;
  };
  // 112 bytes of a logit times 1.5, of 18 times 1.5.
  const Job plain = eager_job();
  CHECK(time_of(policy({}), "loss") / time_of(plain, "loss") == Approx(112.0 / 18.0));
  CHECK(time_of(policy({linear_loss}), "loss") == time_of(policy({}), "loss"));
  // In chunks the logits are made again backward.
  const auto again = [](const Job& job) {
    Seconds sum;
    for (const Operator& op : head_operators(job)) sum += op.recompute;
    return sum;
  };
  CHECK(again(policy({})) == Seconds{});
  CHECK(again(with({linear_loss})) == Seconds{});
  const Job chunks = policy({linear_loss});
  for (const Operator& op : head_operators(chunks))
    if (op.name == "vocabulary projection") CHECK(again(chunks) == op.forward);
}

TEST_CASE("a policy's answers come one by one, a preference's in pairs", "[models]") {
  FineTuning tuning;
  CHECK_FALSE(tuning.pairs());
  tuning.objective = Objective::policy;
  CHECK_FALSE(tuning.pairs());
  tuning.objective = Objective::preference;
  CHECK(tuning.pairs());
}

TEST_CASE("eager PyTorch moves what its chains of kernels read and write", "[models]") {
  Job fused = eager_job();
  fused.stack.eager_torch = false;
  fused.stack.times.elementwise = 1.0;
  Job eager = fused;
  eager.stack.eager_torch = true;
  const auto ratio = [&](std::string_view name) {
    return time_of(eager, name) / time_of(fused, name);
  };
  // README, "Eager kernels": bytes of an element, forward and backward.
  CHECK(ratio("MLP norm") == Approx((36.0 + 84.0) / (4.0 + 6.0)));
  CHECK(ratio("activation") == Approx((10.0 + 18.0) / (6.0 + 10.0)));
  CHECK(ratio("MLP residual") == 1.0);
  // Of 64 heads that are turned as are 8 of keys; 8 of values are split off.
  CHECK(ratio("rotary") == Approx((72.0 * 50.0 + 8.0 * 4.0) / (80.0 * 8.0)));
  for (Job* job : {&eager, &fused}) job->model.norm = NormKind::layernorm;
  CHECK(ratio("MLP norm") == Approx((4.0 + 10.0) / (4.0 + 6.0)));
  for (Job* job : {&eager, &fused}) job->model.gated_mlp = false;
  CHECK(ratio("activation") == 1.0);

  eager.model.norm = NormKind::rmsnorm;
  eager.training.fused_kernels = {FusedKernel::norm};
  eager.stack.times.fused_elementwise = 1.0;
  CHECK(time_of(eager, "MLP norm") == time_of(fused, "MLP norm"));
}

TEST_CASE("a kernel is never slower than what the stack has", "[models]") {
  Job compiled = with({FusedKernel::norm});
  compiled.stack.times.elementwise = 1.2;
  Job plain = compiled;
  plain.training.fused_kernels = {};
  CHECK(time_of(compiled, "MLP norm") == time_of(plain, "MLP norm"));
}

TEST_CASE("fused kernels keep less", "[models][memory]") {
  using enum FusedKernel;
  const Job plain = eager_job();
  const auto loss_of = [](const Job& job) {
    return row_of(job, MemoryItem::loss, MemoryPhase::forward_loss);
  };
  CHECK(loss_of(with({loss})) / loss_of(plain) == Approx(10.0 / 14.0));
  // Chunks of as many logits as hidden elements, whatever the vocabulary.
  CHECK(loss_of(with({linear_loss})) ==
        Approx(10.0 * plain.model.hidden * plain.training.sequence));
  const auto norms = [](const Job& job) {
    return activation_model(job).of({LayerKind::dense}).whole.norm_statistics;
  };
  CHECK(norms(with({norm})) < norms(plain));
  const auto copies = [](const Job& job) {
    return row_of(job, MemoryItem::step_copies, MemoryPhase::optimizer);
  };
  CHECK(copies(plain) > 0.0);
  CHECK(copies(with({optimizer})) == 0.0);
}

TEST_CASE("libraries of kernels hold what they put in by default", "[models]") {
  for (const KernelLibrary& library : kernel_libraries)
    CHECK(library.kernels.has(FusedKernel::norm));
  CHECK(kernels_of("liger").has(FusedKernel::linear_loss));
  CHECK(kernels_of("unsloth").has(FusedKernel::linear_loss));
  CHECK_FALSE(kernels_of("unsloth").has(FusedKernel::loss));
  CHECK_FALSE(kernels_of("fast-lora").has(FusedKernel::linear_loss));
  CHECK_FALSE(kernels_of("no such library").any());
}
