// SPDX-License-Identifier: Apache-2.0

#include "planner/edit/scenario_draft.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base/require.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/schedules/registry.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/search/plan_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/catalog/machine_names.hpp"
#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

const ScheduleTraits& traits_named(std::string_view schedule) {
  return traits_of(from_name<ScheduleKind>(schedule).value_or(default_schedule));
}

}  // namespace

bool runs_chosen_chunks(std::string_view schedule) {
  return traits_named(schedule).chunks == chunks_chosen;
}

std::string schedule_for_chunks(std::string_view schedule, bool several) {
  const ScheduleTraits& traits = traits_named(schedule);
  return std::string(name_of(several ? traits.in_chunks.value_or(schedule_in_chunks)
                                     : traits.in_one_chunk.value_or(default_schedule)));
}

namespace {

constexpr double batch_tokens = 4194304.0;  ///< of a step where nobody says: that of Llama 2
constexpr int usual_sequence = 4096;
constexpr int most_doublings = 10;
constexpr int column = 34;  ///< of comments behind values

/// A line of the scenario with what it means behind it.
std::string line(const std::string& text, const std::string& meaning) {
  if (meaning.empty()) return text + "\n";
  return fmt::format("{:<{}}  # {}\n", text, column, meaning);
}

/// Text as a YAML scalar that reads as that text.
std::string scalar(const std::string& text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == '/' || c == ' ';
  });
  const bool special =
      text.starts_with('-') || text.starts_with(' ') || text.ends_with(' ') ||
      (!text.empty() && text.find_first_not_of("0123456789.") == std::string::npos);
  if (plain && !special) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

/// The fabric preset of a NIC: that of its name, or without the rate behind it ("tcpx-200").
std::string preset_of(const std::string& nic, const LoadOptions& options) {
  const std::vector<CatalogEntry> presets = catalog_entries("fabrics", options);
  const auto known = [&](const std::string& name) {
    return std::ranges::any_of(presets,
                               [&](const CatalogEntry& entry) { return entry.name == name; });
  };
  if (known(nic)) return nic;
  const std::string stem = nic.substr(0, nic.rfind('-'));
  return known(stem) ? stem : "";
}

FabricKind kind_of(const Cluster& cluster) {
  if (cluster.hosts == 1) return FabricKind::single_switch;
  return cluster.host.nics >= cluster.host.gpus ? FabricKind::rail_optimized
                                                : FabricKind::leaf_spine;
}

/// Sequences of about four million tokens that replicas of any size can share: a multiple of the
/// GPUs, or of their odd part where there are more GPUs than sequences.
int batch_for(int gpus, int sequence) {
  const int wanted = std::max(1, static_cast<int>(batch_tokens / sequence));
  int unit = gpus;
  while (unit > wanted && unit % 2 == 0) unit /= 2;
  const int times = static_cast<int>(std::lround(static_cast<double>(wanted) / unit));
  return unit * std::max(1, times);
}

/// What the answers leave to us.
struct Parts {
  std::string preset;
  std::string kind;
  int sequence = 0;
  int global_batch = 0;
  Precision precision = Precision::bf16;
};

std::string head(const DraftAnswers& answers, const Parts& parts) {
  std::string text = "schema: 1\n" + line("name: " + scalar(draft_name(answers)), "");
  text += line("model: " + scalar(answers.model), "foretrain show models, or a config.json");
  text += "cluster:\n" + line("  host: " + scalar(answers.host), "foretrain show hosts");
  text += line(fmt::format("  hosts: {}", answers.hosts), "");
  if (answers.gpus_per_host > 0)
    text += line(fmt::format("  gpus_per_host: {}", answers.gpus_per_host),
                 "the others are other jobs'");
  text += line(fmt::format("  fabric: {{kind: {}, preset: {}}}", parts.kind, scalar(parts.preset)),
               answers.fabric.empty() ? "what the host's NICs are made for" : "");
  text += "training:\n";
  text += line(fmt::format("  sequence: {}", parts.sequence), "tokens");
  const double tokens = static_cast<double>(parts.global_batch) * parts.sequence;
  text += line(fmt::format("  global_batch: {}", parts.global_batch),
               fmt::format("sequences: {} tokens per step{}", count_text(tokens),
                           answers.global_batch ? "" : "; yours to change"));
  if (parts.precision != Precision::bf16)
    text += line(fmt::format("  precision: {}", name_of(parts.precision)), "it has no bf16");
  if (!answers.tokens.empty())
    text += line("  tokens: " + scalar(answers.tokens), "of the whole run");
  return text;
}

/// What a key of the plan means, for the comment behind it.
std::string meaning_of(const std::string& key, const Job& job) {
  static const std::map<std::string, std::string, std::less<>> meanings{
      {"training.micro_batch", "sequences per forward pass of a replica"},
      {"parallel.tensor", "GPUs that every weight matrix is sharded across"},
      {"parallel.sequence", "norms and dropout sharded across them as well"},
      {"parallel.context", "GPUs that a sequence is sharded across"},
      {"parallel.pipeline", "pipeline stages"},
      {"parallel.virtual_stages", "model chunks per stage"},
      {"parallel.schedule", "order of forward and backward passes"},
      {"parallel.expert", "GPUs that the experts are sharded across"},
      {"parallel.zero", "optimizer states sharded across replicas"},
      {"memory.recompute", "of activations in the backward pass"}};
  if (key == "parallel.data")
    return fmt::format("replicas: {} GPUs / (tensor x context x pipeline)", job.cluster.gpus());
  const auto found = meanings.find(key);
  return found == meanings.end() ? "" : found->second;
}

/// The settings of one group, without the group's name.
std::string group(const std::string& name, const std::vector<std::string>& settings,
                  const Job& job) {
  std::string text;
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    const std::string key = setting.substr(0, equals);
    if (!key.starts_with(name + ".")) continue;
    text += line("  " + key.substr(name.size() + 1) + ": " + setting.substr(equals + 1),
                 meaning_of(key, job));
  }
  return text;
}

std::string tail(const DraftAnswers& answers) {
  std::string text;
  if (!answers.price.empty())
    text += "operations:\n" + line("  price: " + scalar(answers.price), "");
  text +=
      "# Unknown until given: goodput and the expected duration need\n"
      "# operations:\n"
      "#   mean_time_between_interruptions: 12 h\n"
      "#   restart: 15 min\n"
      "#   checkpoint: {every: 30 min, write_bandwidth: 100 GB/s, mode: async}\n";
  if (answers.price.empty()) text += "#   price: 2.5 USD/GPU-hour\n";
  text +=
      "# A budget makes foretrain check fail when a change breaks it:\n"
      "# budget:\n"
      "#   - {metric: memory.peak_bytes, max: 70e9}\n";
  return text;
}

std::string written(const DraftAnswers& answers, const Parts& parts, const PlanReport& plans) {
  const Finalist& best = plans.plans.front();
  const Job& job = best.report.scenario.job;
  std::string text = fmt::format(
      "# Made by foretrain init {}. The plan is the fastest of {} that fit, of {} tried:\n"
      "# {} per step, {} of memory per GPU. foretrain plan FILE shows the others.\n",
      version, with_thousands(plans.result.feasible), with_thousands(plans.result.evaluated),
      seconds_text(best.step.time), bytes_text(best.scored.peak));
  text += head(answers, parts) + group("training", best.settings, job);
  text += "parallel:\n" + group("parallel", best.settings, job);
  const std::string memory = group("memory", best.settings, job);
  if (!memory.empty()) text += "memory:\n" + memory;
  return text + tail(answers);
}

void check(const DraftAnswers& answers) {
  if (answers.model.empty()) throw UsageError("a scenario needs a model: foretrain show models");
  if (answers.host.empty()) throw UsageError("a scenario needs a host: foretrain show hosts");
  if (answers.gpus < 0) throw UsageError("a machine has 1 GPU or more");
  if (answers.gpus == 0 && answers.hosts < 1)
    throw UsageError(fmt::format("the number of hosts is 1 or more, not {}", answers.hosts));
  if (answers.sequence && *answers.sequence < 1)
    throw UsageError(fmt::format("a sequence has 1 token or more, not {}", *answers.sequence));
  if (answers.global_batch && *answers.global_batch < 1)
    throw UsageError(fmt::format("a batch has 1 sequence or more, not {}", *answers.global_batch));
}

/// Whole hosts, or parts of them, of a number of GPUs.
DraftAnswers placed(DraftAnswers answers, const std::filesystem::path& folder,
                    const LoadOptions& options) {
  if (answers.gpus == 0) return answers;
  DraftAnswers whole = answers;
  whole.hosts = 1;
  whole.gpus_per_host = 0;
  const Parts parts{slowest_fabric(), "single-switch", 1, 1, Precision::bf16};
  const std::string text = head(whole, parts) + "parallel:\n  zero: 1\n";
  const int per_host = load_scenario_text(text, "init", folder, options).job.cluster.host.gpus;
  const auto share = share_of(answers.gpus, per_host);
  if (!share) throw UsageError(share_refusal(answers.gpus, answers.host, per_host));
  answers.hosts = share->hosts;
  answers.gpus_per_host = share->gpus_per_host < per_host ? share->gpus_per_host : 0;
  return answers;
}

/// The question without a plan: machine, fabric and batch are decided.
Scenario resolved(const DraftAnswers& answers, const std::filesystem::path& folder,
                  const LoadOptions& options, Parts& parts) {
  const auto load = [&](const DraftAnswers& asked) {
    std::string text = head(asked, parts) + "parallel:\n  zero: 1\n";
    if (!asked.price.empty()) text += "operations:\n  price: " + scalar(asked.price) + "\n";
    return load_scenario_text(text, "init", folder, options);
  };
  parts = {slowest_fabric(), "single-switch", 1, 1, Precision::bf16};
  DraftAnswers one = answers;
  one.hosts = 1;
  const Job bare = load(one).job;
  Cluster machine = bare.cluster;
  machine.hosts = answers.hosts;
  if (machine.host.device.peak_of(Precision::bf16) <= FlopPerSecond{})
    parts.precision = Precision::fp16;
  const bool learned = bare.model.position == PositionKind::learned && bare.model.positions > 0;
  parts.sequence = answers.sequence.value_or(
      learned ? std::min(usual_sequence, bare.model.positions) : usual_sequence);
  parts.preset =
      answers.fabric.empty() ? preset_of(machine.host.nic.name, options) : answers.fabric;
  if (parts.preset.empty())
    throw UsageError("no fabric preset is known for the NICs of " + in_quotes(answers.host) +
                     "; name one with --fabric (foretrain show fabrics)");
  parts.kind = std::string(name_of(kind_of(machine)));
  parts.global_batch = answers.global_batch.value_or(batch_for(machine.gpus(), parts.sequence));
  return load(answers);
}

SearchOptions search_options(const DraftAnswers& answers) {
  SearchOptions options;
  options.top = 10;
  options.limits = answers.room;
  return options;
}

/// Whether any plan fits on so many of the hosts.
bool fits_on(DraftAnswers answers, int hosts, const std::filesystem::path& folder,
             const LoadOptions& options) {
  answers.hosts = hosts;
  Parts parts;
  const Job job = resolved(answers, folder, options, parts).job;
  return !search(job, default_space(job), search_options(answers)).best.empty();
}

/// What stands in the way, and how many of the same hosts would do: doubled until a plan fits, then
/// halved between the last two.
std::string why_not(DraftAnswers answers, const std::filesystem::path& folder,
                    const LoadOptions& options, const PlanReport& plans) {
  const Host& host = plans.scenario.job.cluster.host;
  std::string text =
      answers.gpus_per_host > 0
          ? fmt::format("no plan for {} fits on {} of {} GPUs of {} x {}", answers.model, host.gpus,
                        host.whole_gpus, answers.hosts, answers.host)
          : fmt::format("no plan for {} fits on {} x {}", answers.model, answers.hosts,
                        answers.host);
  // No machine helps where another rule than memory refuses every plan.
  if (!plans.nearest || !plans.result.nearest) {
    const std::vector<Infeasible> reasons = refusals(plans.scenario.job);
    return reasons.empty() ? text : text + ": " + reasons.front().message;
  }
  text += "; the nearest one: " + plans.result.nearest->excess.message;
  for (int gpus = 2 * host.gpus; answers.gpus_per_host > 0 && gpus <= host.whole_gpus; gpus *= 2) {
    DraftAnswers larger = answers;
    larger.gpus_per_host = gpus;
    if (fits_on(larger, answers.hosts, folder, options))
      return text + fmt::format("; it fits on {} GPUs", answers.hosts * gpus);
  }
  answers.gpus_per_host = 0;
  int low = answers.hosts;
  int high = 2 * low;
  for (int times = 1; !fits_on(answers, high, folder, options); ++times) {
    if (times == most_doublings) return text + fmt::format("; nor on {} hosts", high);
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (fits_on(answers, middle, folder, options) ? high : low) = middle;
  }
  return text + fmt::format("; it fits on {} hosts", high);
}

}  // namespace

std::string draft_name(const DraftAnswers& answers) {
  if (!answers.name.empty()) return answers.name;
  const std::filesystem::path model = answers.model;
  const bool file = model.extension() == ".yaml" || model.extension() == ".json";
  std::string stem = file ? huggingface_model_name(model) : model.filename().string();
  if (stem.empty()) stem = "model";
  if (answers.gpus > 0) return fmt::format("{}-{}gpu-{}", stem, answers.gpus, answers.host);
  return fmt::format("{}-{}x{}", stem, answers.hosts, answers.host);
}

DraftResult draft_scenario(const DraftAnswers& asked, const std::filesystem::path& folder,
                           const LoadOptions& options) {
  check(asked);
  const DraftAnswers answers = placed(asked, folder, options);
  Parts parts;
  const Scenario question = resolved(answers, folder, options, parts);
  const PlanReport plans = plan(question, default_space(question.job), search_options(answers));
  if (plans.plans.empty()) return {std::nullopt, why_not(answers, folder, options, plans)};
  ScenarioDraft draft{
      written(answers, parts, plans), {}, plans.result.evaluated, plans.result.feasible};
  draft.report = evaluate(load_scenario_text(draft.text, "init", folder, options),
                          AttentionFlops::full, EngineKind::path);
  const auto& step = draft.report.prediction.step;
  FORETRAIN_REQUIRE(step.has_value() && step->time == plans.plans.front().step.time);
  return {std::move(draft), {}};
}

}  // namespace foretrain
