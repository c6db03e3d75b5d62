// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/megatron/megatron_import.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "scenarios/imports/shell/argument_reader.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

/// Messages go to terminals and logs; what they quote of the user's text is escaped already.
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return text;
}

/// Puts messages at the argument that they begin with.
class Reporter {
 public:
  Reporter(const MegatronSource& found, const ImportSource& source, Diagnostics& diagnostics)
      : found_{found},
        file_{std::make_shared<const std::string>(source.name)},
        diagnostics_{diagnostics} {}

  void add(const std::string& argument, std::string message) {
    const auto line = found_.lines.find(argument);
    const int place = line == found_.lines.end() ? found_.line : line->second;
    diagnostics_.add(Mark{file_, place, place > 0 ? 1 : 0}, printable_path(key_of(argument, "--")),
                     printable(std::move(message)));
  }
  /// What the source calls an argument.
  [[nodiscard]] std::string key_of(const std::string& argument, const char* dashes = "") const {
    const auto key = found_.keys.find(argument);
    return key == found_.keys.end() ? dashes + argument : key->second;
  }
  /// "--name: what is wrong", or a sentence about the whole.
  void add(const std::string& message) {
    const auto colon = message.find(": ");
    if (message.starts_with("--") && colon != std::string::npos)
      return add(message.substr(2, colon - 2), message.substr(colon + 2));
    diagnostics_.add(Mark{file_, found_.line, found_.line > 0 ? 1 : 0}, "", printable(message));
  }

 private:
  const MegatronSource& found_;
  std::shared_ptr<const std::string> file_;
  Diagnostics& diagnostics_;
};

int degree(const MegatronArguments& arguments, const std::string& name) {
  ArgumentReader reader(arguments);
  return std::clamp(reader.peek_integer(name).value_or(1), 1, 10'000);
}

/// GPUs of one replica: what the others must be a multiple of.
int replica_of(const MegatronArguments& arguments) {
  const long long ranks = 1LL * degree(arguments, "tensor-model-parallel-size") *
                          degree(arguments, "pipeline-model-parallel-size") *
                          degree(arguments, "context-parallel-size");
  const long long experts = 1LL * degree(arguments, "expert-model-parallel-size") *
                            degree(arguments, "pipeline-model-parallel-size");
  return static_cast<int>(std::min(std::max(ranks, experts), 1'000'000LL));
}

/// The default is an all-gather (training/arguments.py).
void set_dispatch(ArgumentReader& in, Job& job) {
  if (!job.model.moe) return;
  Communication& communication = job.communication;
  ArgumentReader unread = in;
  const DialectTerm& term = *megatron_dialect().term("dispatch");
  std::string word = unread.text(term.keys.front(), term.usual);
  if (word == "flex") word += " " + unread.text(term.keys.back(), "deepep");
  const auto dispatch = from_name<ExpertDispatch>(meaning_of(term, word));
  if (!dispatch) return;
  communication.expert_dispatch = *dispatch;
  for (const std::string& name : term.keys) in.accept(name);
  in.accept("moe-enable-deepep");
  const auto taken =
      word_of(*megatron_dialect().term("dispatch_multiprocessors"), name_of(*dispatch));
  const int usual = traits_of(*dispatch).multiprocessors;
  const int said = taken ? in.integer(*taken, usual) : usual;
  if (said >= 1 && said != usual) communication.expert_multiprocessors = said;
}

/// What arguments say about traffic beside compute. Without the distributed optimizer's flags,
/// Megatron reduces after the backward pass (training/arguments.py).
void set_overlap(ArgumentReader& in, Job& job) {
  Overlap& overlap = job.communication.overlap;
  const bool fsdp =
      in.flag("use-megatron-fsdp") || in.flag("use-custom-fsdp") || in.flag("use-torch-fsdp2");
  overlap.gradients = in.flag("overlap-grad-reduce") || fsdp;
  overlap.parameters = in.flag("overlap-param-gather") || fsdp;
  overlap.tensor = in.flag("tp-comm-overlap") && job.parallel.sequence;
  overlap.experts = in.flag("overlap-moe-expert-parallel-comm");
  const bool apart = in.flag("no-overlap-p2p-communication");
  const bool interleaved = job.parallel.schedule == ScheduleKind::interleaved;
  overlap.pipeline = !(apart && interleaved);
}

void set_tokens(ArgumentReader& in, Job& job, std::vector<std::string>& assumed) {
  Training& training = job.training;
  const double sequences = in.number("train-samples", 0.0);
  const double steps = in.number("train-iters", 0.0);
  const double tokens = in.number("train-tokens", 0.0);
  if (sequences > 0.0)
    training.tokens = sequences * training.sequence;
  else if (steps > 0.0)
    training.tokens = steps * training.global_batch * training.sequence;
  else if (tokens > 0.0)
    training.tokens = tokens;
  if (training.tokens && !(*training.tokens < 1e18)) training.tokens.reset();
  if (in.has("rampup-batch-size") || in.has("step-batch-size-schedule"))
    assumed.push_back(fmt::format("a global batch of {}, the last of those that it grows to",
                                  training.global_batch));
}

/// Values that are the format's defaults anyway are left to it.
void tidy(Job& job) {
  Parallel& parallel = job.parallel;
  if (parallel.expert_tensor == parallel.tensor || !job.model.moe) parallel.expert_tensor = 0;
  if (parallel.schedule != ScheduleKind::interleaved ||
      parallel.microbatch_group == parallel.pipeline)
    parallel.microbatch_group = 0;
  const auto& layers = parallel.stage_layers;
  if (std::adjacent_find(layers.begin(), layers.end(), std::not_equal_to<>()) == layers.end())
    parallel.stage_layers.clear();
  if (parallel.zero == 0) parallel.zero_group = 0;
  if (!job.model.moe) {
    job.training.router_fp32 = false;
    job.training.grouped_experts = Training{}.grouped_experts;
  }
  job.memory.fused_loss_engine = job.memory.fused_loss && job.memory.fused_loss_engine;
}

/// What --tp-comm-overlap decides, and what not.
void note_tensor_overlap(ArgumentReader& in, const Job& job, PlanNotes& notes) {
  if (!in.flag("tp-comm-overlap")) return;
  notes.assumed.emplace_back(job.communication.overlap.tensor
                                 ? "the user buffers of tp-comm-overlap are not counted in memory"
                                 : "tp-comm-overlap does nothing here: it needs sequence-parallel "
                                   "on several tensor ranks");
}

/// Every argument is in one list: one that is not modelled decided nothing by being looked at.
void sort_arguments(const MegatronMapping& mapping, ArgumentReader& in, PlanNotes& notes) {
  for (const std::string& name : in.given())
    if (!contains(mapping.read, name)) notes.read.push_back(name);
  notes.read.insert(notes.read.end(), mapping.read.begin(), mapping.read.end());
  std::erase_if(notes.read,
                [&](const std::string& name) { return contains(mapping.approximated, name); });
  std::ranges::sort(notes.read);
  for (const std::string& name : mapping.ignored) {
    if (contains(notes.read, name)) continue;
    const bool slow = contains(megatron_dialect().keys_of("approximated"), name);
    const bool pauses = name == "eval-interval" || name == "eval-iters";
    if (pauses && in.peek_integer("eval-iters") != 0)
      notes.evaluation.push_back(name);
    else
      (slow ? notes.approximated : notes.ignored).push_back(name);
  }
  for (const std::string& name : mapping.approximated)
    if (!contains(notes.approximated, name)) notes.approximated.push_back(name);
}

void refuse(const MegatronMapping& mapping, const PlanImportOptions& options, Reporter& report) {
  for (const std::string& name : mapping.unmodelled) {
    const std::string argument = name.substr(0, name.find(' '));
    if (contains(options.left_out, argument)) continue;
    const std::string word = argument == name ? "" : name.substr(argument.size() + 1);
    const DialectKey* const row = megatron_dialect().key(argument);
    const std::string what = row != nullptr
                                 ? unknown_word(*row, word)
                                 : (word.empty() ? "" : in_quotes(word) + " ") +
                                       std::string("changes memory or time and is not modelled");
    report.add(argument, fmt::format("{}; --leave-out {} ignores it", what,
                                     printable_path(report.key_of(argument))));
  }
  for (const std::string& name : mapping.unknown)
    if (!options.leave_out_unknown)
      report.add(name, "is not known here, so it may change memory or time" +
                           nearest_hint(name, known_megatron_arguments()) + "; --leave-out " +
                           printable_path(report.key_of(name)) +
                           " ignores it, --leave-out-unknown all such arguments");
  for (const std::string& message : mapping.errors) report.add(message);
}

/// A tokenizer that no table knows has the vocabulary of the catalog's model of this shape.
bool guess_vocabulary(const MegatronEnvironment& environment, const PlanImportOptions& options,
                      MegatronSource& found, std::vector<std::string>& assumed) {
  const MegatronMapping first = map_megatron_arguments(found.arguments, environment);
  const bool unknown = std::ranges::any_of(first.errors, [](const std::string& message) {
    return message.starts_with("--tokenizer-type: the vocabulary");
  });
  if (!unknown) return false;
  MegatronArguments trial = found.arguments;
  trial["vocab-size"] = "1000";
  LlmShape shape = map_megatron_arguments(trial, environment).job.model;
  if (shape.layers < 1) return false;
  if (shape.moe) shape.moe->router_bias = trial.count("moe-router-enable-expert-bias") > 0;
  const auto known = catalog_vocabulary(shape, options);
  if (!known) return false;
  found.arguments["vocab-size"] = std::to_string(known->vocabulary);
  assumed.push_back(
      fmt::format("a vocabulary of {}, that of {}, which has this shape "
                  "(--vocab-size)",
                  known->vocabulary, known->model));
  return true;
}

std::string name_of_source(const std::string& name) {
  return std::filesystem::path(name).stem().string();
}

}  // namespace

std::optional<ImportedPlan> megatron_plan(MegatronSource found, const ImportSource& source,
                                          const PlanImportOptions& options,
                                          Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.count();
  const auto per_host = host_gpus(options, diagnostics);
  if (!per_host) return std::nullopt;
  ImportedPlan plan;
  plan.notes.assumed = found.assumed;
  for (const std::string& name : options.left_out)
    if (found.arguments.erase(name) > 0)
      plan.notes.assumed.push_back(printable_path("--" + name) + " was left out as asked for");
  MegatronEnvironment environment;
  environment.gpus =
      gpus_for(found.size, replica_of(found.arguments), *per_host, options, plan.notes);
  environment.variables = found.variables;
  environment.final_batch = true;
  const bool guessed = guess_vocabulary(environment, options, found, plan.notes.assumed);
  MegatronMapping mapping = map_megatron_arguments(found.arguments, environment);
  Reporter report(found, source, diagnostics);
  refuse(mapping, options, report);
  for (const std::string& name : mapping.unknown)
    plan.notes.unknown.push_back(printable_path(name));
  const LlmShape& model = mapping.job.model;
  if (diagnostics.count() == before && model.position == PositionKind::learned &&
      model.positions == 0)
    report.add("max-position-embeddings",
               "is missing; learned positions need the longest sequence, or say "
               "--position-embedding-type rope");
  if (diagnostics.count() != before) return std::nullopt;
  plan.job = std::move(mapping.job);
  ArgumentReader in(found.arguments);
  set_overlap(in, plan.job);
  set_dispatch(in, plan.job);
  set_tokens(in, plan.job, plan.notes.assumed);
  if (plan.job.model.moe)
    plan.job.model.moe->router_bias = in.flag("moe-router-enable-expert-bias");
  note_tensor_overlap(in, plan.job, plan.notes);
  sort_arguments(mapping, in, plan.notes);
  if (guessed) std::erase(plan.notes.read, "vocab-size");
  tidy(plan.job);
  if (mapping.deepspeed)
    choose_stack(plan, "megatron-deepspeed", "because the arguments are Megatron-DeepSpeed's");
  else if (mapping.transformer_engine)
    choose_stack(plan, "megatron-core",
                 "Megatron-Core with Transformer Engine, as today's releases run by default");
  else
    choose_stack(plan, "megatron-core-local",
                 "Megatron-Core without Transformer Engine, as --transformer-impl says");
  const bool alone = source.framework != "Megatron-DeepSpeed";
  if (const auto file = found.arguments.find("deepspeed_config");
      mapping.deepspeed && alone && file != found.arguments.end())
    plan.notes.assumed.push_back(
        fmt::format("what the DeepSpeed file {} says was not read: import deepspeed {} --arguments "
                    "with these",
                    in_quotes(file->second), in_quotes(file->second)));
  plan.job.name = plan.job.model.name = name_of_source(source.name);
  for (const std::string& message : in.errors()) report.add(message);
  if (diagnostics.count() != before) return std::nullopt;
  return plan;
}

ImportedScenario import_megatron(const ImportSource& source, const PlanImportOptions& options) {
  Diagnostics diagnostics;
  auto found = read_megatron_source(source, options, diagnostics);
  diagnostics.throw_if_any();
  auto plan = megatron_plan(std::move(*found), source, options, diagnostics);
  diagnostics.throw_if_any();
  return finish_import(std::move(*plan), source, options, diagnostics);
}

}  // namespace foretrain
