// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base/names.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"
#include "scenarios/sections/plan_keys.hpp"

namespace foretrain {

/// When an export writes a key of a framework.
enum class DialectWritten {
  unusual,  ///< where it is not what the framework takes without it
  always,
  never  ///< an import alone reads it
};
FORETRAIN_ENUM_NAMES(DialectWritten, {DialectWritten::unusual, "unusual"},
                     {DialectWritten::always, "always"}, {DialectWritten::never, "never"});

/// A key of a framework that means one of a scenario: the row that imports and exports read.
struct DialectKey {
  const KeyRow* means = nullptr;
  std::vector<std::string> keys;  ///< its names, the newest first: exports write that
  std::string usual;              ///< what the framework takes without it; empty: nothing is known
  std::vector<std::pair<std::string, std::string>> values;  ///< its words, and a scenario's
  std::string unit;                                         ///< of its bare numbers
  std::string needs;             ///< what is missing where it is left out; empty: it may be
  const KeyRow* with = nullptr;  ///< counts where this key is not at its default
  DialectWritten written = DialectWritten::unusual;
};

/// Whether it is a switch, whose words are true and false.
[[nodiscard]] bool is_switch(const DialectKey& key);
/// Whether it counts beside what a job has.
[[nodiscard]] bool key_counts(const DialectKey& key, const Job& job);
/// Whether a framework has this word there; one without a list has any.
[[nodiscard]] bool has_word(const DialectKey& key, const std::string& word);
/// "'x' is not modelled: a and b are". @pre !has_word(key, word)
[[nodiscard]] std::string unknown_word(const DialectKey& key, const std::string& word);
/// The value that one of its words means, or what is wrong with it.
[[nodiscard]] Parsed<FieldValue> dialect_value(const DialectKey& key, const std::string& word,
                                               const Mark& mark = {});

/// A key of a scenario that a framework has no word for.
struct FixedKey {
  const KeyRow* means = nullptr;
  std::string is;        ///< what runs of it have; empty: what the scenario's default is
  std::string left_out;  ///< how exports of something else say so
};

/// What a framework says that is no single key of a scenario, by a name that functions know: what
/// several frameworks of one kind all have.
struct DialectTerm {
  std::string says;
  std::vector<std::string> keys;  ///< the newest first; none: its runs have it without a word
  std::string usual;              ///< what the framework takes without it, in its words
  std::vector<std::pair<std::string, std::string>> values;  ///< its words, and what they say
};

/// How a framework says a plan: scenarios/dialects/NAME.yaml.
struct Dialect {
  std::string name;
  std::vector<DialectKey> keys;
  std::vector<DialectTerm> terms;
  std::vector<FixedKey> fixed;
  std::vector<std::string> includes;  ///< dialects whose keys without effect it has as well
  KeyTable others;                    ///< keys that mean none of a scenario

  /// The row that one of its keys stands in; null where none does.
  [[nodiscard]] const DialectKey* key(std::string_view word) const;
  /// Null where it has no word for it.
  [[nodiscard]] const DialectTerm* term(std::string_view says) const;
  /// The keys of a term, and what the framework takes without them; empty where it has none. They
  /// live as long as the dialect.
  [[nodiscard]] std::vector<std::string_view> keys_of(std::string_view says) const;
  [[nodiscard]] std::string_view usual(std::string_view says) const;
};

/// The word that a term has for a value: itself, where it lists none; nothing where it has none.
[[nodiscard]] std::optional<std::string> word_of(const DialectTerm& term, std::string_view value);
/// What one of its words says; empty where it is not listed.
[[nodiscard]] std::string_view meaning_of(const DialectTerm& term, std::string_view word);
/// Its words of all whose values a set has, in its order; a word stands in a pair for each of its
/// values. `said` gets those values.
[[nodiscard]] std::vector<std::string> words_of(const DialectTerm& term,
                                                const std::vector<std::string>& values,
                                                std::vector<std::string>& said);
/// All that one of its words says; nothing where it is not listed.
[[nodiscard]] std::vector<std::string> meanings_of(const DialectTerm& term, std::string_view word);
/// "a, b and c": what it has words for.
[[nodiscard]] std::string legal_words(const DialectTerm& term);

/// Empty where a framework has no such file.
/// @param catalogs folders whose dialects/NAME.yaml add rows, which count before shipped ones
/// @throws ScenarioError when one of the files is broken
[[nodiscard]] std::shared_ptr<const Dialect> dialect_of(
    Framework framework, const std::vector<std::filesystem::path>& catalogs = {});

/// The shipped one of that name. @throws ScenarioError where there is none
[[nodiscard]] std::shared_ptr<const Dialect> dialect_named(
    const std::string& name, const std::vector<std::filesystem::path>& catalogs = {});

/// What is known of the keys of a framework that its importer does not read.
/// @param more further dialects by name, which no framework includes
/// @throws ScenarioError when one of the files is broken
[[nodiscard]] KeyTable key_table(Framework framework,
                                 const std::vector<std::filesystem::path>& catalogs,
                                 const std::vector<std::string>& more = {});

/// Gives a job what the rows say: values that are there, else those that the framework takes.
/// What is illegal is reported at its line.
void read_dialect(const Dialect& dialect, TreeReader& in, Job& job);

/// The batch of as many micro-batches on every replica, and the length of a run of `steps`; one
/// that is too large is reported at `path`. @pre micro-batch and replicas are set
void set_batch(std::string_view path, int micro_batches, std::optional<int> steps, TreeReader& in,
               Job& job);

/// A key of a framework with its value.
struct DialectWord {
  std::string key, text;
  bool quoted = false;  ///< a word, which some formats put in quotes
};

using DialectWords = std::vector<DialectWord>;

/// A plan in a framework's words.
struct DialectText {
  DialectWords words;
  std::vector<std::string> refused;   ///< what it has no word for and changes memory or time
  std::vector<std::string> left_out;  ///< sentences: what it fixes otherwise
};

/// Keys of scenarios, or groups of them.
using SaidKeys = std::set<std::string, std::less<>>;

/// "parallel.zero: 3": the keys of a plan that are not among these, and differ from those of a
/// plain job of the same precision.
[[nodiscard]] std::vector<std::string> unsaid_keys(const Job& job, const SaidKeys& said);

/// What the rows of keys say of a job, and not what they leave unsaid.
[[nodiscard]] DialectText write_keys(const Dialect& dialect, const Job& job, const SaidKeys& said);

/// @param said what the caller writes
[[nodiscard]] DialectText write_dialect(const Dialect& dialect, const Job& job,
                                        const SaidKeys& said);

/// Words whose keys begin with the same part, in the order of their first keys.
struct WordGroup {
  std::string name;
  DialectWords words;  ///< with what is left of their keys; empty: the value itself
};
[[nodiscard]] std::vector<WordGroup> groups_of(const DialectWords& words);

/// Dotted keys as TOML, a section for each first part, and as YAML; keys keep their order, sections
/// that of their first keys.
[[nodiscard]] std::string as_toml(const DialectWords& words);
[[nodiscard]] std::string as_yaml(const DialectWords& words);

}  // namespace foretrain
