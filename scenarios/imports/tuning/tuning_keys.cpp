// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/tuning/tuning_keys.hpp"

#include "models/base/ranges.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain::tuning {
namespace {

/// What a framework takes without a key, in what the term says.
std::string_view usual_value(const DialectTerm& term) {
  const std::string_view said = meaning_of(term, term.usual);
  return said.empty() ? std::string_view(term.usual) : said;
}

double number_or(std::string_view text, double otherwise) {
  return parse_number(std::string(text)).value.value_or(otherwise);
}

/// Lists, or words apart by commas, of one thing.
Keys either(const Dialect& dialect, const char* list, const char* words) {
  Keys keys = dialect.keys_of(list);
  return keys.empty() ? dialect.keys_of(words) : keys;
}

void add_checkpointing(const Dialect& dialect, TuningKeys& keys) {
  const DialectTerm* const term = dialect.term("recompute");
  if (term == nullptr) return;
  keys.checkpoints = usual_value(*term) == "full";
  if (word_of(*term, "full") == "true") keys.checkpointing = dialect.keys_of("recompute");
}

void add_targets(const Dialect& dialect, TuningKeys& keys) {
  keys.targets = either(dialect, "targets", "target_words");
  keys.trained_too = either(dialect, "trained_too", "trained_words");
  const Keys all = dialect.keys_of("all_linear");
  if (!all.empty() && !contains(keys.targets, all.front())) keys.all_linear = all.front();
  keys.usual_all_linear =
      !dialect.usual("targets").empty() || !dialect.usual("target_words").empty();
}

TuningKeys keys_in(const std::shared_ptr<const Dialect>& dialect) {
  const Dialect& in = *dialect;
  const auto usual = [&](const char* says, double otherwise) {
    return number_or(in.usual(says), otherwise);
  };
  TuningKeys keys;
  keys.dialect = dialect;
  keys.title = in.name;
  keys.model = in.keys_of("model");
  keys.sequence = in.keys_of("sequence");
  keys.micro_batch = in.keys_of("micro_batch");
  keys.accumulation = in.keys_of("accumulation");
  keys.packing = in.keys_of("packing");
  keys.steps = in.keys_of("steps");
  keys.optimizer = in.keys_of("optimizer");
  keys.adapter = in.keys_of("adapter");
  keys.rank = in.keys_of("rank");
  keys.dropout = in.keys_of("dropout");
  keys.bits = in.keys_of("bits");
  keys.four_bits = in.keys_of("four_bits");
  keys.double_scales = in.keys_of("double_scales");
  keys.objective = in.keys_of("objective");
  keys.epochs = in.keys_of("epochs");
  keys.usual_epochs = usual("epochs", keys.usual_epochs);
  keys.usual_sequence = static_cast<int>(usual("sequence", keys.usual_sequence));
  keys.usual_micro_batch = static_cast<int>(usual("micro_batch", keys.usual_micro_batch));
  keys.usual_rank = static_cast<int>(usual("rank", keys.usual_rank));
  keys.usual_dropout = usual("dropout", keys.usual_dropout);
  keys.usual_half = in.usual("half") == "true";
  keys.usual_adapter = in.usual("adapter") == "lora";
  keys.usual_double_scales = in.usual("double_scales") == "true";
  add_checkpointing(in, keys);
  add_targets(in, keys);
  return keys;
}

}  // namespace

TuningKeys keys_of(Framework framework, const std::vector<std::filesystem::path>& catalogs) {
  return keys_in(dialect_of(framework, catalogs));
}

}  // namespace foretrain::tuning
