// SPDX-License-Identifier: Apache-2.0
// A vision tower of two layers, small enough to count by hand.
#include "models/layers/vision_tower.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "models/forecast/closed_form.hpp"
#include "models/layers/flops.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/step/step_bounds.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/example_job.hpp"
#include "tests/models/random_plans.hpp"

using namespace foretrain;

namespace {

/// Images of 16 patches of 4 x 4 pixels, which become 4 tokens.
VisionShape small_tower() {
  VisionShape vision;
  vision.layers = 2;
  vision.hidden = 8;
  vision.heads = 2;
  vision.mlp_hidden = 16;
  vision.bias = vision.patch_bias = vision.final_norm = true;
  vision.patch = 4;
  vision.positions = 16;
  vision.merge = 2;
  vision.projector_norm = ProjectorNorm::layernorm;
  vision.projector_hidden = 32;
  vision.projector_bias = true;
  vision.inner_projectors = 1;
  vision.tokens = 4;
  return vision;
}

constexpr double hidden = 8192.0;  // of the language model
// Each layer: 8 x 24 + 24 of queries, keys and values, 8 x 8 + 8 of the output, 8 x 16 + 16 and
// 16 x 8 + 8 of the MLP, two norms of 16. Patches 48 x 8 + 8, positions 16 x 8, a norm of 16.
constexpr double tower_count = 2.0 * (216 + 72 + 144 + 136 + 32) + 392 + 128 + 16;
// A norm of 8 (of 32 for the inner one), scale and bias, then 32 x 32 and 32 x hidden with biases.
constexpr double projector_count = 16 + 64 + 2.0 * (32 * 32 + 32 + 33 * hidden);

/// On eight GPUs without any cut.
Job vision_job(double images = 3.0) {
  Job job = test::llama2_70b_job();
  job.cluster.hosts = 1;
  job.parallel = Parallel{};
  job.parallel.data = 8;
  job.parallel.zero = 1;
  job.training.global_batch = 16;
  job.model.vision = small_tower();
  job.training.images.per_sequence = images;
  return job;
}

EnumSet<ModelPart> language_parts() {
  return {ModelPart::embedding, ModelPart::attention, ModelPart::mlp,   ModelPart::router,
          ModelPart::experts,   ModelPart::norms,     ModelPart::output};
}

Job frozen_job(double images = 3.0) {
  Job job = vision_job(images);
  job.fine_tuning.trained = language_parts();
  return job;
}

StageAccount account_of(const Job& job, int stage = 0) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  return account_stage(job, layout, activation_model(job), stage);
}

double row_of(const Job& job, MemoryItem item, MemoryPhase phase = MemoryPhase::backward_layer) {
  return account_of(job).at(phase)[item];
}

StepCosts costs_of(const Job& job) {
  return step_costs(job, stage_layout(job.model, job.parallel));
}

const PieceTimes& tower_piece(const StepCosts& costs) {
  return costs.pieces[static_cast<std::size_t>(PieceKind::vision)];
}

bool breaks_image_rule(const Job& job, const std::string& rule) {
  const auto reasons = broken_rules(job);
  return std::any_of(reasons.begin(), reasons.end(),
                     [&](const Infeasible& reason) { return reason.rule == rule; });
}

}  // namespace

TEST_CASE("a vision tower has the parameters that its matrices add up to", "[vision]") {
  const TowerParameters count = tower_parameters(small_tower(), static_cast<int>(hidden));
  CHECK(static_cast<double>(count.tower) == tower_count);
  CHECK(static_cast<double>(count.projectors) == projector_count);
  CHECK(rank_tower(vision_job()) == tower_count + projector_count);
  CHECK(rank_tower(vision_job(0.0)) == 0.0);
  CHECK(rank_tower(frozen_job(), Counted::trained) == 0.0);
  Job job = frozen_job();
  job.fine_tuning.trained->add(ModelPart::projector);
  CHECK(rank_tower(job, Counted::trained) == projector_count);
}

TEST_CASE("FLOPs of a vision tower, by hand", "[vision]") {
  // 16 patches: 2 x 16 x 512 weights and 4 x 16^2 x 8 of scores in each layer, all pairs counted.
  constexpr double layers = 2.0 * (2.0 * 16 * 512 + 4.0 * 256 * 8);
  constexpr double patches = 2.0 * 16 * 48 * 8;
  constexpr double first = 2.0 * 4 * 32 * 32;  // 4 tokens
  constexpr double projectors = 2.0 * (first + 2.0 * 4 * 32 * hidden);
  constexpr double images = 3.0 * 16.0;
  const auto model = [](const Job& job, RecomputeKind kind = RecomputeKind::none) {
    return tower_flops(job, kind).model.value() / images;
  };
  CHECK(model(frozen_job()) == Approx(layers + patches + projectors));
  // Pixels need no gradient.
  CHECK(model(vision_job()) == Approx(3.0 * (layers + projectors) + 2.0 * patches));
  Job job = frozen_job();
  job.fine_tuning.trained->add(ModelPart::projector);
  // Nor does what a frozen tower gives.
  CHECK(model(job) == Approx(layers + patches + 3.0 * projectors - 2.0 * first));
  job.fine_tuning.trained = language_parts();
  job.fine_tuning.trained->add(ModelPart::vision);
  CHECK(model(job) == Approx(3.0 * layers + 2.0 * patches + 2.0 * projectors));

  const StepFlops again = tower_flops(vision_job(), RecomputeKind::full);
  CHECK((again.hardware - again.model).value() == Approx(images * layers));
  CHECK(tower_flops(frozen_job(), RecomputeKind::full).hardware.value() ==
        Approx(images * model(frozen_job())));
  const Job text = vision_job(0.0);
  const auto all = [](const Job& of) {
    return job_flops(of, RecomputeKind::none, AttentionFlops::causal).model.value();
  };
  CHECK(all(vision_job()) - all(text) == Approx(images * model(vision_job())));
}

TEST_CASE("patches see all others: as many pairs as twice the keys under a mask", "[vision]") {
  HeadShape heads;
  heads.both_ways = true;
  CHECK(attended_keys(256.0, heads) == 512.0);
  CHECK(attended_keys(256.0, heads, false) == 256.0);
  heads.window = 64.0;
  heads.chunked = true;
  CHECK(attended_keys(256.0, heads) == 128.0);
}

TEST_CASE("a frozen vision tower is held in 16 bits and has no states", "[vision]") {
  const Job with = frozen_job();
  const Job without = frozen_job(0.0);
  const auto more = [&](MemoryItem item, MemoryPhase phase) {
    return row_of(with, item, phase) - row_of(without, item, phase);
  };
  CHECK(more(MemoryItem::embedding_weights, MemoryPhase::between_steps) ==
        Approx(2.0 * (tower_count + projector_count)));
  CHECK(more(MemoryItem::dense_optimizer, MemoryPhase::optimizer) == 0.0);
  CHECK(more(MemoryItem::dense_gradients, MemoryPhase::backward_layer) == 0.0);
  CHECK(row_of(with, MemoryItem::vision_tower) == 0.0);
}

TEST_CASE("a trained vision tower has gradients and states, and keeps what they need", "[vision]") {
  Job with = vision_job();
  Job without = vision_job(0.0);
  const auto more = [&](MemoryItem item, MemoryPhase phase) {
    return row_of(with, item, phase) - row_of(without, item, phase);
  };
  const double count = tower_count + projector_count;
  const double per_gradient = parameter_bytes(with).gradient;
  CHECK(more(MemoryItem::dense_gradients, MemoryPhase::backward_layer) ==
        Approx(per_gradient * count));
  CHECK(more(MemoryItem::dense_optimizer, MemoryPhase::optimizer) == Approx(12.0 * count / 8.0));

  // Recomputed layers keep their input of 8; beside them pixels 48, the final norm's input 8; of
  // each projector the norm's input, both products' and the activation's, 32 each, of 4 tokens.
  with.memory.recompute.kind = RecomputeKind::full;
  constexpr double per_image = 2.0 * 16 * (2 * 8 + 48 + 8) + 2.0 * 4 * 2 * (4 * 32);
  CHECK(row_of(with, MemoryItem::vision_tower) == Approx(3.0 * per_image));
  with.training.images.per_sequence = 1.5;  // computed as two, of which three quarters count
  CHECK(row_of(with, MemoryItem::vision_tower) == Approx(1.5 * per_image));
}

TEST_CASE("the vision tower is computed on the first stage, frozen forward alone", "[vision]") {
  Job job = frozen_job();
  job.parallel.pipeline = 2;
  job.parallel.data = 4;
  const StepCosts frozen = costs_of(job);
  CHECK(tower_piece(frozen).forward.total() > Seconds{});
  CHECK(tower_piece(frozen).backward().total() == Seconds{});
  const auto has_tower = [&](int stage) {
    const auto content = frozen.content({stage, 0});
    return std::any_of(content.begin(), content.end(),
                       [](const PieceRun& run) { return run.kind == PieceKind::vision; });
  };
  CHECK(has_tower(0));
  CHECK_FALSE(has_tower(1));
  job.fine_tuning = {};
  const StepCosts trained = costs_of(job);
  CHECK(tower_piece(trained).forward.total() == tower_piece(frozen).forward.total());
  CHECK(tower_piece(trained).backward().total() > tower_piece(trained).forward.total());
  CHECK(account_of(job, 1).at(MemoryPhase::between_steps)[MemoryItem::embedding_weights] == 0.0);
}

TEST_CASE("operators of a vision tower add up to its passes", "[vision]") {
  Job job = vision_job();
  job.stack.times.launch_forward = job.stack.times.launch_backward = Seconds{};
  job.stack.times.layer_fixed = Seconds{};
  job.memory.recompute.kind = GENERATE(RecomputeKind::none, RecomputeKind::full);
  const PieceTimes times = tower_times(job);
  Seconds forward, backward;
  for (const Operator& op : tower_operators(job)) {
    forward += op.forward;
    backward += op.input_gradient + op.weight_gradient + op.recompute;
  }
  CHECK(forward.value() == Approx(times.forward.total().value()));
  CHECK(backward.value() == Approx(times.backward().total().value()));
}

TEST_CASE("half the images take half the time of the same kernels", "[vision]") {
  const PieceTimes two = tower_times(vision_job(2.0));
  const PieceTimes some = tower_times(vision_job(1.5));
  CHECK(some.forward.total().value() == Approx(0.75 * two.forward.total().value()));
  Job cut = vision_job(2.0);
  cut.parallel.tensor = 8;
  cut.parallel.sequence = true;
  cut.parallel.data = 1;
  CHECK(tower_times(cut).forward.compute == two.forward.compute);  // whole on every tensor rank
}

TEST_CASE("of a frozen vision tower weights are gathered for the forward pass alone", "[vision]") {
  Job job = frozen_job();
  job.parallel.zero = 3;
  CHECK(tower_piece(costs_of(job)).forward.data > Seconds{});
  CHECK(tower_piece(costs_of(job)).backward().data == Seconds{});
  job.fine_tuning = {};
  CHECK(tower_piece(costs_of(job)).backward().data > Seconds{});
}

TEST_CASE("images: rules and a warning", "[vision]") {
  CHECK(broken_rules(vision_job()).empty());
  const auto warned = [](Job job) {
    job.model.layers = 4;  // fits
    const Prediction forecast = closed_form(job);
    return std::any_of(forecast.warnings.begin(), forecast.warnings.end(), [](const auto& each) {
      return each.message.find("vision towers") != std::string::npos;
    });
  };
  CHECK(warned(vision_job()));
  CHECK_FALSE(warned(vision_job(0.0)));
  // No run with a tower was measured: the band widens by what it is of the step.
  const auto width = [](Job job) {
    job.model.layers = 4;
    job.model.vision->layers *= 20;  // so that it is much of the step
    const StepForecast step = *closed_form(job).step;
    return step.high / step.low;
  };
  CHECK(width(vision_job()) > 1.01 * width(vision_job(0.0)));
  CHECK(breaks_image_rule(vision_job(1025.0), "images-fit-sequence"));  // 4100 tokens of 4096
  Job job = vision_job();
  job.model.vision->tokens = 0;
  CHECK(breaks_image_rule(job, "images-have-tokens"));
  job.training.images.tokens = 4;
  CHECK(broken_rules(job).empty());
  job.model.vision.reset();
  CHECK(breaks_image_rule(job, "images-have-a-tower"));
  Job text = vision_job(0.0);
  text.fine_tuning.trained = {ModelPart::attention, ModelPart::projector};
  CHECK(breaks_image_rule(text, "images-where-towers-learn"));
  text.training.images.per_sequence = 1.0;
  CHECK(broken_rules(text).empty());
  text.fine_tuning.frozen_layers = 4;
  CHECK(breaks_image_rule(text, "nothing-below-frozen-layers"));
}

TEST_CASE(
    "with images: bounds of a search are no higher than the step, sums of memory are its rows",
    "[vision][property]") {
  test::RandomPlans plans{11};
  MemoryNeeds needs;
  for (int i = 0; i < 300; ++i) {
    Job job = plans.next();
    job.model.vision = small_tower();
    job.model.vision->layers = 24;
    job.model.vision->hidden = 1024;
    job.model.vision->mlp_hidden = 4096;
    job.model.vision->heads = 16;
    job.training.images = {2.0, 256};
    if (plans.below(2) == 0) job.fine_tuning.trained = language_parts();
    if (!refusals(job).empty()) continue;
    const StageLayout layout = stage_layout(job.model, job.parallel);
    const StepCosts costs = step_costs(job, layout);
    CAPTURE(i, name_of(job.parallel.schedule), job.parallel.pipeline, job.parallel.zero);
    CHECK(least_step_seconds(costs) <= step_seconds(costs));
    StepBounds bounds;
    CHECK(bounds.least(job, layout) <= least_step_seconds(costs) * (1.0 + 1e-12));
    CHECK(memory_need(job, layout).peak == forecast_memory(job, layout).peak);
    CHECK(needs.of(job, layout).peak == memory_need(job, layout).peak);
    needs.clear();
  }
}
