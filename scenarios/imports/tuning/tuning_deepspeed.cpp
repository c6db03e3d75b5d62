// SPDX-License-Identifier: Apache-2.0
// DeepSpeed under the Trainer: its own JSON, the few keys of accelerate's deepspeed_config, or the
// name of a file that a framework ships. Each becomes a DeepSpeed configuration that is read as
// `import deepspeed` reads one.
#include <string_view>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "models/base/text.hpp"
#include "scenarios/imports/frameworks/deepspeed_import.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/tuning/internal/tuning_reader.hpp"

namespace foretrain::tuning {
namespace {

YamlNode map_of(std::vector<YamlEntry> entries, const Mark& mark) {
  YamlNode node;
  node.kind = YamlNode::Kind::map;
  node.entries = std::move(entries);
  node.mark = mark;
  return node;
}

struct Written {
  const YamlNode* stage = nullptr;
  const YamlNode* states = nullptr;   ///< the device of offload_optimizer
  const YamlNode* weights = nullptr;  ///< that of offload_param
  const YamlNode* overlap = nullptr;
};

/// What a DeepSpeed file that a framework ships says, in the words of its dialect: "3 states
/// weights overlap".
struct Shipped {
  std::string_view stage;
  bool states, weights;  ///< on the host
  bool overlap;
};

/// The first of the dialect's names that a file begins with; nothing where none is shipped.
std::optional<Shipped> shipped_file(const Dialect& dialect, const std::string& file) {
  const DialectTerm* const term = dialect.term("deepspeed.shipped");
  if (term == nullptr) return std::nullopt;
  for (const auto& [name, says] : term->values) {
    const auto words = blank_words(says);
    if (words.empty() || !file.starts_with(name)) continue;
    return Shipped{words.front(), contains(words, "states"), contains(words, "weights"),
                   contains(words, "overlap")};
  }
  return std::nullopt;
}

/// The configuration that accelerate makes of its few keys: the rest is the Trainer's.
YamlNode deepspeed_configuration(const Written& written) {
  const Mark mark = written.stage->mark;
  std::vector<YamlEntry> zero{{"stage", mark, *written.stage}};
  const auto add = [&](const char* key, const YamlNode* device) {
    if (device != nullptr)
      zero.push_back({key, mark, map_of({{"device", mark, *device}}, device->mark)});
  };
  add("offload_optimizer", written.states);
  add("offload_param", written.weights);
  if (written.overlap != nullptr) zero.push_back({"overlap_comm", mark, *written.overlap});
  const YamlNode automatic = text_node("auto", mark);
  const YamlNode enabled = map_of({{"enabled", mark, automatic}}, mark);
  return map_of({{"zero_optimization", mark, map_of(std::move(zero), mark)},
                 {"bf16", mark, enabled},
                 {"fp16", mark, enabled},
                 {"train_micro_batch_size_per_gpu", mark, automatic},
                 {"gradient_accumulation_steps", mark, automatic}},
                mark);
}

/// The digit of "zero3", "ds_z3_config" or "stage3".
std::optional<char> stage_in(const std::string& name) {
  for (const std::string_view word : {"zero", "stage", "z"}) {
    const auto at = name.find(word);
    if (at == std::string::npos) continue;
    const auto digit = name.find_first_not_of("_-", at + word.size());
    if (digit != std::string::npos && name[digit] >= '0' && name[digit] <= '3') return name[digit];
  }
  return std::nullopt;
}

}  // namespace

bool TuningReader::uses_deepspeed() const {
  const YamlNode* const type = files_.root.find("distributed_type");
  const YamlNode* const name = files_.root.find("deepspeed");
  const YamlNode* const group = files_.root.find("deepspeed_config");
  const bool named = name != nullptr && !name->is_null() && !name->text.empty();
  const bool typed = type != nullptr && !type->is_null();
  const bool grouped = group != nullptr && !group->entries.empty() && !typed;
  return files_.deepspeed || named || grouped ||
         (typed && (type->text == "DEEPSPEED" || type->text == "deepspeed"));
}

/// What a shipped file says; others say their stage in their names, and with "offload" move the
/// optimizer to the host, at stage 3 the weights as well.
std::optional<YamlNode> TuningReader::deepspeed_of_name(const YamlNode& name) {
  std::string file = name.text.substr(name.text.find_last_of('/') + 1);
  if (const auto row = shipped_file(*keys_.dialect, file)) {
    const YamlNode digit = text_node(std::string(row->stage), name.mark);
    const YamlNode host = text_node("cpu", name.mark);
    const YamlNode overlap = text_node(row->overlap ? "true" : "false", name.mark);
    assume(fmt::format("{} as {} ships it: ZeRO stage {}, {} on the host, gradients reduced {}",
                       file, keys_.title, row->stage,
                       row->states && row->weights ? "optimizer and weights"
                       : row->states               ? "the optimizer"
                       : row->weights              ? "weights"
                                                   : "nothing",
                       row->overlap ? "beside the backward pass" : "behind the backward pass"));
    return deepspeed_configuration(
        {&digit, row->states ? &host : nullptr, row->weights ? &host : nullptr, &overlap});
  }
  const auto stage = stage_in(file);
  const bool partly = file.find("offload_param") != std::string::npos;
  if (!stage || partly) {
    in_.refuse(said({"deepspeed", "deepspeed_config.deepspeed_config_file"}),
               "cannot infer what the DeepSpeed file " + in_quotes(file) +
                   " says, and it is not beside this file; pass it as a further file");
    return std::nullopt;
  }
  const YamlNode digit = text_node(std::string(1, *stage), name.mark);
  const YamlNode host = text_node("cpu", name.mark);
  const bool away =
      file.find("offload") != std::string::npos && file.find("no_offload") == std::string::npos;
  assume(fmt::format("ZeRO stage {}{} by the name of {}, which is not beside this file", *stage,
                     away ? " with offload" : "", file));
  return deepspeed_configuration(
      {&digit, away ? &host : nullptr, away && *stage == '3' ? &host : nullptr, nullptr});
}

void TuningReader::read_deepspeed(Diagnostics& diagnostics) {
  const YamlNode* name = in_.take("deepspeed");
  const YamlNode* const file = in_.take("deepspeed_config.deepspeed_config_file");
  if (name == nullptr) name = file;
  Written written{in_.take("deepspeed_config.zero_stage"),
                  in_.take("deepspeed_config.offload_optimizer_device"),
                  in_.take("deepspeed_config.offload_param_device"), nullptr};
  if (!deepspeed_) {
    if (written.stage != nullptr)
      in_.refuse("deepspeed_config.zero_stage",
                 "has no effect where distributed_type is not DEEPSPEED");
    return;
  }
  std::optional<YamlNode> root = files_.deepspeed;
  if (root && written.stage != nullptr)
    in_.refuse("deepspeed_config.zero_stage",
               "stands beside the DeepSpeed file " + root->mark.origin() + "; leave one of them");
  const YamlNode usual = text_node("2", files_.root.mark);
  if (!root && name != nullptr) root = deepspeed_of_name(*name);
  if (!root && name == nullptr) {
    if (written.stage == nullptr) {
      assume("ZeRO stage 2, accelerate's default");
      written.stage = &usual;
    }
    root = deepspeed_configuration(written);
  }
  if (!root) return;
  DeepSpeedGiven given;
  given.micro = {job_.training.micro_batch, place_of(keys_.micro_batch)};
  given.gathered = {job_.training.global_batch / job_.training.micro_batch / job_.parallel.data,
                    place_of(keys_.accumulation)};
  const Precision precision = job_.training.precision;
  given.trainer = true;
  const bool eight = precision == Precision::fp8;
  given.precision = precision == Precision::tf32 ? Precision::fp32
                    : eight                      ? Precision::bf16
                                                 : precision;
  given.precision_place = place_of({"bf16", "fp16", "mixed_precision", "torch_dtype"});
  read_deepspeed_tree(*root, given, options_, plan_, diagnostics);
  if (precision == Precision::tf32 || eight) job_.training.precision = precision;
}

}  // namespace foretrain::tuning
