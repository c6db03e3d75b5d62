// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/base/require.hpp"
#include "models/layers/adapter_layers.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/parameters.hpp"
#include "models/layers/vision_tower.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/answer/prediction_parts.hpp"
#include "planner/forecast/run_end.hpp"
#include "planner/text/format.hpp"
#include "scenarios/sections/parallel_keys.hpp"

namespace foretrain {
namespace {

std::string title_or_name(const std::string& title, const std::string& name) {
  return title.empty() ? name : title;
}

std::string plan_text(const Job& job) {
  const Parallel& p = job.parallel;
  std::string text = fmt::format("tensor {}{}", p.tensor, p.sequence ? " + sequence" : "");
  if (p.context > 1) text += fmt::format(", context {}", p.context);
  text += fmt::format(", pipeline {}", p.pipeline);
  if (p.pipeline > 1) {
    text += fmt::format(" ({}", name_of(p.schedule));
    if (p.virtual_stages > 1) text += fmt::format(", {} virtual stages", p.virtual_stages);
    text += ")";
  }
  if (p.expert > 1) text += fmt::format(", expert {}", p.expert);
  text += fmt::format(", data {}", with_thousands(p.data));
  text += p.zero == 0 ? ", optimizer not sharded" : fmt::format(", ZeRO-{}", p.zero);
  if (p.zero > 0 && p.zero_group > 0) text += fmt::format(" over {} ranks", p.zero_group);
  if (p.order != data_in_stage) text += ", rank order " + rank_order_text(p.order);
  if (p.processes == ProcessKind::per_host) text += ", one process (torch.nn.DataParallel)";
  return text;
}

std::string batch_text(const Job& job) {
  const Training& t = job.training;
  const double tokens = static_cast<double>(t.global_batch) * t.sequence;
  return fmt::format("{} sequences x {} tokens = {} tokens per step; micro-batch {}",
                     with_thousands(t.global_batch), with_thousands(t.sequence), count_text(tokens),
                     t.micro_batch);
}

std::string options_text(const Job& job) {
  const Recompute& r = job.memory.recompute;
  std::string text =
      fmt::format("{}, {}, {} attention, recompute {}", name_of(job.training.precision),
                  name_of(job.training.optimizer), name_of(job.memory.attention), name_of(r.kind));
  if (r.kind == RecomputeKind::full) text += fmt::format(" ({} {})", name_of(r.method), r.layers);
  if (job.memory.offload != OffloadKind::none)
    text += fmt::format(", offload {}", name_of(job.memory.offload));
  return text;
}

/// @param tail what marks the numbers of a plan that does not fit
void add_efficiency(const Prediction& p, const Efficiency& e, const std::string& tail,
                    SummaryLines& lines) {
  if (p.flops) {
    lines.emplace_back("MFU",
                       fmt::format("{} of {} per GPU{}; {}", percent_text(e.mfu),
                                   rate_text(p.flops->peak_per_gpu), tail, p.flops->convention));
    lines.emplace_back("HFU",
                       fmt::format("{}{}, recomputed work counted", percent_text(e.hfu), tail));
  }
  lines.emplace_back(
      "Throughput",
      fmt::format("{} tokens/s{}; per GPU {} tokens/s, {} model TFLOP/s",
                  fixed_text(e.tokens_per_s, 0), tail, significant_text(e.tokens_per_s_per_gpu),
                  significant_text(e.model_tflops_per_gpu)));
}

std::string band_text(const StepForecast& step) {
  return fmt::format("(10th to 90th percentile {} to {})", seconds_text(step.low),
                     seconds_text(step.high));
}

void add_losses(const RunForecast& run, SummaryLines& lines) {
  if (!run.split) return;
  const std::string losses = losses_text(*run.split);
  if (!losses.empty()) lines.emplace_back("  time lost", losses);
  if (run.checkpoint_every)
    lines.emplace_back("  checkpoints",
                       fmt::format("{} every {}, {} stall each", bytes_text(run.checkpoint),
                                   duration_text(*run.checkpoint_every),
                                   seconds_text(run.checkpoint_stall.value_or(Seconds{}))));
}

void add_run(const Prediction& p, SummaryLines& lines) {
  const RunForecast& run = p.run;
  if (!run.tokens) return;
  std::string text = count_text(*run.tokens) + " tokens";
  if (run.steps) text += " in " + fixed_text(*run.steps, 0) + " steps";
  if (run.ideal) text += ": " + duration_text(*run.ideal) + " without interruptions";
  lines.emplace_back("Time to train", text);
  if (never_finishes(run)) lines.emplace_back("  expected", "never finishes");
  if (run.expected) {
    std::string expected = duration_text(*run.expected);
    if (run.p10 && run.p90)
      expected += fmt::format(" ({} to {})", duration_text(*run.p10), duration_text(*run.p90));
    if (run.goodput) expected += ", goodput " + percent_text(*run.goodput);
    lines.emplace_back("  expected", expected + ", interruptions counted");
    add_losses(run, lines);
  }
  if (run.meets_deadline)
    lines.emplace_back("  deadline",
                       "met with a probability of " + percent_text(*run.meets_deadline));
}

std::string price_text(const Operations& operations, const CostForecast& cost) {
  std::string text = dollars_text(*cost.price);
  if (operations.price_per_gpu)
    text += fmt::format(" at {} per GPU-hour", dollars_text(*operations.price_per_gpu * hours));
  if (operations.prices_as_of) text += " as of " + *operations.prices_as_of;
  return text;
}

void add_cost(const Report& report, SummaryLines& lines) {
  const CostForecast& cost = report.prediction.cost;
  std::string text;
  if (cost.gpu_hours) text = fixed_text(*cost.gpu_hours, 0) + " GPU-hours";
  if (cost.price) text += "; " + price_text(report.scenario.job.operations, cost);
  if (cost.low.gpu_hours) text += " (" + cost_range_text(cost) + ")";
  if (!text.empty()) lines.emplace_back("Cost", text);
  if (!cost.energy) return;
  text = energy_text(*cost.energy);
  if (cost.co2_kg) text += fmt::format(", {} t CO2", significant_text(*cost.co2_kg / 1000.0));
  if (cost.power && cost.step_energy)
    text +=
        fmt::format("; {} kW while training, {} per step",
                    significant_text(cost.power->value() / 1000.0), energy_text(*cost.step_energy));
  lines.emplace_back("Energy", text);
  if (!cost.low.energy) return;
  text = energy_range_text(cost);
  if (cost.low.co2_kg)
    text += fmt::format(", {} to {} t CO2", significant_text(*cost.low.co2_kg / 1000.0),
                        significant_text(*cost.high.co2_kg / 1000.0));
  lines.emplace_back("  range", text);
}

void add_power_line(const Prediction& p, SummaryLines& lines) {
  if (!p.power) return;
  const PowerForecast& power = *p.power;
  const auto kilowatts = [](Watts watts) { return significant_text(watts.value() / 1000.0); };
  lines.emplace_back(
      "Power", fmt::format("{} kW ({} to {}), peak {} kW, {} kW while GPUs wait, ramps {} kW/s",
                           kilowatts(power.mean), kilowatts(power.low), kilowatts(power.high),
                           kilowatts(power.peak), kilowatts(power.waiting),
                           significant_text(power.ramp.value() / 1000.0)));
}

}  // namespace

std::string losses_text(const RunSplit& split) {
  std::vector<RunPart> parts(run_parts().begin(), run_parts().end());
  std::erase_if(parts, [&](const RunPart& part) {
    return part.time == &RunSplit::steps || split.*part.time / split.total() < 0.0005;
  });
  std::ranges::stable_sort(
      parts, [&](const RunPart& a, const RunPart& b) { return split.*b.time < split.*a.time; });
  std::string text;
  for (const RunPart& part : parts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", part.label,
                        percent_text(split.*part.time / split.total()));
  return text;
}

std::string cost_range_text(const CostForecast& cost) {
  if (cost.low.price)
    return dollars_text(*cost.low.price) + " to " + dollars_text(*cost.high.price);
  return fmt::format("{} to {}", fixed_text(*cost.low.gpu_hours, 0),
                     fixed_text(*cost.high.gpu_hours, 0));
}

std::string energy_range_text(const CostForecast& cost) {
  return energy_text(*cost.low.energy) + " to " + energy_text(*cost.high.energy);
}

namespace {

bool similar(const StageMemory& a, const StageMemory& b) {
  const Bytes tolerance = 0.05 * GiB;
  const auto close = [&](Bytes x, Bytes y) { return x - y < tolerance && y - x < tolerance; };
  return a.layers == b.layers && close(a.weights, b.weights) && close(a.gradients, b.gradients) &&
         close(a.optimizer, b.optimizer) && close(a.activations, b.activations) &&
         close(a.buffers, b.buffers) && close(a.communication, b.communication) &&
         close(a.context, b.context) && close(a.fragmentation, b.fragmentation) &&
         close(a.peak, b.peak);
}

}  // namespace

namespace {

std::string targets_text(const EnumSet<AdapterTarget>& targets) {
  std::string text;
  for (const auto& [target, name] : EnumNames<AdapterTarget>::names)
    if (targets.has(target)) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

/// What is trained, and for what; empty: all of the model on next tokens.
std::string fine_tuning_text(const Job& job) {
  const FineTuning& tuning = job.fine_tuning;
  std::string text;
  if (tuning.freezes()) {
    const JobParameters count = job_parameters(job);
    text = count_text(static_cast<double>(count.trained)) + " parameters";
    if (tuning.adapts())
      text += fmt::format(": {} of rank {} beside {}", name_of(tuning.adapter), tuning.rank,
                          targets_text(tuning.targets));
    if (tuning.frozen_layers > 0)
      text += fmt::format(", the first {} layers frozen", tuning.frozen_layers);
    if (adapts_experts(job.model, tuning))
      text += fmt::format(", {} for experts", name_of(tuning.expert_adapters));
    if (tuning.packs_frozen())
      text += fmt::format(", frozen weights in {}", name_of(tuning.frozen_format));
  }
  if (tuning.objective == Objective::next_token) return text;
  text += fmt::format("{}objective {}", text.empty() ? "" : ", ", name_of(tuning.objective));
  if (tuning.objective == Objective::preference)
    text += fmt::format(", reference {}", name_of(tuning.reference));
  return text;
}

/// Images and the tower that reads them, or that it is left out.
std::string images_text(const Job& job) {
  if (!job.model.vision) return {};
  const TowerParameters count = tower_parameters(*job.model.vision, job.model.hidden);
  const std::string tower = fmt::format("a vision tower of {} and projectors of {} parameters",
                                        count_text(static_cast<double>(count.tower)),
                                        count_text(static_cast<double>(count.projectors)));
  if (!job.has_tower())
    return "none stated: " + tower + " are not part of this forecast (training.images)";
  const bool layers = job.fine_tuning.trains(ModelPart::vision);
  const bool projectors = job.fine_tuning.trains(ModelPart::projector);
  const std::string_view both = layers ? "both trained" : "both frozen";
  const std::string_view one = layers ? "the tower trained, the projectors frozen"
                                      : "the tower frozen, the projectors trained";
  const double tokens = job.training.images.per_sequence * job.image_tokens();
  return fmt::format("{:g} a sequence, {} of its {} tokens; {}; {}",
                     job.training.images.per_sequence, with_thousands(std::lround(tokens)),
                     with_thousands(job.training.sequence), tower,
                     layers == projectors ? both : one);
}

}  // namespace

SummaryLines question_lines(const Job& job) {
  const Cluster& c = job.cluster;
  SummaryLines lines;
  std::string model =
      fmt::format("{}: {} parameters", title_or_name(job.model.title, job.model.name),
                  count_text(static_cast<double>(parameters(job.model))));
  if (job.model.moe)
    model += fmt::format(", {} active per token",
                         count_text(static_cast<double>(active_parameters(job.model))));
  lines.emplace_back("Model", model);
  if (const std::string images = images_text(job); !images.empty())
    lines.emplace_back("Images", images);
  if (const std::string trained = fine_tuning_text(job); !trained.empty())
    lines.emplace_back("Trained", trained);
  const std::string device = title_or_name(c.host.device.title, c.host.device.name);
  const std::string host = title_or_name(c.host.title, c.host.name);
  std::string machine = fmt::format("{} x {} in {} x {}", with_thousands(c.gpus()), device,
                                    with_thousands(c.hosts), host);
  if (c.host.domain_hosts > 1 && c.hosts > 1)
    machine +=
        fmt::format(", {} GPUs of each NVLink domain", std::min(c.packing().domain, c.gpus()));
  if (c.hosts > 1)
    machine += fmt::format(", {}, {}", title_or_name(c.network.title, c.network.preset),
                           name_of(c.network.kind));
  lines.emplace_back("Machine", machine);
  lines.emplace_back("Plan", plan_text(job));
  lines.emplace_back("Batch", batch_text(job));
  lines.emplace_back("Options", options_text(job));
  lines.emplace_back("Software", title_or_name(job.stack.title, job.stack.name));
  return lines;
}

SummaryLines answer_lines(const Report& report) {
  const Prediction& p = report.prediction;
  SummaryLines lines;
  if (p.memory && (p.memory->fits() || p.memory->may_fit()))
    lines.emplace_back("Memory", memory_verdict(*p.memory));
  if (p.step)
    lines.emplace_back("Step",
                       fmt::format("{} {}", seconds_text(p.step->time), band_text(*p.step)));
  if (p.efficiency) add_efficiency(p, *p.efficiency, "", lines);
  if (p.if_it_fit) {
    const auto& [step, efficiency] = *p.if_it_fit;
    lines.emplace_back("Step", fmt::format("would take {} if it fit {}", seconds_text(step.time),
                                           band_text(step)));
    add_efficiency(p, efficiency, " if it fit", lines);
  }
  add_run(p, lines);
  add_cost(report, lines);
  add_power_line(report.prediction, lines);
  return lines;
}

namespace {

bool fits_barely(const Prediction& p) { return p.memory && p.memory->fits_barely(); }
bool may_fit(const Prediction& p) { return p.memory && p.memory->may_fit(); }

}  // namespace

Verdict run_verdict(const Prediction& p) {
  if (!p.feasible()) return Verdict::no;
  const bool in_time = deadline_verdict(p).value_or(Verdict::safe) == Verdict::safe;
  return fits_barely(p) || may_fit(p) || !in_time ? Verdict::at_risk : Verdict::safe;
}

std::string verdict_words(const Prediction& p) {
  const Verdict verdict = run_verdict(p);
  if (verdict == Verdict::safe) return "FITS";
  if (verdict == Verdict::at_risk && may_fit(p)) return "MAY NOT FIT";
  if (verdict == Verdict::at_risk) return fits_barely(p) ? "FITS BARELY" : "DEADLINE AT RISK";
  const auto broken = [&](std::string_view rule) {
    return std::ranges::any_of(p.reasons, [&](const auto& r) { return r.rule == rule; });
  };
  if (broken("out-of-memory")) return "OUT OF MEMORY";
  if (broken(not_modelled_rule)) return "NOT MODELLED";
  if (broken(never_finishes_rule)) return "NEVER FINISHES";
  if (broken(deadline_rule)) return "MISSES THE DEADLINE";
  return "NOT A LEGAL PLAN";
}

std::string heaviest_name(const MemoryForecast& memory) {
  return memory.replica ? "GPU 0 (rank 0)" : fmt::format("stage {}", memory.peak_stage);
}

std::string memory_verdict(const MemoryForecast& memory) {
  const std::string who = heaviest_name(memory);
  const std::string others = memory.replica ? fmt::format("; each of the other GPUs needs {}",
                                                          bytes_text(memory.replica->peak))
                                            : std::string();
  if (memory.fits_barely())
    return fmt::format("fits barely: {} is the heaviest with {} of {} usable; {}{}", who,
                       bytes_text(memory.peak), bytes_text(memory.usable),
                       memory.high > memory.usable
                           ? "at the upper end of its band " +
                                 bytes_text(memory.high - memory.usable) + " are missing"
                           : "the allocator's cache fills the GPU",
                       others);
  if (memory.fits())
    return fmt::format("fits: {} is the heaviest with {} of {} usable, {} free{}", who,
                       bytes_text(memory.peak), bytes_text(memory.usable),
                       bytes_text(memory.usable - memory.peak), others);
  if (memory.may_fit())
    return fmt::format(
        "may not fit: {} needs {} of {} usable as forecast, {} at the lower end of its band{}", who,
        bytes_text(memory.peak), bytes_text(memory.usable), bytes_text(memory.low), others);
  return fmt::format("does not fit: {} needs {} of {} usable, {} missing{}", who,
                     bytes_text(memory.peak), bytes_text(memory.usable),
                     bytes_text(memory.peak - memory.usable), others);
}

namespace {

/// Of which years the software is that the forecast speaks of.
std::string software_text(const SoftwareYears& years) {
  std::string text;
  if (years.first && years.last)
    text = *years.first == *years.last
               ? fmt::format("of {}, as in the runs that the stack was fitted on", *years.first)
               : fmt::format("of {} to {}, as in the runs that the stack was fitted on",
                             *years.first, *years.last);
  else
    text = "of unknown years";
  if (years.asked) text += fmt::format("; asked for: {}", *years.asked);
  if (years.beyond() > 0) text += ", which no fitted run had";
  return text;
}

}  // namespace

SummaryLines provenance_lines(const Prediction& prediction) {
  SummaryLines lines;
  const auto add = [&](const char* label, const Provenance& p) {
    if (p.source.empty()) return;
    std::string text = fmt::format("{}: {}", name_of(p.trust), p.source);
    if (!p.date.empty()) text += ", " + p.date;
    text += p.error < 0.0 ? ", error not known" : ", median error " + percent_text(p.error);
    if (!p.own_file.empty()) text += "; your file " + p.own_file;
    lines.emplace_back(label, text);
  };
  add("device", prediction.device);
  add("kernels", prediction.kernels);
  add("collectives", prediction.collectives);
  add("stack", prediction.stack);
  if (const std::string text = software_text(prediction.software); !text.empty())
    lines.emplace_back("software", text);
  return lines;
}

Verdict run_verdict(const Report& report) {
  return report.study ? report.study->answer.head.verdict.value_or(Verdict::safe)
                      : run_verdict(report.prediction);
}

std::string verdict_words(const Report& report) {
  return report.study ? report.study->answer.head.words : verdict_words(report.prediction);
}

std::string budget_text(const BudgetVerdict& verdict) {
  std::string text = verdict.line.metric + " is ";
  text += verdict.value ? fmt::format("{:.6g}", *verdict.value) : "unknown";
  if (verdict.line.max) text += fmt::format(", budget at most {:.6g}", *verdict.line.max);
  if (verdict.line.min) text += fmt::format(", budget at least {:.6g}", *verdict.line.min);
  return text;
}

std::string step_text(const Change& change) {
  return change.step ? seconds_text(*change.step) : "not modelled";
}

std::string StageGroup::name(const MemoryForecast& memory) const {
  const int from = memory.stages[static_cast<std::size_t>(first)].stage;
  const int to = memory.stages[static_cast<std::size_t>(last)].stage;
  return from == to ? std::to_string(from) : fmt::format("{}-{}", from, to);
}

std::vector<StageGroup> stage_groups(const MemoryForecast& memory) {
  FORETRAIN_REQUIRE(!memory.stages.empty());
  std::vector<StageGroup> groups{{0, 0}};
  for (std::size_t s = 1; s < memory.stages.size(); ++s) {
    // Compared with the first of the group, so that small steps do not add up unseen.
    const StageMemory& head = memory.stages[static_cast<std::size_t>(groups.back().first)];
    const int at = static_cast<int>(s);
    if (similar(head, memory.stages[s])) {
      groups.back().last = at;
    } else {
      groups.push_back({at, at});
    }
  }
  return groups;
}

const StageMemory& heaviest_stage(const MemoryForecast& memory) {
  FORETRAIN_REQUIRE(!memory.stages.empty());
  return *std::ranges::max_element(memory.stages,
                                   [](const auto& a, const auto& b) { return a.peak < b.peak; });
}

}  // namespace foretrain
