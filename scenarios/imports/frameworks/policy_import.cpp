// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/importers.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "scenarios/imports/frameworks/internal/policy_words.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"
#include "scenarios/imports/shell/launch_line.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

using policy::Paths;
using policy::policy_words;
using policy::PolicyWords;

/// The last part of a path of folders that holds a model; names of the hub stay whole.
std::string model_name(const std::string& path) {
  const bool folder = path.starts_with('/') || path.starts_with('~') || path.starts_with('.');
  return folder ? path.substr(path.find_last_of('/') + 1) : path;
}

class PolicyReader {
 public:
  PolicyReader(const PolicyWords& words, TreeReader& in, const PlanImportOptions& options,
               ImportedPlan& plan)
      : words_{words}, in_{in}, options_{options}, plan_{plan}, job_{plan.job} {}

  void read(const LaunchSize& size, int host_gpus) {
    read_model();
    job_.name = plan_.model + "-post-training";
    read_batch();
    read_trainer();
    read_engine();
    read_machine(size, host_gpus);
    read_algorithm();
    in_.harmless(words_.framework);
    plan_.serving = serving_;
    plan_.post_training = steps_;
  }

 private:
  std::optional<int> count(const Paths& paths) {
    return paths.empty() ? std::nullopt : in_.integer(paths, 0, 100'000'000);
  }
  bool truth(const Paths& paths, bool otherwise) {
    return paths.empty() ? otherwise : in_.truth(paths, otherwise);
  }
  std::string text(const Paths& paths) { return paths.empty() ? std::string() : in_.text(paths); }
  /// A number that a step cannot do without.
  int needed(const Paths& paths, int usual, const char* meaning) {
    if (usual > 0) return count(paths).value_or(usual);
    return in_.required(paths, 1, 100'000'000, meaning);
  }

  void read_model() {
    const YamlNode* const said = in_.take_first(words_.model);
    plan_.model = options_.model;
    if (plan_.model.empty() && said != nullptr) plan_.model = model_name(said->text);
    if (plan_.model.empty())
      return in_.refuse(words_.model.front(), "is missing; give --model NAME");
    if (const auto shape = known_shape(plan_.model, options_)) {
      job_.model = *shape;
      plan_.model = shape->name;
    }
  }

  void read_batch() {
    steps_.loop = words_.loop;
    steps_.prompts = needed(words_.prompts, words_.usual_prompts, "prompts of a step");
    steps_.answers = count(words_.answers).value_or(words_.usual_answers);
    steps_.epochs = std::max(1, count(words_.epochs).value_or(1));
    const int samples = steps_.prompts * steps_.answers;
    int update = count(words_.update_answers).value_or(samples);
    if (const auto prompts = count(words_.update_prompts)) update = *prompts * steps_.answers;
    job_.training.global_batch = std::min(samples, std::max(1, update));
    read_lengths();
  }

  /// Configurations state limits; what answers are like, logs do.
  void read_lengths() {
    const int total = count(words_.total_most).value_or(0);
    int answer = count(words_.answer_most).value_or(words_.usual_answer);
    int prompt = count(words_.prompt_most).value_or(words_.usual_prompt);
    if (answer <= 0) answer = total;
    if (answer <= 0) return in_.refuse(words_.answer_most.front(), "is missing");
    const bool stated = prompt > 0;
    if (!stated) prompt = std::max(2, answer / 8);
    // Total lengths hold the prompt, too.
    if (total > 0) answer = std::min(answer, total - (prompt + 1) / 2);
    if (answer <= 0) return in_.refuse(words_.total_most.front(), "leaves no room for answers");
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
    training.micro_batch = std::max(1, count(words_.micro_batch).value_or(1));
    const int most = count(words_.row_tokens).value_or(0);
    // Packed micro-batches of so many samples hold their tokens and no pads.
    const int row = truth(words_.dynamic, words_.dynamic.empty()) && most > 0
                        ? most
                        : training.micro_batch * (whole / 2);
    const bool packs = truth(words_.packs, words_.framework == Framework::verl ||
                                               words_.framework == Framework::nemo_rl);
    training.samples.layout = packs ? SampleLayout::packed : SampleLayout::padded;
    training.sequence = packs ? std::max(row, whole) : whole;
    if (packs) training.micro_batch = 1;
  }

  bool on_megatron() {
    if (words_.framework == Framework::slime) return true;
    const std::string said = text(words_.megatron);
    return said == "megatron" || said == "true";
  }

  void read_trainer() {
    const bool megatron = on_megatron();
    Parallel& parallel = job_.parallel;
    parallel.tensor = std::max(1, count(words_.tensor).value_or(1));
    parallel.pipeline = std::max(1, count(words_.pipeline).value_or(1));
    parallel.context = std::max(1, count(words_.context).value_or(1));
    parallel.expert = std::max(1, count(words_.expert).value_or(1));
    const auto expert_tensor = count(words_.expert_tensor);
    if (parallel.expert > 1) parallel.expert_tensor = std::max(1, expert_tensor.value_or(1));
    parallel.sequence = truth(words_.sequence_parallel, megatron) && parallel.tensor > 1;
    parallel.zero = megatron ? 1 : count(words_.zero).value_or(3);
    if (words_.framework == Framework::openrlhf)
      choose_stack(plan_, "deepspeed-zero3", "OpenRLHF on DeepSpeed");
    else
      choose_stack(plan_, megatron ? "megatron-core" : "fsdp2",
                   std::string(title_of(words_.framework)) +
                       (megatron ? " on Megatron-Core" : " on PyTorch FSDP"));
    if (truth_of_recompute()) job_.memory.recompute.kind = RecomputeKind::full;
    const bool offload = truth(words_.offload, steps_.placement == RolloutPlacement::colocated);
    rests_ = offload;
  }

  /// A flag, or Megatron-LM's granularity.
  bool truth_of_recompute() {
    if (words_.framework == Framework::slime) return text(words_.recompute) == "full";
    return truth(words_.recompute, words_.usually_recomputes);
  }

  void read_engine() {
    const std::string engine = text(words_.engine);
    serving_.engine = words_.framework == Framework::slime ? "sglang" : "vllm";
    if (engine == "sglang" || engine == "vllm")
      serving_.engine = engine;
    else if (!engine.empty())
      in_.refuse(words_.engine.front(), "is an engine that is not modelled");
    const int tensor = words_.framework == Framework::verl ? 2 : 1;
    serving_.layout.tensor = std::max(1, count(words_.gen_tensor).value_or(tensor));
    serving_.layout.pipeline = std::max(1, count(words_.gen_pipeline).value_or(1));
    serving_.layout.expert = std::max(1, count(words_.gen_expert).value_or(1));
    if (!words_.gen_memory.empty()) serving_.memory_share = in_.number(words_.gen_memory);
    if (const auto most = count(words_.gen_sequences)) serving_.batching.sequences = *most;
    serving_.cuda_graphs = !truth(words_.gen_eager, false);
  }

  void read_machine(const LaunchSize& size, int host_gpus) {
    const int nodes = count(words_.nodes).value_or(size.nodes.value_or(words_.usual_nodes));
    const int each = count(words_.gpus_per_node).value_or(words_.usual_gpus);
    int gpus = options_.gpus.value_or(nodes * each);
    const int apart = read_placement(nodes, each, host_gpus);
    // NeMo-RL's cluster holds both sides, the others' sections are the trainer's alone.
    if (apart > 0 && words_.framework == Framework::nemo_rl) gpus -= apart;
    steps_.generation_gpus = apart;
    const int model = job_.parallel.tensor * job_.parallel.context * job_.parallel.pipeline;
    if (gpus < model || gpus % model != 0)
      return in_.refuse(words_.nodes.front(),
                        fmt::format("{} GPUs that train do not divide into replicas of {}; say "
                                    "how many with --gpus",
                                    gpus, model));
    job_.parallel.data = gpus / model;
  }

  /// GPUs that generate and do nothing else.
  int read_placement(int nodes, int each, int host_gpus) {
    const bool shares = truth(words_.colocated, words_.usually_colocated);
    const auto own_nodes = count(words_.generation_nodes);
    const auto own_each = count(words_.generation_gpus_per_node);
    const int engines = count(words_.engines).value_or(0);
    const int own = count(words_.generation_gpus).value_or(0);
    const double staleness =
        words_.staleness.empty() ? 0.0 : in_.number(words_.staleness).value_or(0.0);
    steps_.partial_rollouts = truth(words_.partial, false);
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
    in_.refuse(words_.colocated.empty() ? words_.nodes.front() : words_.colocated.front(),
               fmt::format("GPUs that generate are not stated, beside {} nodes of {}", nodes,
                           std::min(each, host_gpus)));
    return 0;
  }

  void read_algorithm() {
    const std::string said = text(words_.algorithm);
    if (said == "gae" || (said.empty() && (words_.framework == Framework::verl ||
                                           words_.framework == Framework::openrlhf)))
      steps_.algorithm = PolicyAlgorithm::ppo;
    else if (said.starts_with("reinforce_plus_plus") || said == "reinforce++")
      steps_.algorithm = PolicyAlgorithm::reinforce_pp;
    else if (said == "rloo")
      steps_.algorithm = PolicyAlgorithm::rloo;
    if (!words_.reference.empty()) steps_.reference = truth(words_.reference, false);
    const bool scored = words_.framework == Framework::openrlhf &&
                        in_.take_first({"reward.model_name_or_path", "reward_pretrain"}) != nullptr;
    steps_.reward_model = truth(words_.reward_model, false) || scored;
  }

  const PolicyWords& words_;
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
std::optional<PolicySource> read_source(const ImportSource& source, const PolicyWords& words,
                                        const PlanImportOptions& options,
                                        Diagnostics& diagnostics) {
  const bool overrides =
      words.framework == Framework::verl || words.framework == Framework::nemo_rl;
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
                  std::string("no command starts ") + title_of(words.framework), diagnostics);
  if (!launch) return std::nullopt;
  return PolicySource{tree_of_launch(*launch, overrides), launch->size};
}

}  // namespace

ImportedScenario import_policy(Framework framework, const ImportSource& source,
                               const PlanImportOptions& options) {
  const auto words = std::ranges::find_if(
      policy_words(), [&](const PolicyWords& row) { return row.framework == framework; });
  Diagnostics diagnostics;
  const auto read = read_source(source, *words, options, diagnostics);
  diagnostics.throw_if_any();
  const auto gpus = host_gpus(options, diagnostics);
  TreeReader in{read->root, diagnostics, options.left_out};
  ImportedPlan plan;
  if (gpus) PolicyReader{*words, in, options, plan}.read(read->size, *gpus);
  in.finish(options, plan.notes);
  return finish_import(std::move(plan), source, options, diagnostics);
}

}  // namespace foretrain
