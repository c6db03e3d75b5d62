// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "models/data/single_process.hpp"
#include "models/grid/process_grid.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/layers/eight_bit_weights.hpp"
#include "models/layers/parameters.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/sharded_pipeline.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/step/internal/step_causes.hpp"
#include "planner/step/roofline.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

constexpr double half = 2.0;  // bytes of a bf16 or fp16 element

/// What a cause is told from.
struct Case {
  const Job& job;
  const Prediction& forecast;
  const TimeBreakdown& parts;
};

/// "8 ranks of one host" or "16 ranks on 16 hosts"; where hosts share NVLink, domains.
std::string group_text(const Job& job, GroupKind kind) {
  const CommGroup group = ProcessGrid{job.parallel}.group(kind).on_hosts(job.cluster.packing());
  const char* const place = group.domain_hosts > 1 ? "NVLink domain" : "host";
  if (group.domains() <= 1) return fmt::format("{} ranks of one {}", group.ranks, place);
  return fmt::format("{} ranks on {} {}s", with_thousands(group.ranks),
                     with_thousands(group.domains()), place);
}

/// The residual stream of one micro-batch, on one rank of a context group.
Bytes activation(const Job& job) {
  return Bytes{half * job.training.micro_batch * job.training.sequence / job.parallel.context *
               job.model.hidden};
}

double most_parameters(const Job& job) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  double most = 0.0;
  for (int stage = 0; stage < layout.stages(); ++stage)
    most = std::max(most, rank_parameters(job, layout, stage, Counted::trained).total());
  return most;
}

Bytes most_weights(const Job& job) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  Bytes most;
  for (int stage = 0; stage < layout.stages(); ++stage)
    most = max(
        most,
        gathered_weight_bytes(job, rank_parameters(job, layout, stage, Counted::trained)).total());
  return most;
}

/// What the loop takes per step.
Seconds loop_constant(const Case& c) {
  const StageLayout layout = stage_layout(c.job.model, c.job.parallel);
  return step_constant(c.job, stage_work(step_costs(c.job, layout)).busiest);
}

/// What a stage spends on passes in the mean.
Seconds work(const Case& c) {
  const TimeBreakdown& b = c.parts;
  return b.compute + b.recompute + b.tensor + b.context + b.expert + b.launch -
         c.job.stack.times.release * loop_constant(c);
}

std::string ideal_cause(const Case& c) {
  const FlopsForecast& flops = *c.forecast.flops;
  return fmt::format("Peak: {} of the model per step on {} GPUs at {} each would take {} ({}).",
                     flop_text(flops.model_per_step), with_thousands(c.job.cluster.gpus()),
                     rate_text(flops.peak_per_gpu), seconds_text(ideal_step(c.job, c.forecast)),
                     flops.convention);
}

std::string kernels_cause(const Case& c) {
  const Seconds ideal = ideal_step(c.job, c.forecast);
  const KernelShares kernels = kernel_shares(c.job);
  const FlopPerSecond peak = c.forecast.flops->peak_per_gpu;
  const auto share = [&](Seconds part) { return percent_text(part / kernels.total()); };
  std::string text = fmt::format(
      "The kernels of the model take {}, {} of peak: {} of it GEMMs at {} of "
      "peak, {} attention, {} memory-bound kernels.",
      seconds_text(c.parts.compute), percent_text(ideal / c.parts.compute), share(kernels.products),
      percent_text(kernels.product_flop / kernels.products / peak), share(kernels.attention),
      share(kernels.streaming));
  if (c.job.parallel.single_process() && c.job.parallel.gather == GatherKind::outputs)
    text += fmt::format(" GPU 0 computes the loss of the {} other replicas in {}, while they wait.",
                        c.job.parallel.data - 1,
                        seconds_text(c.job.stack.times.release * c.job.microbatches() *
                                     other_loss_piece(c.job).all().total()));
  const auto found = c.job.device_profile.gemm.find(c.job.training.precision);
  if (found == c.job.device_profile.gemm.end()) return text;
  const GemmProfile& gemm = found->second;
  return text + fmt::format(
                    " The largest GEMMs reach {} ({} in the benchmark, {} of its clock "
                    "under training load).",
                    percent_text(gemm.efficiency * gemm.sustained), percent_text(gemm.efficiency),
                    percent_text(gemm.sustained));
}

std::string recompute_cause(const Case& c) {
  const Recompute& r = c.job.memory.recompute;
  std::string what = "runs parts of every layer";
  if (r.kind == RecomputeKind::full && r.method == RecomputeMethod::uniform)
    what = "runs the forward pass of every layer";
  if (r.kind == RecomputeKind::full && r.method == RecomputeMethod::block)
    what = fmt::format("runs the forward pass of the first {} layers of a stage", r.layers);
  const FlopsForecast& flops = *c.forecast.flops;
  return fmt::format(
      "memory.recompute = {} {} again before the backward pass, to save memory: {} more kernel "
      "time "
      "({} of hardware for {} of model work).",
      name_of(r.kind), what, percent_text(c.parts.recompute / c.parts.compute),
      flop_text(flops.hardware_per_step), flop_text(flops.model_per_step));
}

std::string tensor_cause(const Case& c) {
  const Job& job = c.job;
  const double layers = std::ceil(static_cast<double>(job.model.layers) / job.parallel.pipeline);
  const StackTimes& stack = job.stack.times;
  std::string behind = "None of it overlaps with compute";
  if (job.communication.overlap.tensor && stack.tensor_slowdown < 1.0)
    behind = fmt::format("It runs beside GEMMs, which lose {} of that time",
                         percent_text(stack.tensor_slowdown));
  else if (stack.tensor_slowdown_backward < 1.0)
    behind = fmt::format(
        "Sums of gradients run beside GEMMs, which lose {} of that time, the others alone",
        percent_text(stack.tensor_slowdown_backward));
  return fmt::format(
      "Every layer is split over {}, which exchange its activation of {} ({} tokens x {} hidden x "
      "2 "
      "B) after attention and after the MLP, forward and backward{}: {} layers x {} micro-batches. "
      "{}.",
      group_text(job, GroupKind::tensor), bytes_text(activation(job)),
      fixed_text(static_cast<double>(job.training.micro_batch) * job.training.sequence /
                     job.parallel.context,
                 0),
      with_thousands(job.model.hidden),
      job.parallel.sequence ? ", as all-gather and reduce-scatter" : ", as all-reduce",
      fixed_text(layers, 0), with_thousands(job.microbatches()), behind);
}

std::string context_cause(const Case& c) {
  return fmt::format("A sequence is split over {}; attention needs the keys and values of all.",
                     group_text(c.job, GroupKind::context));
}

std::string expert_cause(const Case& c) {
  return fmt::format("Tokens travel to their experts on {} and back, forward and backward.",
                     group_text(c.job, GroupKind::expert));
}

/// Stages whose work differs wait for the one that has most.
std::string uneven_text(const Case& c) {
  const StageWork stages = stage_work(step_costs(c.job, stage_layout(c.job.model, c.job.parallel)));
  const Seconds uneven = c.job.stack.times.release * stages.imbalance();
  if (uneven < 0.01 * c.parts.bubble) return "";
  return fmt::format(", {} of it for the stage with the most work (layers, embedding, loss)",
                     seconds_text(uneven));
}

std::string bubble_cause(const Case& c) {
  const Parallel& plan = c.job.parallel;
  const Seconds busy = work(c);
  const std::string seen =
      fmt::format("{} of the {} that a stage works on average{}",
                  percent_text(c.parts.bubble / busy), seconds_text(busy), uneven_text(c));
  const int waiting = plan.pipeline - 1;
  const int micro = c.job.microbatches();
  const std::string fill =
      fmt::format("Stages wait while the pipeline of {} fills and drains: ", plan.pipeline);
  const ScheduleTraits& schedule = traits_of(plan.schedule);
  if (schedule.formula == StepFormula::rounds)
    return fmt::format("Naive pipelining keeps one of {} stages busy at a time; here {}.",
                       plan.pipeline, seen);
  if (schedule.splits_backward)
    return fmt::format(
        "{}{} fills {} of the wait with weight gradients, which no stage waits for; what "
        "remains is "
        "{}.",
        fill, name_of(plan.schedule), schedule.lean ? "part" : "most", seen);
  if (schedule.chunks == chunks_chosen)
    return fmt::format(
        "{}(p - 1) / (v m) = {} / ({} x {}) = {}; here {}.", fill, waiting, plan.virtual_stages,
        micro, percent_text(static_cast<double>(waiting) / plan.virtual_stages / micro), seen);
  return fmt::format("{}(p - 1) / m = {} / {} = {}; here {}.", fill, waiting, micro,
                     percent_text(static_cast<double>(waiting) / micro), seen);
}

std::string pipeline_cause(const Case& c) {
  const Job& job = c.job;
  const double split =
      job.parallel.sequence || scatters_boundaries(job) ? job.parallel.tensor : 1.0;
  return fmt::format(
      "An activation of {} per rank goes to the next stage and its gradient comes back, for {} "
      "micro-batches{}; {} each way {} exposed during fill and drain.",
      bytes_text(activation(job) / split), with_thousands(job.microbatches()),
      job.communication.overlap.pipeline ? ", partly overlapped with compute"
                                         : " with communication.overlap.pipeline = false",
      job.parallel.pipeline == 2 ? "1 hop" : fmt::format("{} hops", job.parallel.pipeline - 1),
      job.parallel.pipeline == 2 ? "is" : "are");
}

/// torch.nn.DataParallel: everything leaves from GPU 0 and comes back to it.
std::string replica_cause(const Job& job) {
  const int others = job.parallel.data - 1;
  const RankParameters held = rank_parameters(job, stage_layout(job.model, job.parallel), 0);
  const ReplicaTraffic traffic = replica_traffic(job, held);
  const bool whole = job.parallel.gather == GatherKind::outputs;
  return fmt::format(
      "One process for all GPUs (torch.nn.DataParallel): for each of {} micro-batches GPU 0 sends "
      "{} parameters to {} others ({}), gathers {} ({}), sends back {} ({}) and sums the gradients "
      "of all ({}); none of it overlaps with compute.",
      with_thousands(job.microbatches()), count_text(held.total()), others,
      seconds_text(traffic.weights),
      whole ? fmt::format("logits of {} from each", bytes_text(gathered_logits(job)))
            : std::string("a loss from each"),
      seconds_text(traffic.outputs), whole ? "their gradients" : "its gradient",
      seconds_text(traffic.output_gradients), seconds_text(traffic.gradients));
}

std::string data_cause(const Case& c) {
  const Job& job = c.job;
  const Parallel& plan = job.parallel;
  if (plan.single_process()) return replica_cause(job);
  const double gradient = job.communication.gradient_dtype == Precision::fp32 ? 4.0 : 2.0;
  const double parameters = most_parameters(job);
  std::string text =
      fmt::format("{} parameters per rank; their {} gradients ({}) are summed over {}{}",
                  count_text(parameters), name_of(job.communication.gradient_dtype),
                  bytes_text(Bytes{gradient * parameters}), group_text(job, GroupKind::data),
                  scatters_every_pass(job) ? " in every backward pass" : "");
  if (plan.zero >= 1)
    text += fmt::format(" and the weights ({}) gathered {}", bytes_text(most_weights(job)),
                        plan.zero >= 3 ? "for every pass" : "again");
  const Overlap& overlap = job.communication.overlap;
  if (overlap.gradients && overlap.parameters)
    return text + "; this is what is not overlapped with compute, and the compute that it slows.";
  if (overlap.gradients || overlap.parameters)
    return text + fmt::format("; only the {} overlap with compute.",
                              overlap.gradients ? "gradients" : "weights");
  return text + "; none of it overlaps with compute.";
}

std::string optimizer_cause(const Case& c) {
  const Job& job = c.job;
  const Parallel& plan = job.parallel;
  const int shards = plan.zero >= 1 ? (plan.zero_group > 0 ? plan.zero_group : plan.data) : 1;
  const double parameters = most_parameters(job);
  const std::string whole =
      shards == 1 ? "not sharded" : fmt::format("{} over {} ranks", count_text(parameters), shards);
  return fmt::format("{} updates {} parameters {} ({}), as fast as memory lets it.",
                     name_of(job.training.optimizer), count_text(parameters / shards),
                     plan.single_process() ? "on GPU 0 alone" : "per GPU", whole);
}

std::string launch_cause(const Case& c) {
  const Seconds constant = loop_constant(c);
  const Seconds slow = c.parts.launch - constant;
  std::string text;
  if (constant > Seconds{})
    text = fmt::format("Every step has a fixed cost of {} in this stack.", seconds_text(constant));
  if (slow > 0.005 * c.parts.launch)
    text += fmt::format(
        "{}Layers whose kernels the host launches more slowly than the GPU runs "
        "them cost {}.",
        text.empty() ? "" : " ", seconds_text(slow));
  if (c.job.parallel.single_process())
    text += fmt::format(
        " Forward passes of {} replicas are serialised by Python's GIL, so that each layer "
        "takes at least {} x {} to launch.",
        c.job.parallel.data, c.job.parallel.data, seconds_text(c.job.stack.times.launch_forward));
  return text;
}

std::string straggler_cause(const Case& c) {
  return fmt::format("The slowest of {} hosts sets the pace: {} per doubling of hosts, {}.",
                     with_thousands(c.job.cluster.hosts), percent_text(c.job.stack.times.jitter),
                     seconds_text(c.parts.imbalance));
}

std::string input_cause(const Case&) {
  return "The next batch is not ready when the step could begin.";
}

}  // namespace

std::string cause_of(std::string_view key, const Report& report) {
  using Cause = std::string (*)(const Case&);
  static constexpr auto causes =
      std::to_array<std::pair<std::string_view, Cause>>({{"ideal", ideal_cause},
                                                         {"kernels", kernels_cause},
                                                         {"recompute_s", recompute_cause},
                                                         {"tensor_s", tensor_cause},
                                                         {"context_s", context_cause},
                                                         {"expert_s", expert_cause},
                                                         {"bubble_s", bubble_cause},
                                                         {"pipeline_s", pipeline_cause},
                                                         {"data_s", data_cause},
                                                         {"optimizer_s", optimizer_cause},
                                                         {"input_s", input_cause},
                                                         {"launch_s", launch_cause},
                                                         {"imbalance_s", straggler_cause}});
  const Prediction& p = report.prediction;
  for (const auto& [name, cause] : causes)
    if (name == key) return cause({report.scenario.job, p, p.step->breakdown});
  return "";
}

}  // namespace foretrain
