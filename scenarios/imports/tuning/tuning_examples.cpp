// SPDX-License-Identifier: Apache-2.0
// Examples and epochs, which are the length of a run: LLaMA-Factory's hparams/data_args.py;
// ms-swift's data_args.py (`name#N`); Axolotl's schemas/datasets.py; slices of the datasets
// library.
#include "scenarios/imports/tuning/internal/tuning_examples.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/tuning/internal/tuning_reader.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain::tuning {
namespace {

std::optional<double> count_in(std::string_view text) {
  const auto parsed = parse_integer(std::string(text));
  if (!parsed.value || *parsed.value < 0) return std::nullopt;
  return static_cast<double>(*parsed.value);
}

std::optional<double> number_at(const YamlNode& root, std::string_view key) {
  const YamlNode* const node = node_at(root, key);
  return node == nullptr || !node->is_scalar() ? std::nullopt : parse_number(node->text).value;
}

/// "train[:1000]", "train[500:1500]": examples of a slice; nothing for a whole split or a share.
std::optional<double> slice_of(const std::string& split) {
  const auto open = split.find('[');
  const auto colon = split.find(':', open);
  if (open == std::string::npos || colon == std::string::npos || !split.ends_with(']'))
    return std::nullopt;
  const std::string from = split.substr(open + 1, colon - open - 1);
  const auto first = from.empty() ? std::optional(0.0) : count_in(from);
  const auto end = count_in(split.substr(colon + 1, split.size() - colon - 2));
  if (!first || !end || *end <= *first) return std::nullopt;
  return *end - *first;
}

/// Examples of all sets of a list; nothing where one has no number.
template <class Count>
std::optional<double> sum_of(const YamlNode* sets, const Count& count) {
  if (sets == nullptr || sets->items.empty()) return std::nullopt;
  double sum = 0.0;
  for (const YamlNode& set : sets->items) {
    const std::optional<double> examples = count(set);
    if (!examples) return std::nullopt;
    sum += *examples;
  }
  return sum;
}

std::optional<double> slices_of(const YamlNode* sets) {
  return sum_of(sets, [](const YamlNode& set) -> std::optional<double> {
    const YamlNode* const split = set.find("split");
    if (split == nullptr || set.find("shards") != nullptr) return std::nullopt;
    return slice_of(split->text);
  });
}

/// Words of a key as items, whether it is a list or a text.
YamlNode listed(const YamlNode& node) {
  YamlNode list = node;
  std::string word;
  for (const char c : node.text + " ")
    if (c != ' ' && c != ',')
      word += c;
    else if (!word.empty())
      list.items.push_back(text_node(std::exchange(word, {}), node.mark));
  return list;
}

std::optional<double> swift_examples(const YamlNode& root) {
  const YamlNode* const sets = node_at(root, "dataset");
  if (sets == nullptr || node_at(root, "cached_dataset") != nullptr) return std::nullopt;
  const YamlNode list = listed(*sets);
  return sum_of(&list, [](const YamlNode& set) -> std::optional<double> {
    const auto mark = set.text.rfind('#');
    return mark == std::string::npos ? std::nullopt : count_in(set.text.substr(mark + 1));
  });
}

std::optional<double> factory_examples(const YamlNode& root) {
  const YamlNode* const sets = node_at(root, "dataset");
  if (sets != nullptr && listed(*sets).items.size() > 1) return std::nullopt;
  return number_at(root, "max_samples");
}

std::optional<double> trainer_examples(const YamlNode& root) {
  if (const auto most = number_at(root, "max_train_samples")) return most;
  const YamlNode* const split = node_at(root, "dataset_train_split");
  if (split != nullptr) return slice_of(split->text);
  const YamlNode* const mixture = node_at(root, "dataset_mixture.datasets");
  return slices_of(mixture != nullptr ? mixture : node_at(root, "datasets"));
}

/// What is held back for evaluation: a share of the examples, or a number of them.
double held_back(const YamlNode& root, std::string_view key, double examples) {
  const double part = number_at(root, key).value_or(0.0);
  return part < 1.0 ? std::floor(part * examples) : part;
}

}  // namespace

std::optional<StatedExamples> stated_examples(Framework framework, const YamlNode& root) {
  const YamlNode* const streams = node_at(root, "streaming");
  if (streams != nullptr && lower_case(streams->text) == "true") return std::nullopt;
  std::optional<double> all;
  const char* words = "as many as the slices of its data have";
  const char* evaluated = "val_set_size";
  switch (framework) {
    case Framework::llamafactory:
      all = factory_examples(root);
      words = "as many as max_samples allows";
      evaluated = "val_size";
      break;
    case Framework::swift:
      all = swift_examples(root);
      words = "as many as dataset says (#N)";
      evaluated = "split_dataset_ratio";
      break;
    case Framework::axolotl:
      all = slices_of(node_at(root, "datasets"));
      break;
    default:
      all = trainer_examples(root);
      break;
  }
  if (!all) return std::nullopt;
  const double left = *all - held_back(root, evaluated, *all);
  return left < 1.0 ? std::nullopt : std::optional(StatedExamples{left, words});
}

/// Epochs of a known number of examples, in whole batches; of packed ones the number of rows is not
/// known, and rows of answers that a run generates are as many as it draws.
void TuningReader::read_epochs() {
  Training& training = job_.training;
  auto examples = stated_examples(framework_, files_.root);
  if (options_.examples)
    examples = StatedExamples{static_cast<double>(*options_.examples), "--examples"};
  const bool packs = std::ranges::any_of(
      keys_.packing, [&](std::string_view key) { return in_.truth({key}, false); });
  if (options_.examples && (packs || trainer_ == "grpo"))
    refuse(packs ? keys_.packing : keys_.objective,
           packs
               ? "packs examples into rows, so that their number (--examples) does not decide how "
                 "long the run is; write training.tokens"
               : "draws its answers, so that --examples does not decide how long the run is");
  if (packs || trainer_ == "grpo" || !examples || files_.openrlhf) return;
  double epochs = in_.number(keys_.epochs).value_or(keys_.usual_epochs);
  if (framework_ == Framework::swift)  // which stops there
    epochs = std::min(epochs, in_.number({"max_epochs"}).value_or(epochs));
  if (epochs <= 0.0) return;
  const double steps = std::ceil(epochs * std::ceil(examples->count / training.global_batch));
  training.tokens = steps * training.global_batch * training.sequence;
  assume(fmt::format("{:.0f} examples ({}), a row each, {:g} epochs: {:.0f} steps", examples->count,
                     examples->words, epochs, steps));
}

}  // namespace foretrain::tuning
