// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/dialect.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/base/ranges.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

constexpr int largest_number = 1'000'000'000;

/// Whether a key has another value than a job without a word has.
bool unusual(const KeyRow& row, const Job& job) {
  static const Job usual;
  return plan_key_text(row, job) != plan_key_text(row, usual);
}

/// What a scenario says for a framework's word; nothing where it has none.
const std::string* meaning_of(const DialectKey& key, const std::string& word) {
  for (const auto& [theirs, ours] : key.values)
    if (lower_case(theirs) == lower_case(word)) return &ours;
  return nullptr;
}

using WordPair = std::pair<std::string, std::string>;

/// Words, or what they mean in scenarios, each once.
std::string legal_words(const std::vector<WordPair>& values, std::string WordPair::*side) {
  std::vector<std::string> words;
  for (const WordPair& pair : values)
    if (!contains(words, pair.*side)) words.push_back(pair.*side);
  if (words.size() < 2) return joined(words);
  const std::string last = std::move(words.back());
  words.pop_back();
  return joined(words) + " and " + last;
}

/// Reads one key; nothing where the job stays as it is.
class DialectReader {
 public:
  DialectReader(const DialectKey& key, TreeReader& in)
      : key_{key}, field_{key.means->field}, in_{in}, names_(key.keys.begin(), key.keys.end()) {}

  std::optional<FieldValue> read(bool counts) {
    if (!key_.needs.empty()) in_.require(names_, key_.needs.c_str());
    const YamlNode* const node = in_.take_first(names_);
    const bool silent = node == nullptr || (node->is_scalar() && node->text.empty());
    if (!counts || (silent && key_.usual.empty())) return std::nullopt;
    if (!key_.values.empty()) return worded(node);
    if (field_.kind == FieldKind::boolean) return truth();
    if (field_.kind == FieldKind::integer) return whole(node);
    return plain(node == nullptr ? key_.usual : node->text, node);
  }

 private:
  std::optional<FieldValue> refused(const YamlNode* node, const std::string& error) {
    if (node != nullptr) in_.refuse(name_of(node), error);
    return std::nullopt;
  }

  /// The name that the file uses.
  std::string_view name_of(const YamlNode* node) {
    for (const std::string_view name : names_)
      if (in_.take(name) == node) return name;
    return names_.front();
  }

  std::optional<FieldValue> worded(const YamlNode* node) {
    const std::string& word = node == nullptr ? key_.usual : node->text;
    auto value = dialect_value(key_, word);
    return value.value ? std::move(value.value) : refused(node, value.error);
  }

  std::optional<FieldValue> truth() {
    FieldValue value;
    value.field = &field_;
    value.boolean = in_.truth(names_, key_.usual == "true");
    return value;
  }

  std::optional<FieldValue> whole(const YamlNode* node) {
    const double most = std::min<double>(field_.max.value_or(largest_number), largest_number);
    if (node == nullptr) return plan_key_value(*key_.means, key_.usual).value;
    FieldValue value;
    value.field = &field_;
    const auto number =
        in_.integer(names_, static_cast<int>(field_.min.value_or(0.0)), static_cast<int>(most));
    if (!number) return std::nullopt;
    value.number = *number;
    return value;
  }

  std::optional<FieldValue> plain(const std::string& word, const YamlNode* node) {
    auto value = dialect_value(key_, word, node == nullptr ? Mark{} : node->mark);
    return value.value ? std::move(value.value) : refused(node, value.error);
  }

  const DialectKey& key_;
  const Field& field_;
  TreeReader& in_;
  std::vector<std::string_view> names_;
};

/// What a framework writes for a value of a scenario; nothing where it has no word.
std::optional<std::string> word_of(const DialectKey& key, const std::string& text) {
  if (key.values.empty() && key.unit.empty()) return text;
  if (!key.unit.empty()) {
    const Dimension dimension = key.means->field.dimension;
    const auto value = parse_quantity(text, dimension);
    const auto one = parse_quantity("1 " + key.unit, dimension);
    return format_number(value.value.value_or(0.0) / one.value.value_or(1.0));
  }
  for (const auto& [theirs, ours] : key.values)
    if (ours == text) return theirs;
  return std::nullopt;
}

bool is_word(const std::string& text) {
  return text != "true" && text != "false" && !parse_number(text).value;
}

/// Whether a key, or a group above it, is among those that are said.
bool is_said(std::string_view path, const SaidKeys& said) {
  for (;;) {
    if (said.contains(path)) return true;
    const auto dot = path.rfind('.');
    if (dot == std::string_view::npos) return false;
    path = path.substr(0, dot);
  }
}

}  // namespace

bool is_switch(const DialectKey& key) {
  return key.values.empty() ? key.means->field.kind == FieldKind::boolean
                            : meaning_of(key, "true") != nullptr;
}

bool key_counts(const DialectKey& key, const Job& job) {
  return key.with == nullptr || unusual(*key.with, job);
}

bool has_word(const DialectKey& key, const std::string& word) {
  return key.values.empty() || meaning_of(key, word) != nullptr;
}

std::string unknown_word(const DialectKey& key, const std::string& word) {
  return fmt::format("{} is not modelled: {} {}", in_quotes(word),
                     legal_words(key.values, &WordPair::first),
                     key.values.size() > 1 ? "are" : "is");
}

Parsed<FieldValue> dialect_value(const DialectKey& key, const std::string& word, const Mark& mark) {
  if (!has_word(key, word)) return {{}, unknown_word(key, word)};
  const std::string& text = key.values.empty() ? word : *meaning_of(key, word);
  return plan_key_value(*key.means, key.unit.empty() ? text : text + " " + key.unit, mark);
}

const DialectKey* Dialect::key(std::string_view word) const {
  const auto found =
      std::ranges::find_if(keys, [&](const DialectKey& row) { return contains(row.keys, word); });
  return found == keys.end() ? nullptr : &*found;
}

const DialectTerm* Dialect::term(std::string_view says) const {
  const auto found = std::ranges::find(terms, says, &DialectTerm::says);
  return found == terms.end() ? nullptr : &*found;
}

std::vector<std::string_view> Dialect::keys_of(std::string_view says) const {
  const DialectTerm* const found = term(says);
  if (found == nullptr) return {};
  return {found->keys.begin(), found->keys.end()};
}

std::string_view Dialect::usual(std::string_view says) const {
  const DialectTerm* const found = term(says);
  return found == nullptr ? std::string_view() : std::string_view(found->usual);
}

std::optional<std::string> word_of(const DialectTerm& term, std::string_view value) {
  if (term.values.empty()) return std::string(value);
  for (const auto& [word, said] : term.values)
    if (said == value) return word;
  return std::nullopt;
}

std::string_view meaning_of(const DialectTerm& term, std::string_view word) {
  for (const auto& [known, said] : term.values)
    if (known == word) return said;
  return {};
}

std::vector<std::string> meanings_of(const DialectTerm& term, std::string_view word) {
  std::vector<std::string> meanings;
  for (const auto& [known, said] : term.values)
    if (known == word) meanings.push_back(said);
  return meanings;
}

std::vector<std::string> words_of(const DialectTerm& term, const std::vector<std::string>& values,
                                  std::vector<std::string>& said) {
  std::vector<std::string> words;
  for (const auto& [word, value] : term.values) {
    const auto meanings = meanings_of(term, word);
    if (contains(words, word) ||
        !std::ranges::all_of(meanings, [&](const auto& one) { return contains(values, one); }))
      continue;
    words.push_back(word);
    said.insert(said.end(), meanings.begin(), meanings.end());
  }
  return words;
}

std::string legal_words(const DialectTerm& term) {
  return legal_words(term.values, &WordPair::first);
}

void read_dialect(const Dialect& dialect, TreeReader& in, Job& job) {
  for (const FixedKey& key : dialect.fixed)
    if (!key.is.empty()) set_plan_key(*key.means, *plan_key_value(*key.means, key.is).value, job);
  for (const DialectKey& key : dialect.keys)
    if (const auto value = DialectReader(key, in).read(key_counts(key, job)))
      set_plan_key(*key.means, *value, job);
}

void set_batch(std::string_view path, int micro_batches, std::optional<int> steps, TreeReader& in,
               Job& job) {
  Training& training = job.training;
  const double batch = 1.0 * training.micro_batch * micro_batches * job.parallel.data;
  if (batch > 1e8) return in.refuse(path, "gives a global batch above 100,000,000");
  training.global_batch = static_cast<int>(batch);
  if (steps && *steps > 0)
    training.tokens = 1.0 * *steps * training.global_batch * training.sequence;
}

std::vector<std::string> unsaid_keys(const Job& job, const SaidKeys& said) {
  // Where data leaves a host is the machine's, and which program runs is what is asked for.
  static const SaidKeys elsewhere{"communication.transport", "parallel.framework"};
  Job usual;
  usual.training.precision = job.training.precision;
  std::vector<std::string> keys;
  for (const PlanKeyText& key : unlike_plan_keys(job, usual))
    if (!is_said(key.path, said) && !elsewhere.contains(key.path))
      keys.push_back(key.path + ": " + key.text);
  return keys;
}

namespace {

/// Writes one key, where its value has to be said.
void write_key(const DialectKey& key, const Job& job, const std::string& program,
               DialectText& out) {
  const std::string text = plan_key_text(*key.means, job);
  // Left out, some keys mean what no value of theirs says.
  const bool absent = key.written == DialectWritten::unusual &&
                      key.means->field.default_text.empty() && !unusual(*key.means, job);
  if (!key_counts(key, job) || text.empty() || absent) return;
  const auto word = word_of(key, text);
  if (!word)
    out.refused.push_back(fmt::format("{}: {} ({} has {})", key.means->field.path, text, program,
                                      legal_words(key.values, &WordPair::second)));
  else if (key.written == DialectWritten::always || lower_case(*word) != lower_case(key.usual))
    out.words.push_back({key.keys.front(), *word, is_word(*word)});
}

/// Says what a framework has in place of another value.
void tell_fixed(const FixedKey& key, const Job& job, const std::string& program, DialectText& out) {
  const std::string is = key.is.empty() ? plan_key_text(*key.means, Job{}) : key.is;
  const std::string text = plan_key_text(*key.means, job);
  if (text == is) return;
  out.left_out.push_back(
      !key.left_out.empty()
          ? key.left_out
          : fmt::format("{}: {}, which {} fixes to {}", key.means->field.path, text, program, is));
}

}  // namespace

DialectText write_keys(const Dialect& dialect, const Job& job, const SaidKeys& said) {
  DialectText out;
  for (const DialectKey& key : dialect.keys)
    if (key.written != DialectWritten::never && !is_said(key.means->field.path, said))
      write_key(key, job, dialect.name, out);
  return out;
}

DialectText write_dialect(const Dialect& dialect, const Job& job, const SaidKeys& said) {
  DialectText out = write_keys(dialect, job, said);
  SaidKeys done = said;
  for (const DialectKey& key : dialect.keys)
    if (key.written != DialectWritten::never) done.insert(key.means->field.path);
  for (const FixedKey& key : dialect.fixed) {
    done.insert(key.means->field.path);
    tell_fixed(key, job, dialect.name, out);
  }
  for (std::string& key : unsaid_keys(job, done)) out.refused.push_back(std::move(key));
  return out;
}

namespace {

std::string yaml_lines(const DialectWords& words, const std::string& indent) {
  std::string text;
  for (const WordGroup& group : groups_of(words))
    if (group.words.front().key.empty())
      text += fmt::format("{}{}: {}\n", indent, group.name, group.words.front().text);
    else
      text += fmt::format("{}{}:\n", indent, group.name) + yaml_lines(group.words, indent + "  ");
  return text;
}

}  // namespace

std::vector<WordGroup> groups_of(const DialectWords& words) {
  std::vector<WordGroup> groups;
  for (const DialectWord& word : words) {
    const auto dot = word.key.find('.');
    const std::string name = word.key.substr(0, dot);
    auto group = std::ranges::find(groups, name, &WordGroup::name);
    if (group == groups.end()) group = groups.insert(groups.end(), {name, {}});
    group->words.push_back(
        {dot == std::string::npos ? "" : word.key.substr(dot + 1), word.text, word.quoted});
  }
  return groups;
}

std::string as_toml(const DialectWords& words) {
  std::string text;
  for (const WordGroup& group : groups_of(words)) {
    text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", group.name);
    for (const DialectWord& word : group.words)
      text += fmt::format("{} = {}\n", word.key,
                          word.quoted ? fmt::format("\"{}\"", word.text) : word.text);
  }
  return text;
}

std::string as_yaml(const DialectWords& words) { return yaml_lines(words, ""); }

}  // namespace foretrain
