// SPDX-License-Identifier: Apache-2.0
// What recipes of quantised training say, and that its readers follow them.
#include "models/inputs/recipe.hpp"

#include <catch2/catch.hpp>

#include "models/layers/activations.hpp"
#include "models/layers/eight_bit_weights.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

constexpr auto narrow_formats =
    std::to_array({Precision::fp8, Precision::fp8_block, Precision::mxfp8, Precision::nvfp4});

Training in(Precision precision, Fp8Scaling scaling = Fp8Scaling::tensor) {
  Training training;
  training.precision = precision;
  training.fp8_scaling = scaling;
  return training;
}

/// Llama-2-70B on a Blackwell device that multiplies at one share of its peaks in all formats.
Job blackwell_job(Precision precision) {
  Job job = test::llama2_70b_job();
  job.training.precision = precision;
  Device& device = job.cluster.host.device;
  device.architecture = Architecture::blackwell;
  device.peak[Precision::fp8] = 2.0 * device.peak_of(Precision::bf16);
  device.peak[Precision::nvfp4] = 4.0 * device.peak_of(Precision::bf16);
  for (const Precision format : narrow_formats)
    job.device_profile.gemm[format] = job.device_profile.gemm.at(Precision::bf16);
  job.stack.memory.fp8_copy_bytes = 2.0;
  job.stack.memory.fp8_saves_inputs = true;
  return job;
}

double layer_seconds(const Job& job) { return LayerCost{job}.layer().all().total().value(); }

double weight_bytes(const Job& job, MemoryItem item) {
  const StageAccount stage =
      account_stage(job, stage_layout(job.model, job.parallel), activation_model(job), 0);
  return stage.at(MemoryPhase::between_steps)[item];
}

std::string refusal(const Job& job) {
  for (const Infeasible& reason : not_modelled(job))
    if (reason.key == "training.precision") return reason.message + "; " + reason.remedy;
  return "";
}

}  // namespace

TEST_CASE("recipes: an element carries its share of the scales of its block", "[models][recipe]") {
  CHECK(operand_bytes(Precision::fp8) == 1.0);
  CHECK(operand_bytes(Precision::fp8_block) == 1.0 + 4.0 / 128.0);
  CHECK(operand_bytes(Precision::mxfp8) == 1.0 + 1.0 / 32.0);
  CHECK(operand_bytes(Precision::nvfp4) == 0.5 + 1.0 / 16.0);
  for (const Precision format : narrow_formats) CHECK(result_bytes(format) == 2.0);
}

TEST_CASE("recipes: Hopper transposes 8-bit operands, Blackwell reads them either way",
          "[models][recipe]") {
  const Recipe hopper = recipe_of(in(Precision::fp8), Architecture::hopper);
  const Recipe blackwell = recipe_of(in(Precision::fp8), Architecture::blackwell);
  CHECK(hopper.layouts == 2);
  CHECK(hopper.cast() == 4.0);
  CHECK(blackwell.layouts == 1);
  CHECK(blackwell.cast() == 3.0);
  CHECK(blackwell.weight_copies() == 1.0);
  // Scales of blocks differ by direction, so that both layouts are cast from 16 bits.
  const Recipe blocks = recipe_of(in(Precision::mxfp8), Architecture::blackwell);
  CHECK(blocks.layouts == 2);
  CHECK_FALSE(blocks.turns);
  CHECK(blocks.cast() == Approx(2.0 + 2.0 * (1.0 + 1.0 / 32.0)));
}

TEST_CASE("recipes: scales of the present values take another pass", "[models][recipe]") {
  const auto cast = [](Precision precision, Fp8Scaling scaling) {
    return recipe_of(in(precision, scaling), Architecture::hopper).cast();
  };
  CHECK(cast(Precision::fp8, Fp8Scaling::current) ==
        cast(Precision::fp8, Fp8Scaling::tensor) + 2.0);
  const Recipe four = recipe_of(in(Precision::nvfp4), Architecture::blackwell);
  CHECK(four.cast() == Approx(2.0 + 2.0 + 2.0 * 0.5625));
}

TEST_CASE("recipes: layers speed up by less than their products, most in four bits",
          "[models][recipe]") {
  const double wide = layer_seconds(blackwell_job(Precision::bf16));
  const double eight = layer_seconds(blackwell_job(Precision::fp8));
  const double blocks = layer_seconds(blackwell_job(Precision::mxfp8));
  const double four = layer_seconds(blackwell_job(Precision::nvfp4));
  CHECK(eight < wide);
  CHECK(eight > wide / 2.0);
  CHECK(blocks > eight);
  CHECK(four < eight);
}

TEST_CASE("recipes: shallow products are slower in 8 bits than in 16, as casts outweigh them",
          "[models][recipe]") {
  // Experts of Qwen3-30B-A3B are 768 wide: a product of its input does 768 multiply-adds per
  // element that is cast.
  const auto narrow_layer = [](Precision precision, int width) {
    Job job = blackwell_job(precision);
    job.model.hidden = width;
    job.model.ffn_hidden = width;
    job.model.heads = job.model.kv_heads = 8;
    job.model.head_dim = width / 8;
    job.parallel.tensor = 1;
    job.parallel.sequence = false;
    return layer_seconds(job);
  };
  CHECK(narrow_layer(Precision::mxfp8, 512) > narrow_layer(Precision::bf16, 512));
  CHECK(narrow_layer(Precision::mxfp8, 8192) < narrow_layer(Precision::bf16, 8192));
}

namespace {

/// How much faster all passes of a product are in mxfp8 than in bf16, with the rates of a B200.
double gain_of(Job job, std::string_view product) {
  Device& device = job.cluster.host.device;
  device.peak[Precision::bf16] = 2250.0 * TFLOPS;
  device.peak[Precision::fp8] = 4500.0 * TFLOPS;
  device.memory_bandwidth = 7.7 * TBps;
  device.multiprocessors = 148;
  job.stack.times.fp8_cast_forward = 1.14;
  job.stack.times.fp8_cast_backward = 1.76;
  const auto seconds = [&](Precision precision) {
    job.training.precision = precision;
    const LayerKind kind = job.model.moe ? LayerKind::moe : LayerKind::dense;
    for (const Operator& op : layer_operators(job, {.kind = kind}))
      if (op.name == product) return (op.forward + op.input_gradient + op.weight_gradient).value();
    FAIL("no such product");
    return 0.0;
  };
  return seconds(Precision::bf16) / seconds(Precision::mxfp8);
}

}  // namespace

TEST_CASE("recipes: experts of Qwen3-30B-A3B gain little from 8 bits, a dense MLP much",
          "[models][recipe]") {
  Job dense = blackwell_job(Precision::bf16);
  dense.parallel.tensor = 1;
  dense.parallel.sequence = false;
  Job experts = dense;
  experts.model.hidden = 2048;
  experts.model.moe = MoeShape{128, 8, 768};
  experts.parallel.expert = 8;
  experts.parallel.expert_tensor = 1;
  experts.parallel.pipeline = 1;
  experts.training.moe_imbalance = 1.0;
  CHECK(gain_of(experts, "expert down projection") < 1.15);
  CHECK(gain_of(dense, "MLP down projection") > 1.5);
}

TEST_CASE("recipes: copies of the weights take what the products read", "[models][recipe]") {
  const auto copies = [](Precision precision) {
    return weight_bytes(blackwell_job(precision), MemoryItem::fp8_weight_copies);
  };
  CHECK(copies(Precision::bf16) == 0.0);
  CHECK(copies(Precision::mxfp8) == Approx(copies(Precision::fp8) * 2.0625));
  CHECK(copies(Precision::nvfp4) == Approx(copies(Precision::fp8) * 1.125));
}

TEST_CASE("recipes: weights of mxfp8 that are kept in 8 bits still travel in 16",
          "[models][recipe]") {
  RankParameters parameters;
  parameters.layers = parameters.layer_matrices = 1e9;
  const auto travel = [&](Precision precision) {
    Job job = blackwell_job(precision);
    job.memory.fp8_parameters = true;
    return gathered_weight_bytes(job, parameters).total().value();
  };
  CHECK(travel(Precision::mxfp8) == Approx(2e9));
  CHECK(travel(Precision::fp8) == Approx(1e9));
  const auto resident = [](Precision precision) {
    Job job = blackwell_job(precision);
    job.memory.fp8_parameters = true;
    return weight_bytes(job, MemoryItem::dense_weights) +
           weight_bytes(job, MemoryItem::fp8_weight_copies);
  };
  CHECK(resident(Precision::fp8) < 0.6 * resident(Precision::mxfp8));
}

TEST_CASE("recipes: a device that cannot scale blocks refuses them by name, with what it can",
          "[models][rules][recipe]") {
  Job job = test::llama2_70b_job();  // H100
  job.cluster.host.device.peak[Precision::fp8] = 1978.9 * TFLOPS;
  for (const Precision format : {Precision::mxfp8, Precision::nvfp4}) {
    job.training.precision = format;
    CHECK(refusal(job).find("needs tensor cores that scale blocks") != std::string::npos);
    CHECK(refusal(job).find("fp8-block") != std::string::npos);
  }
  CHECK(refusal(blackwell_job(Precision::mxfp8)).empty());
  CHECK(refusal(blackwell_job(Precision::nvfp4)).empty());
}
