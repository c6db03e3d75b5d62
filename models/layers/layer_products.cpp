// SPDX-License-Identifier: Apache-2.0
// What a GEMM takes in its three passes, with the casts of its operands and its gradient sums;
// models/layers/README.md, "Time of a layer".
#include "models/layers/internal/layer_builder.hpp"

namespace foretrain::layer_detail {
namespace {

constexpr double gradient_bytes = 8.0;  // an fp32 sum, read and written

/// Bytes that bringing cast elements into a further layout moves, read and written.
double turn_bytes(const Recipe& recipe) { return (recipe.layouts - 1) * 2.0 * recipe.element; }

/// Bytes that the casts of an operand move, at least. What is gathered is cast on the rank that
/// sends it; its second layout is made where it arrives, if it follows from the first.
double cast_traffic(double elements, bool gathered, const Recipe& recipe, const Job& job) {
  const bool before = gathered && job.parallel.sequence && job.parallel.tensor > 1;
  if (!before || !recipe.gathers) return recipe.cast() * elements;
  if (!recipe.turns) return recipe.cast() / job.parallel.tensor * elements;
  const double first = recipe.cast() - (recipe.layouts - 1) * recipe.element;
  return (first / job.parallel.tensor + turn_bytes(recipe)) * elements;
}

/// The same of weights that are kept cast: in one layout, where they travel so.
double kept_weight_traffic(double elements, const Recipe& recipe) {
  return (recipe.weights_travel ? turn_bytes(recipe) : recipe.cast()) * elements;
}

/// Of a frozen product its input and the gradient of its result are operands once.
void add_casts(const Gemm& gemm, Gathered gathered, const LayerContext& context, bool frozen,
               GemmPasses& times) {
  const Job& job = context.job;
  const StackTimes& stack = job.stack.times;
  const double rows = job.training.fp8_scaling == Fp8Scaling::row ? stack.fp8_row_casts : 1.0;
  const auto cast = [&](double factor, double bytes) {
    return rows * factor * streaming_time(Bytes{gemm.batch * bytes}, context.device);
  };
  // Stacks that keep 8-bit copies of the weights make them with the first micro-batch of a step.
  const double made = job.stack.memory.fp8_copy_bytes > 0.0 ? 1.0 / job.microbatches() : 1.0;
  const Recipe& recipe = context.recipe;
  Recipe once = recipe;
  if (frozen) once.layouts = 1;
  const double input = cast_traffic(gemm.m * gemm.k, gathered == Gathered::input, once, job);
  const bool kept = job.memory.fp8_parameters;
  const double weights = made * (kept ? kept_weight_traffic(gemm.n * gemm.k, recipe)
                                      : recipe.cast() * (gemm.n * gemm.k));
  // Frozen weights that are kept in one layout need no cast, and turn for every backward pass.
  const double turned = kept && frozen ? turn_bytes(recipe) * (gemm.n * gemm.k) : 0.0;
  const double gradient =
      cast_traffic(gemm.m * gemm.n, gathered == Gathered::output_gradient, once, job);
  times.forward += cast(stack.fp8_cast_forward, input + (kept && frozen ? 0.0 : weights));
  times.data_gradient += cast(stack.fp8_cast_backward, gradient + turned);
}

/// What adding a weight gradient to its fp32 sum takes beyond the product that makes it.
Seconds sums_time(Seconds product, Seconds traffic, const StackTimes& times) {
  if (times.gradient_sums_fused <= 0.0) return times.gradient_sums * traffic;
  return (times.gradient_sums + times.gradient_sums_fused * (traffic / (traffic + product))) *
         traffic;
}

}  // namespace

WeightGradient weight_gradient_of(const LayerOperator& op) {
  if (!op.frozen) return WeightGradient::summed;
  return op.merged ? WeightGradient::made : WeightGradient::none;
}

GemmPasses product_times(const Gemm& gemm, Gathered gathered, const LayerContext& context,
                         WeightGradient gradient) {
  GemmPasses times = gemm.batch > 1.0 ? grouped_pass_times(gemm, context.products)
                                      : gemm_pass_times(gemm, context.products);
  times.forward *= context.slower;
  times.data_gradient *= context.slower;
  times.weight_gradient *= context.slower;
  const Bytes sums{gradient_bytes * gemm.batch * gemm.n * gemm.k};
  if (gradient == WeightGradient::summed)
    times.weight_gradient += sums_time(times.weight_gradient, streaming_time(sums, context.device),
                                       context.job.stack.times);
  const bool frozen = gradient == WeightGradient::none;
  if (frozen) times.weight_gradient = Seconds{};
  if (quantised(context.products.precision)) add_casts(gemm, gathered, context, frozen, times);
  return times;
}

void add_product(const LinearLayer& linear, const GemmPasses& times, double again,
                 const LayerContext& context, OperatorSum& sum) {
  sum.add({linear.name, OperatorKind::product, times.forward, times.data_gradient,
           times.weight_gradient, again * times.forward, linear.gemm.flop(),
           gemm_traffic(linear.gemm, context.products.precision)});
}

}  // namespace foretrain::layer_detail
