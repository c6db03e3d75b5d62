// SPDX-License-Identifier: Apache-2.0

#include "planner/forecast/plan_moves.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "planner/answer/prediction_parts.hpp"
#include "planner/forecast/smallest_change.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

constexpr int most_parts = 5;
constexpr double least_share = 1e-5;      ///< of the step, for a part to be told
constexpr double condition_share = 0.01;  ///< of the step, for a part to need a condition

std::string settled(const std::vector<std::string>& settings, const std::string& key) {
  const auto match =
      std::ranges::find_if(settings, [&](const auto& s) { return s.starts_with(key); });
  return match == settings.end() ? "as given" : match->substr(key.size());
}

}  // namespace

std::string differing_settings(const std::vector<std::string>& first,
                               const std::vector<std::string>& other) {
  std::string text;
  for (const std::string& setting : first) {
    const std::string key = setting.substr(0, setting.find('=') + 1);
    const std::string value = settled(other, key);
    if (setting.substr(key.size()) == value) continue;
    text += fmt::format("{}{} instead of {}", text.empty() ? "" : ", ", setting, value);
  }
  return text;
}

std::vector<PartDifference> part_differences(const Report& first, const Report& other) {
  const auto ours = whole_waterfall(first.scenario.job, first.prediction);
  const auto theirs = whole_waterfall(other.scenario.job, other.prediction);
  const double scale = static_cast<double>(first.scenario.job.training.global_batch) /
                       other.scenario.job.training.global_batch;
  std::vector<PartDifference> parts;
  for (std::size_t i = 0; i < ours.size(); ++i)
    parts.push_back(
        {ours[i].key, ours[i].label, theirs[i].time.value() * scale - ours[i].time.value()});
  std::ranges::stable_sort(parts, [](const auto& a, const auto& b) {
    return std::abs(a.seconds) > std::abs(b.seconds);
  });
  return parts;
}

std::string difference_sentences(const Report& first, const Report& other) {
  const double step = first.prediction.step->time.value();
  std::string gains;
  std::string losses;
  double total = 0.0;
  int told = 0;
  for (const PartDifference& part : part_differences(first, other)) {
    total += part.seconds;
    if (std::abs(part.seconds) < least_share * step || ++told > most_parts) continue;
    std::string& list = part.seconds > 0.0 ? gains : losses;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", part.label,
                        seconds_text(Seconds{std::abs(part.seconds)}));
  }
  std::string text =
      fmt::format("Its step is {} ({:.2f} %) {} for the same sequences.",
                  seconds_text(Seconds{std::abs(total)}), 100.0 * std::abs(total) / (step + total),
                  total < 0.0 ? "longer" : "shorter");
  if (!gains.empty()) text += " It saves " + gains + ".";
  if (!losses.empty()) text += " It pays " + losses + ".";
  return text;
}

namespace {

/// What a part of the step rests on; nothing where that is not said, or it is not a part of `step`
/// that matters.
void add_condition(const std::string& key, Seconds time, Seconds step,
                   std::vector<std::string>& conditions) {
  if (time < condition_share * step) return;
  for (const StepPart& row : step_parts())
    if (waterfall_key(row) == key && !row.condition.empty())
      conditions.push_back(fmt::format("{} ({})", row.condition, seconds_text(time)));
}

void add_memory_condition(const Report& report, std::vector<std::string>& conditions) {
  const auto& memory = report.prediction.memory;
  if (memory && memory->peak > 0.9 * memory->usable)
    conditions.push_back(fmt::format("{} of {} are not exceeded: {} are left",
                                     bytes_text(memory->peak), bytes_text(memory->usable),
                                     bytes_text(memory->usable - memory->peak)));
}

}  // namespace

std::vector<std::string> conditions_of_gain(const Report& first, const Report& other) {
  std::vector<std::string> conditions;
  for (const PartDifference& part : part_differences(first, other))
    add_condition(part.key, Seconds{part.seconds}, other.prediction.step->time, conditions);
  add_memory_condition(first, conditions);
  return conditions;
}

std::vector<std::string> conditions_of_step(const Report& report) {
  std::vector<std::string> conditions;
  const Prediction& p = report.prediction;
  if (p.step && p.flops) {
    auto parts = whole_waterfall(report.scenario.job, p);
    std::ranges::stable_sort(parts, [](const auto& a, const auto& b) { return b.time < a.time; });
    for (const WaterfallPart& part : parts)
      add_condition(part.key, part.time, p.step->time, conditions);
  }
  add_memory_condition(report, conditions);
  return conditions;
}

namespace {

using Apply = std::function<bool(Candidate&)>;

Apply recompute(RecomputeKind kind) {
  return [kind](Candidate& c) {
    Recompute& now = c.job.memory.recompute;
    if (static_cast<int>(now.kind) >= static_cast<int>(kind)) return false;
    now = Recompute{kind, RecomputeMethod::uniform, 1};
    c.set("memory.recompute", std::string(name_of(kind)));
    return true;
  };
}

/// Beside full recomputation the inputs of layers are what is offloaded; without it that would be
/// everything that they save.
bool recompute_nothing(Candidate& c) {
  Recompute& now = c.job.memory.recompute;
  if (now.kind == RecomputeKind::none) return false;
  const bool inputs = now.kind == RecomputeKind::full && c.job.memory.offloaded_layers > 0;
  now = Recompute{};
  c.set("memory.recompute", "none");
  if (inputs) {
    c.job.memory.offloaded_layers = 0;
    c.set("memory.offloaded_layers", 0);
  }
  return true;
}

Apply zero_stage(int stage) {
  return [stage](Candidate& c) {
    if (c.job.parallel.zero >= stage || c.job.parallel.data < 2) return false;
    c.job.parallel.zero = stage;
    c.set("parallel.zero", stage);
    return true;
  };
}

bool process_per_gpu(Candidate& c) {
  if (c.job.parallel.processes == ProcessKind::per_gpu) return false;
  c.job.parallel.processes = ProcessKind::per_gpu;
  c.set("parallel.processes", "per-gpu");
  return true;
}

bool flash_attention(Candidate& c) {
  if (c.job.memory.attention == AttentionKind::flash) return false;
  c.job.memory.attention = AttentionKind::flash;
  c.set("memory.attention", "flash");
  return true;
}

bool sequence_parallel(Candidate& c) {
  if (c.job.parallel.sequence || c.job.parallel.tensor < 2) return false;
  c.job.parallel.sequence = true;
  c.set("parallel.sequence", "true");
  return true;
}

bool micro_batch_of(Candidate& c, int sequences) {
  c.job.training.micro_batch = sequences;
  c.set("training.micro_batch", sequences);
  return true;
}
bool half_micro_batch(Candidate& c) {
  const int now = c.job.training.micro_batch;
  return now % 2 == 0 && micro_batch_of(c, now / 2);
}
bool smallest_micro_batch(Candidate& c) {
  return c.job.training.micro_batch > 1 && micro_batch_of(c, 1);
}
bool double_micro_batch(Candidate& c) {
  const int now = c.job.training.micro_batch;
  return c.job.microbatches() % 2 == 0 && micro_batch_of(c, 2 * now);
}

/// Doubles one way of splitting the model and halves the data-parallel ranks.
Apply split_more(int Parallel::*degree, std::string key) {
  return [degree, key = std::move(key)](Candidate& c) {
    Parallel& plan = c.job.parallel;
    if (plan.data % 2 != 0) return false;
    if (degree == &Parallel::pipeline && !plan.stage_layers.empty()) return false;
    plan.*degree *= 2;
    plan.data /= 2;
    c.set(key, plan.*degree);
    c.set("parallel.data", plan.data);
    return true;
  };
}

/// Twice the ranks that share the experts of a layer.
bool spread_experts(Candidate& c) {
  if (!c.job.model.moe) return false;
  c.job.parallel.expert *= 2;
  c.set("parallel.expert", c.job.parallel.expert);
  return true;
}

bool offload_optimizer(Candidate& c) {
  if (c.job.memory.offload != OffloadKind::none) return false;
  c.job.memory.offload = OffloadKind::optimizer;
  c.set("memory.offload", "optimizer");
  return true;
}

bool fuse_kernels(Candidate& c) {
  FusedKernels& now = c.job.training.fused_kernels;
  const FusedKernels before = now;
  for (const KernelLibrary& library : kernel_libraries)
    if (library.name == "liger") now.add(library.kernels);
  if (before == now || before.any()) return false;
  c.set("training.fused_kernels", "[liger]");
  return true;
}

bool moments_in_8_bits(Candidate& c) {
  if (c.job.training.optimizer != OptimizerKind::adamw) return false;
  c.job.training.optimizer = OptimizerKind::adam8bit;
  c.set("training.optimizer", "adam8bit");
  return true;
}

bool adapters(Candidate& c) {
  FineTuning& tuning = c.job.fine_tuning;
  if (tuning.freezes()) return false;
  tuning.adapter = AdapterKind::lora;
  c.set("fine_tuning.adapter", "lora");
  return true;
}

bool packed_base(Candidate& c) {
  FineTuning& tuning = c.job.fine_tuning;
  if (tuning.packs_frozen()) return false;
  if (!tuning.freezes()) adapters(c);
  tuning.frozen_format = FrozenFormat::nf4_double;
  c.set("fine_tuning.frozen_format", "nf4-double");
  return true;
}

constexpr std::string_view low_rank = "weights move within the adapters' rank alone";
constexpr std::string_view rounded = "the frozen weights are rounded to 4 bits";
constexpr std::string_view low_rank_rounded =
    "weights move within the adapters' rank alone, frozen ones rounded to 4 bits";

}  // namespace

void Candidate::set(const std::string& key, const std::string& value) {
  const std::string prefix = key + "=";
  std::erase_if(settings, [&](const std::string& s) { return s.starts_with(prefix); });
  settings.push_back(prefix + value);
}

std::vector<PlanMove> moves_on_this_machine() {
  return {{process_per_gpu},
          {sequence_parallel},
          {flash_attention},
          {recompute(RecomputeKind::selective)},
          {zero_stage(1)},
          {half_micro_batch},
          {recompute(RecomputeKind::full)},
          {zero_stage(2)},
          {zero_stage(3)},
          {split_more(&Parallel::tensor, "parallel.tensor")},
          {split_more(&Parallel::pipeline, "parallel.pipeline")},
          {split_more(&Parallel::context, "parallel.context")},
          {spread_experts}};
}

bool fine_tunes(const Job& job) {
  const PlanFramework framework = job.parallel.framework;
  const bool trainer = framework != PlanFramework::any && framework != PlanFramework::horovod;
  return trainer || !(job.fine_tuning == FineTuning{});
}

std::vector<PlanMove> moves_on_one_host(const Job& job) {
  std::vector<PlanMove> moves{
      {smallest_micro_batch, "micro-batch of 1", "more and smaller passes"},
      {double_micro_batch, "micro-batch x 2", "memory"},
      {recompute(RecomputeKind::full), "checkpointing", "a forward pass more"},
      {recompute_nothing, "no checkpointing", "memory"},
      {flash_attention, "FlashAttention", costs_nothing}};
  if (fine_tunes(job)) {
    const bool frozen = job.fine_tuning.freezes();
    moves.insert(moves.end(), {{fuse_kernels, "fused kernels", "nothing that is known"},
                               {moments_in_8_bits, "AdamW in 8 bits", "a little time",
                                "moments are rounded to 8 bits"},
                               {adapters, "LoRA", "no time", low_rank},
                               {packed_base, frozen ? "base in 4 bits" : "QLoRA",
                                "unpacking in every pass", frozen ? rounded : low_rank_rounded}});
  }
  moves.insert(moves.end(),
               {{offload_optimizer, "optimizer in RAM", "copies over PCIe in every step"},
                {zero_stage(2), "ZeRO-2", costs_nothing},
                {zero_stage(3), "ZeRO-3, FSDP", "gathers of weights in every pass"}});
  return moves;
}

}  // namespace foretrain
