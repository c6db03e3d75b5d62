// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/importers.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"
#include "scenarios/imports/shell/launch_line.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

/// The last part of a path of folders that holds a model; names of the hub stay whole.
std::string model_name(const std::string& path) {
  const bool folder = path.starts_with('/') || path.starts_with('~') || path.starts_with('.');
  return folder ? path.substr(path.find_last_of('/') + 1) : path;
}

/// Reads one loop's configuration by the terms of its dialect.
class PolicyReader {
 public:
  PolicyReader(Framework framework, TreeReader& in, const PlanImportOptions& options,
               ImportedPlan& plan)
      : framework_{framework},
        dialect_{dialect_of(framework, options.catalogs)},
        in_{in},
        options_{options},
        plan_{plan},
        job_{plan.job} {}

  void read(const LaunchSize& size, int host_gpus) {
    read_model();
    job_.name = plan_.model + "-post-training";
    read_batch();
    read_trainer();
    read_engine();
    read_machine(size, host_gpus);
    read_algorithm();
    in_.harmless(framework_);
    plan_.serving = serving_;
    plan_.post_training = steps_;
  }

 private:
  using Paths = std::vector<std::string_view>;

  [[nodiscard]] Paths paths_of(std::string_view says) const { return dialect_->keys_of(says); }
  [[nodiscard]] bool has(std::string_view says) const { return !paths_of(says).empty(); }
  [[nodiscard]] bool is(Framework framework) const { return framework_ == framework; }
  /// What the program takes where its configuration says nothing; 0: nothing is known.
  [[nodiscard]] int usual(std::string_view says) const {
    return static_cast<int>(parse_number(std::string(dialect_->usual(says))).value.value_or(0.0));
  }
  std::optional<int> count(std::string_view says) {
    return has(says) ? in_.integer(paths_of(says), 0, 100'000'000) : std::nullopt;
  }
  std::optional<double> number(std::string_view says) {
    return has(says) ? in_.number(paths_of(says)) : std::nullopt;
  }
  bool truth(std::string_view says, bool otherwise) {
    return has(says) ? in_.truth(paths_of(says), otherwise) : otherwise;
  }
  std::string text(std::string_view says) {
    return has(says) ? in_.text(paths_of(says)) : std::string();
  }
  void refuse(std::string_view says, std::string message) {
    in_.refuse(paths_of(says).front(), std::move(message));
  }
  /// A number that a step cannot do without.
  int needed(std::string_view says, const char* meaning) {
    if (usual(says) > 0) return count(says).value_or(usual(says));
    return in_.required(paths_of(says), 1, 100'000'000, meaning);
  }

  void read_model() {
    const YamlNode* const said = in_.take_first(paths_of("model"));
    plan_.model = options_.model;
    if (plan_.model.empty() && said != nullptr) plan_.model = model_name(said->text);
    if (plan_.model.empty()) return refuse("model", "is missing; give --model NAME");
    if (const auto shape = known_shape(plan_.model, options_)) {
      job_.model = *shape;
      plan_.model = shape->name;
    }
  }

  void read_batch() {
    steps_.loop = from_name<PolicyLoop>(std::string(name_of(framework_))).value_or(steps_.loop);
    steps_.prompts = needed("prompts", "prompts of a step");
    steps_.answers = count("answers").value_or(usual("answers"));
    steps_.epochs = std::max(1, count("epochs").value_or(1));
    const int samples = steps_.prompts * steps_.answers;
    int update = count("update_answers").value_or(samples);
    if (const auto prompts = count("update_prompts")) update = *prompts * steps_.answers;
    job_.training.global_batch = std::min(samples, std::max(1, update));
    read_lengths();
  }

  /// Configurations state limits; what answers are like, logs do.
  void read_lengths() {
    const int total = count("total_most").value_or(0);
    int answer = count("answer_most").value_or(usual("answer_most"));
    int prompt = count("prompt_most").value_or(usual("prompt_most"));
    if (answer <= 0) answer = total;
    if (answer <= 0) return refuse("answer_most", "is missing");
    const bool stated = prompt > 0;
    if (!stated) prompt = std::max(2, answer / 8);
    // Total lengths hold the prompt, too.
    if (total > 0) answer = std::min(answer, total - (prompt + 1) / 2);
    if (answer <= 0) return refuse("total_most", "leaves no room for answers");
    steps_.answer = {.mean = std::ceil(answer / 2.0), .variation = 0.7, .most = answer};
    steps_.prompt = {.mean = std::ceil(prompt / 2.0), .most = prompt};
    plan_.notes.assumed.push_back(
        fmt::format("answers of {:.0f} tokens, half of their limit, and prompts of {:.0f}{}: state "
                    "post_training.answer.tokens and prompt.tokens as your log shows them",
                    steps_.answer.mean, steps_.prompt.mean,
                    stated ? ", half of theirs" : ", of which no limit is stated"));
    read_rows(total > 0 ? total : prompt + answer);
  }

  void read_rows(int whole) {
    Training& training = job_.training;
    training.micro_batch = std::max(1, count("micro_batch").value_or(1));
    const int most = count("row_tokens").value_or(0);
    // Packed micro-batches of so many samples hold their tokens and no pads.
    const int row =
        truth("dynamic", !has("dynamic")) && most > 0 ? most : training.micro_batch * (whole / 2);
    const bool packs = truth("packs", is(Framework::verl) || is(Framework::nemo_rl));
    training.samples.layout = packs ? SampleLayout::packed : SampleLayout::padded;
    training.sequence = packs ? std::max(row, whole) : whole;
    if (packs) training.micro_batch = 1;
  }

  bool on_megatron() {
    if (is(Framework::slime)) return true;
    const std::string said = text("megatron");
    return said == "megatron" || said == "true";
  }

  void read_trainer() {
    const bool megatron = on_megatron();
    Parallel& parallel = job_.parallel;
    parallel.tensor = std::max(1, count("tensor").value_or(1));
    parallel.pipeline = std::max(1, count("pipeline").value_or(1));
    parallel.context = std::max(1, count("context").value_or(1));
    parallel.expert = std::max(1, count("expert").value_or(1));
    const auto expert_tensor = count("expert_tensor");
    if (parallel.expert > 1) parallel.expert_tensor = std::max(1, expert_tensor.value_or(1));
    parallel.sequence = truth("sequence_parallel", megatron) && parallel.tensor > 1;
    parallel.zero = megatron ? 1 : count("zero").value_or(3);
    if (is(Framework::openrlhf))
      choose_stack(plan_, "deepspeed-zero3", "OpenRLHF on DeepSpeed");
    else
      choose_stack(plan_, megatron ? "megatron-core" : "fsdp2",
                   std::string(title_of(framework_)) +
                       (megatron ? " on Megatron-Core" : " on PyTorch FSDP"));
    if (truth_of_recompute()) job_.memory.recompute.kind = RecomputeKind::full;
    const bool offload = truth("offload", steps_.placement == RolloutPlacement::colocated);
    rests_ = offload;
  }

  /// A flag, or Megatron-LM's granularity.
  bool truth_of_recompute() {
    if (is(Framework::slime)) return text("recompute") == "full";
    return truth("recompute", dialect_->usual("recompute") == "true");
  }

  void read_engine() {
    const std::string engine = text("engine");
    serving_.engine = is(Framework::slime) ? "sglang" : "vllm";
    if (engine == "sglang" || engine == "vllm")
      serving_.engine = engine;
    else if (!engine.empty())
      refuse("engine", "is an engine that is not modelled");
    const int tensor = is(Framework::verl) ? 2 : 1;
    serving_.layout.tensor = std::max(1, count("gen_tensor").value_or(tensor));
    serving_.layout.pipeline = std::max(1, count("gen_pipeline").value_or(1));
    serving_.layout.expert = std::max(1, count("gen_expert").value_or(1));
    serving_.memory_share = number("gen_memory");
    if (const auto most = count("gen_sequences")) serving_.batching.sequences = *most;
    serving_.cuda_graphs = !truth("gen_eager", false);
  }

  void read_machine(const LaunchSize& size, int host_gpus) {
    const int nodes = count("nodes").value_or(size.nodes.value_or(usual("nodes")));
    const int each = count("gpus_per_node").value_or(usual("gpus_per_node"));
    int gpus = options_.gpus.value_or(nodes * each);
    const int apart = read_placement(nodes, each, host_gpus);
    // NeMo-RL's cluster holds both sides, the others' sections are the trainer's alone.
    if (apart > 0 && is(Framework::nemo_rl)) gpus -= apart;
    steps_.generation_gpus = apart;
    const int model = job_.parallel.tensor * job_.parallel.context * job_.parallel.pipeline;
    if (gpus < model || gpus % model != 0)
      return refuse("nodes",
                    fmt::format("{} GPUs that train do not divide into replicas of {}; say "
                                "how many with --gpus",
                                gpus, model));
    job_.parallel.data = gpus / model;
  }

  /// GPUs that generate and do nothing else.
  int read_placement(int nodes, int each, int host_gpus) {
    const bool shares = truth("colocated", dialect_->usual("colocated") == "true");
    const auto own_nodes = count("generation_nodes");
    const auto own_each = count("generation_gpus_per_node");
    const int engines = count("engines").value_or(0);
    const int own = count("generation_gpus").value_or(0);
    const double staleness = number("staleness").value_or(0.0);
    steps_.partial_rollouts = truth("partial", false);
    if (shares && own_nodes.value_or(0) == 0) {
      steps_.offload = rests_;
      if (steps_.partial_rollouts) steps_.staleness = staleness;
      return 0;
    }
    steps_.placement = RolloutPlacement::separate;
    steps_.staleness = staleness;
    if (own > 0) return own;
    // OpenRLHF gives other roles GPUs of their own unless all share them.
    for (const char* role : {"ref_num_nodes", "ref.num_nodes", "critic_num_nodes",
                             "critic.num_nodes", "reward_num_nodes", "reward.num_nodes"})
      if (engines > 0 && in_.take(role) != nullptr)
        in_.refuse(role,
                   "roles on GPUs of their own are not modelled; with --colocate_all_models "
                   "they take turns");
    if (engines > 0) return engines * serving_.layout.gpus();
    if (own_nodes) return *own_nodes * own_each.value_or(each);
    if (own_each) return *own_each;
    refuse(has("colocated") ? "colocated" : "nodes",
           fmt::format("GPUs that generate are not stated, beside {} nodes of {}", nodes,
                       std::min(each, host_gpus)));
    return 0;
  }

  void read_algorithm() {
    const std::string said = text("algorithm");
    if (said == "gae" || (said.empty() && (is(Framework::verl) || is(Framework::openrlhf))))
      steps_.algorithm = PolicyAlgorithm::ppo;
    else if (said.starts_with("reinforce_plus_plus") || said == "reinforce++")
      steps_.algorithm = PolicyAlgorithm::reinforce_pp;
    else if (said == "rloo")
      steps_.algorithm = PolicyAlgorithm::rloo;
    if (has("reference")) steps_.reference = truth("reference", false);
    const bool scored = is(Framework::openrlhf) &&
                        in_.take_first({"reward.model_name_or_path", "reward_pretrain"}) != nullptr;
    steps_.reward_model = truth("reward_model", false) || scored;
  }

  Framework framework_;
  std::shared_ptr<const Dialect> dialect_;
  TreeReader& in_;
  const PlanImportOptions& options_;
  ImportedPlan& plan_;
  Job& job_;
  ServingPlan serving_;
  PostTrainingPlan steps_;
  bool rests_ = true;
};

/// Whether a command starts such a loop.
bool starts_loop(const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [](const std::string& word) {
    return word.starts_with("verl.") || word.starts_with("openrlhf.") ||
           word.starts_with("recipe.") || word.ends_with(".py");
  });
}

/// The words of a launch: overrides key=value of verl and NeMo-RL, arguments of the others.
YamlNode tree_of_launch(const NamedLaunch& launch, bool overrides) {
  YamlNode root = empty_map(launch.mark);
  std::vector<std::string> words = launch.before;
  words.insert(words.end(), launch.words.begin(), launch.words.end());
  // What a launcher (ray job submit) takes for itself ends with a double dash.
  if (const auto dashes = std::ranges::find(words, "--"); dashes != words.end())
    words.erase(words.begin(), dashes + 1);
  if (overrides) {
    for (const std::string& word : words)
      if (is_override(word)) put_override(root, word, launch.mark);
    return root;
  }
  std::vector<std::string> strays;
  for (const auto& [name, value] : arguments_of(words, strays)) {
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.text = value;
    node.mark = launch.mark;
    put_value(root, name, std::move(node));
  }
  return root;
}

/// A number, or what `${group.key}` stands for.
std::optional<double> factor_of(const YamlNode& root, std::string_view text) {
  const std::size_t start = text.find_first_not_of(' ');
  if (start == std::string_view::npos) return std::nullopt;
  text.remove_prefix(start);
  if (!text.starts_with("${")) return parse_number(text).value;
  const YamlNode* const node = node_at(root, text.substr(2, text.find('}') - 2));
  return node != nullptr ? parse_number(node->text).value : std::nullopt;
}

/// Numbers in quotes are numbers to OmegaConf, and NeMo-RL's ${mul:a, b} is their product.
void reckon(const YamlNode& root, YamlNode& node) {
  for (YamlEntry& entry : node.entries) reckon(root, entry.value);
  for (YamlNode& item : node.items) reckon(root, item);
  if (!node.is_scalar()) return;
  constexpr std::string_view product = "${mul:";
  const std::size_t comma = node.text.find(',');
  if (node.text.starts_with(product) && comma != std::string::npos) {
    const std::string_view text = node.text;
    const auto first = factor_of(root, text.substr(product.size(), comma - product.size()));
    const auto second = factor_of(root, text.substr(comma + 1, text.size() - comma - 2));
    if (first && second) node.text = fmt::format("{:.0f}", *first * *second);
  }
  if (parse_number(node.text).value) node.quoted = false;
}

struct PolicySource {
  YamlNode root;
  LaunchSize size;
};

/// A script that starts the loop, or its YAML, perhaps with overrides in the lines behind it.
std::optional<PolicySource> read_source(const ImportSource& source, Framework framework,
                                        const PlanImportOptions& options,
                                        Diagnostics& diagnostics) {
  const bool overrides = framework == Framework::verl || framework == Framework::nemo_rl;
  const Mark start{std::make_shared<const std::string>(source.name), 1, 1};
  if (!check_encoding(source.text, start, diagnostics)) return std::nullopt;
  std::string text = source.text;
  const std::vector<std::string> behind = split_overrides(text);
  const bool blank = text.find_first_not_of(" \n\t\r") == std::string::npos;
  Diagnostics yaml_problems;
  const auto parsed = parse_yaml(text, source.name, YamlLimits{}, yaml_problems);
  const bool is_map = parsed && yaml_problems.empty() && parsed->is_map();
  if (overrides && (blank || is_map)) {
    PolicySource result{blank ? empty_map(start) : *parsed, {}};
    for (const std::string& word : behind) put_override(result.root, word, start);
    resolve_references(result.root);
    const YamlNode whole = result.root;
    reckon(whole, result.root);
    return result;
  }
  const auto launch =
      find_launch(source, options, starts_loop,
                  std::string("no command starts ") + title_of(framework), diagnostics);
  if (!launch) return std::nullopt;
  return PolicySource{tree_of_launch(*launch, overrides), launch->size};
}

}  // namespace

ImportedScenario import_policy(Framework framework, const ImportSource& source,
                               const PlanImportOptions& options) {
  Diagnostics diagnostics;
  const auto read = read_source(source, framework, options, diagnostics);
  diagnostics.throw_if_any();
  const auto gpus = host_gpus(options, diagnostics);
  TreeReader in{read->root, diagnostics, options.left_out};
  ImportedPlan plan;
  if (gpus) PolicyReader{framework, in, options, plan}.read(read->size, *gpus);
  in.finish(options, plan.notes);
  return finish_import(std::move(plan), source, options, diagnostics);
}

}  // namespace foretrain
