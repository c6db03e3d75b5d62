// SPDX-License-Identifier: Apache-2.0
#include "models/inputs/fine_tuning.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "models/forecast/closed_form.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/layers/parameters.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

/// Llama-2-70B on one GPU of a host without any cut, as MLPerf's LoRA benchmark runs it on B200.
Job one_gpu_each() {
  Job job = test::llama2_70b_job();
  job.cluster.hosts = 1;
  job.parallel = Parallel{};
  job.parallel.data = 8;
  job.parallel.zero = 1;
  job.training.global_batch = 8;
  job.training.micro_batch = 1;
  return job;
}

Job adapted(EnumSet<AdapterTarget> targets, int rank = 16) {
  Job job = one_gpu_each();
  job.fine_tuning.adapter = AdapterKind::lora;
  job.fine_tuning.rank = rank;
  job.fine_tuning.targets = targets;
  return job;
}

MemoryBytes at_peak(const Job& job) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const StageAccount account = account_stage(job, layout, activation_model(job), 0);
  return account.at(MemoryPhase::backward_layer);
}

bool breaks(const Job& job, const std::string& rule) {
  const auto reasons = broken_rules(job);
  return std::any_of(reasons.begin(), reasons.end(),
                     [&](const Infeasible& reason) { return reason.rule == rule; });
}

}  // namespace

TEST_CASE("the first layers frozen: forward alone, no states, nothing kept", "[fine-tuning]") {
  Job job = one_gpu_each();
  const StageLayout layout = stage_layout(job.model, job.parallel);
  job.fine_tuning.trained = {ModelPart::attention, ModelPart::mlp, ModelPart::norms};
  const MemoryBytes all = at_peak(job);
  const StepCosts usual = step_costs(job, layout);
  const StepFlops work = job_flops(job, RecomputeKind::none, AttentionFlops::full);
  job.fine_tuning.frozen_layers = 60;
  const MemoryBytes upper = at_peak(job);
  CHECK(upper[MemoryItem::mlp] == Approx(all[MemoryItem::mlp] / 4.0));
  CHECK(upper[MemoryItem::dense_optimizer] / all[MemoryItem::dense_optimizer] ==
        Approx(0.25).epsilon(1e-4));
  const StepCosts costs = step_costs(job, layout);
  const auto& layer = costs.pieces[static_cast<std::size_t>(PieceKind::layer)];
  const PieceKind frozen = layer_piece({.frozen = true});
  CHECK(layer_of(frozen)->frozen);
  CHECK(piece_name(frozen) == "frozen layer");
  const auto& below = costs.pieces[static_cast<std::size_t>(frozen)];
  CHECK(below.forward.total() == layer.forward.total());
  CHECK(below.backward().total() == Seconds{});
  // 60 backward passes of layers less.
  CHECK((usual.chunks[0].backward().total() - costs.chunks[0].backward().total()) /
            (60.0 * layer.backward().total()) ==
        Approx(1.0));
  CHECK(costs.chunks[0].forward.total() / usual.chunks[0].forward.total() == Approx(1.0));
  CHECK(step_time(job, layout).time < 0.75 * step_time(one_gpu_each(), layout).time);
  CHECK(job_flops(job, RecomputeKind::none, AttentionFlops::full).model < 0.6 * work.model);
  CHECK(job_parameters(job).trained * 4 < job_parameters(one_gpu_each()).trained);
}

TEST_CASE("no gradient goes through frozen layers to what is below", "[fine-tuning]") {
  Job job = one_gpu_each();
  job.fine_tuning.frozen_layers = 4;
  CHECK_FALSE(job.fine_tuning.trains(ModelPart::embedding));
  CHECK_FALSE(breaks(job, "nothing-below-frozen-layers"));
  job.model.tied_embeddings = true;
  CHECK(breaks(job, "nothing-below-frozen-layers"));
  job.fine_tuning.trained = {ModelPart::attention};
  CHECK_FALSE(breaks(job, "nothing-below-frozen-layers"));
  job.fine_tuning.frozen_layers = 81;
  CHECK(breaks(job, "layers-exist"));
}

TEST_CASE("adapters have rank times the sides of what they stand beside", "[fine-tuning]") {
  // h = 8192, 64 query heads and 8 key-value heads of 128, f = 28672, 80 layers.
  const auto count = [](EnumSet<AdapterTarget> targets) {
    return job_parameters(adapted(targets)).adapters;
  };
  CHECK(count({AdapterTarget::qkv}) == 80LL * 16 * (8192 + 10240));
  CHECK(count({AdapterTarget::query, AdapterTarget::key, AdapterTarget::value}) ==
        80LL * 16 * (3 * 8192 + 10240));
  CHECK(count({AdapterTarget::qkv, AdapterTarget::projection}) ==
        80LL * 16 * (8192 + 10240 + 2 * 8192));
  CHECK(count({AdapterTarget::fc1}) == 80LL * 16 * (8192 + 2 * 28672));
  CHECK(count({AdapterTarget::gate, AdapterTarget::up, AdapterTarget::fc2}) ==
        80LL * 16 * 3 * (8192 + 28672));
  CHECK(job_parameters(adapted({AdapterTarget::qkv})).trained == 80LL * 16 * (8192 + 10240));
  CHECK(job_parameters(one_gpu_each()).trained == parameters(one_gpu_each().model));
}

TEST_CASE("frozen weights have no gradients, no optimizer states and no sums over replicas",
          "[fine-tuning]") {
  const Job whole = one_gpu_each();
  const Job job = adapted({AdapterTarget::qkv});
  const MemoryBytes all = at_peak(whole), few = at_peak(job);
  const double trained = static_cast<double>(job_parameters(job).trained);
  CHECK(few[MemoryItem::dense_gradients] == Approx(4.0 * trained));
  CHECK(few[MemoryItem::dense_optimizer] == Approx(12.0 * trained / 8));
  CHECK(few[MemoryItem::dense_weights] - all[MemoryItem::dense_weights] == Approx(2.0 * trained));
  const StageLayout layout = stage_layout(job.model, job.parallel);
  CHECK(step_costs(job, layout).gradients_of(0) < 0.01 * step_costs(whole, layout).gradients_of(0));
}

TEST_CASE("a frozen layer's backward pass is about as long as its forward pass", "[fine-tuning]") {
  const PieceTimes whole = LayerCost{one_gpu_each()}.layer();
  const PieceTimes few = LayerCost{adapted({AdapterTarget::qkv})}.layer();
  CHECK(few.weight_gradient.compute < 0.1 * whole.weight_gradient.compute);
  CHECK(few.forward.compute > whole.forward.compute);
  CHECK(few.input_gradient.compute > whole.input_gradient.compute);
  CHECK(few.all().total() < 0.8 * whole.all().total());
  CHECK(few.all().total() > 0.6 * whole.all().total());
}

TEST_CASE("nothing frozen changes nothing, to the last bit", "[fine-tuning]") {
  Job job = test::llama2_70b_job();
  const Prediction plain = closed_form(job);
  job.fine_tuning.trained = {ModelPart::embedding, ModelPart::attention, ModelPart::mlp,
                             ModelPart::router,    ModelPart::experts,   ModelPart::norms,
                             ModelPart::output};
  const Prediction said = closed_form(job);
  CHECK(said.step->time.value() == Approx(plain.step->time.value()).epsilon(1e-12));
  CHECK(said.memory->peak.value() == Approx(plain.memory->peak.value()).epsilon(1e-12));
  CHECK(said.flops->model_per_step.value() ==
        Approx(plain.flops->model_per_step.value()).epsilon(1e-12));
}

TEST_CASE("operators and passes of an adapted layer take the same time", "[fine-tuning]") {
  Job job = adapted({AdapterTarget::qkv, AdapterTarget::fc2});
  job.fine_tuning.dropout = 0.1;
  job.stack.times.launch_forward = job.stack.times.launch_backward = Seconds{};
  const PieceTimes piece = LayerCost{job}.layer();
  Seconds forward, weights;
  for (const Operator& op : layer_operators(job, {})) {
    forward += op.forward;
    weights += op.weight_gradient;
  }
  CHECK(forward.value() == Approx(piece.forward.total().value()));
  CHECK(weights.value() == Approx(piece.weight_gradient.total().value()));
}

TEST_CASE("what only frozen weights would need is not saved", "[fine-tuning]") {
  const double whole = activation_model(one_gpu_each()).of({LayerKind::dense}).kept.mlp_output;
  CHECK(activation_model(adapted({AdapterTarget::qkv})).of({LayerKind::dense}).kept.mlp_output ==
        0.0);
  Job job = adapted({AdapterTarget::fc2});
  CHECK(activation_model(job).of({LayerKind::dense}).kept.mlp_output > whole);  // and what A makes
  job.fine_tuning.dropout = 0.1;  // a copy and its mask in place of it
  CHECK(activation_model(job).of({LayerKind::dense}).kept.mlp_output ==
        Approx(1.5 * whole).epsilon(1e-3));
}

TEST_CASE("weights of 4 bits take half a byte and their scales", "[fine-tuning]") {
  CHECK(packed_bytes(FrozenFormat::nf4) == Approx(0.5 + 4.0 / 64));
  CHECK(packed_bytes(FrozenFormat::nf4_double) == Approx(0.5 + 1.0 / 64 + 4.0 / 64 / 256));
  Job job = adapted({AdapterTarget::qkv});
  const PieceTimes wide = LayerCost{job}.layer();
  const MemoryBytes before = at_peak(job);
  job.fine_tuning.frozen_format = FrozenFormat::nf4;
  const RankLayer layer = rank_layer(job, {LayerKind::dense});
  const double saved = (2.0 - 0.5625) * 80 * layer.dense_matrices;
  const MemoryBytes packed = at_peak(job);
  CHECK(before[MemoryItem::dense_weights] - packed[MemoryItem::dense_weights] == Approx(saved));
  CHECK(packed[MemoryItem::unpacked_weights] == Approx(2.0 * 2 * 28672 * 8192));
  const PieceTimes unpacked = LayerCost{job}.layer();
  CHECK(unpacked.forward.compute > wide.forward.compute);
  CHECK(unpacked.input_gradient.compute > wide.input_gradient.compute);
}

TEST_CASE("magnitudes of columns cost a norm of the weights", "[fine-tuning]") {
  Job job = adapted({AdapterTarget::qkv});
  const PieceTimes lora = LayerCost{job}.layer();
  const auto before = job_parameters(job).adapters;
  job.fine_tuning.adapter = AdapterKind::dora;
  CHECK(job_parameters(job).adapters - before == 80LL * 10240);
  const PieceTimes dora = LayerCost{job}.layer();
  CHECK(dora.forward.compute > lora.forward.compute);
  job.fine_tuning.dropout = 0.1;  // the base's product once more
  CHECK(LayerCost{job}.layer().forward.compute - dora.forward.compute >
        0.05 * lora.forward.compute);
}

TEST_CASE("a preference adds the reference's forward pass and its weights", "[fine-tuning]") {
  Job job = one_gpu_each();
  job.training.micro_batch = 2;
  job.training.global_batch = 16;
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const StepCosts alone = step_costs(job, layout);
  job.fine_tuning.objective = Objective::preference;
  const StepCosts both = step_costs(job, layout);
  CHECK(both.chunks[0].forward.total() - alone.chunks[0].forward.total() >
        0.9 * alone.chunks[0].forward.total());
  CHECK(both.chunks[0].backward().total() == alone.chunks[0].backward().total());
  const MemoryBytes rows = at_peak(job);
  CHECK(rows[MemoryItem::reference_weights] ==
        Approx(2.0 * static_cast<double>(parameters(job.model))).epsilon(0.001));
  job.fine_tuning.reference = ReferenceKind::precomputed;
  CHECK(step_costs(job, layout).chunks[0].forward.total() == alone.chunks[0].forward.total());
  CHECK(at_peak(job)[MemoryItem::reference_weights] == 0.0);
  job.training.micro_batch = 1;
  CHECK(breaks(job, "answers-in-pairs"));
}

TEST_CASE("a reward model has a score in place of logits", "[fine-tuning]") {
  Job job = one_gpu_each();
  job.training.micro_batch = 2;
  job.training.global_batch = 16;
  const PieceTimes logits = LayerCost{job}.head();
  job.fine_tuning.objective = Objective::reward;
  CHECK(LayerCost{job}.head().forward.compute < 0.2 * logits.forward.compute);
  CHECK(activation_model(job).output.loss < 1e-3 * activation_model(one_gpu_each()).output.loss);
}

TEST_CASE("gradients that nobody needs are no FLOPs of the model", "[fine-tuning]") {
  const Job whole = one_gpu_each();
  const Job few = adapted({AdapterTarget::qkv});
  const auto of = [](const Job& job) {
    return job_flops(job, RecomputeKind::none, AttentionFlops::full).model;
  };
  // Of six FLOPs per weight and token four are left; attention and adapters keep all of theirs.
  const double share = of(few) / of(whole);
  CHECK(share > 2.0 / 3.0);
  CHECK(share < 0.70);
}

TEST_CASE("adapters that contradict each other or a model are refused", "[fine-tuning]") {
  CHECK(breaks(adapted({AdapterTarget::qkv, AdapterTarget::query}), "adapter-targets"));
  CHECK(breaks(adapted({AdapterTarget::fc1, AdapterTarget::up}), "adapter-targets"));
  CHECK(breaks(adapted({}), "adapter-targets"));
  Job job = adapted({AdapterTarget::qkv}, 12);
  job.parallel.tensor = 8;
  job.parallel.data = 1;
  CHECK(breaks(job, "rank-divides-tensor"));
  job = one_gpu_each();
  job.fine_tuning.frozen_format = FrozenFormat::nf4;
  CHECK(breaks(job, "frozen-weights"));
  job = one_gpu_each();
  job.fine_tuning.trained.emplace();
  CHECK(breaks(job, "something-learns"));
  job = adapted({AdapterTarget::qkv});
  job.fine_tuning.trained = {ModelPart::attention};
  CHECK(breaks(job, "adapter-targets"));
}
