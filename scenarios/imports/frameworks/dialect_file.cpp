// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "models/base/ranges.hpp"
#include "scenarios/fields/shipped_table.hpp"
#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// Of keys that mean none of a scenario.
std::vector<Field> other_fields() {
  std::vector<Field> fields{
      {.path = "includes",
       .kind = FieldKind::text_list,
       .help = "Dialects whose keys without effect it has as well.",
       .example = "[trainer]"},
      {.path = "idle", .kind = FieldKind::group, .help = "Keys that change nothing, by reason."},
      {.path = "approximated",
       .kind = FieldKind::text_list,
       .help = "Keys that change memory or time a little.",
       .example = "[e]"},
      {.path = "pausing",
       .kind = FieldKind::text_list,
       .help = "Keys that stop training for evaluation where they are on.",
       .example = "[eval_strategy]"},
      {.path = "paced",
       .kind = FieldKind::text_list,
       .help = "Keys that then say how often, and how large.",
       .example = "[eval_steps]"},
      {.path = "lengthening",
       .kind = FieldKind::text_list,
       .help = "Keys that count examples, and so decide how long a run is.",
       .example = "[epochs]"}};
  append(fields, refused_fields("refused"));
  for (const auto& [why, name] : EnumNames<NoEffect>::names)
    fields.push_back({.path = fmt::format("idle.{}", name),
                      .kind = FieldKind::text_list,
                      .help = "Keys that change nothing for this reason.",
                      .example = "[a, b.c, d.*]"});
  return fields;
}

std::vector<Field> term_fields() {
  return {{.path = "terms",
           .kind = FieldKind::list,
           .help = "What it says that functions put together, by names that they know."},
          {.path = "terms[].says",
           .help = "The name that functions know.",
           .example = "accumulation",
           .required = true},
          {.path = "terms[].keys",
           .kind = FieldKind::text_list,
           .help = "Its names in the framework, the newest first; none: its runs have it.",
           .example = "[gradient_accumulation_steps]"},
          {.path = "terms[].usual",
           .help = "What the framework takes without it, in its words.",
           .example = "1"},
          {.path = "terms[].values",
           .kind = FieldKind::text_list,
           .help = "Its words, each with what it says.",
           .example = "[dpo=preference]"}};
}

std::vector<Field> meaning_fields() {
  return {schema_field(),
          {.path = "keys",
           .kind = FieldKind::list,
           .help = "Keys of the framework that mean one of a scenario."},
          {.path = "keys[].means",
           .help = "The scenario's key.",
           .example = "training.sequence",
           .required = true},
          {.path = "keys[].keys",
           .kind = FieldKind::text_list,
           .help = "Its names in the framework, the newest first.",
           .example = "[parallelism.tp]",
           .required = true},
          {.path = "keys[].usual",
           .help = "What the framework takes without it, in its words.",
           .example = "1"},
          {.path = "keys[].values",
           .kind = FieldKind::text_list,
           .help = "Its words, each with the scenario's.",
           .example = "[afab=gpipe]"},
          {.path = "keys[].unit", .help = "Unit of its numbers.", .example = "MiB"},
          {.path = "keys[].needs",
           .help = "It must be there; what is missing otherwise.",
           .example = "the tokens of a sequence"},
          {.path = "keys[].with",
           .help = "It counts where this key of the scenario is not at its default.",
           .example = "memory.fused_loss"},
          {.path = "keys[].written",
           .kind = FieldKind::choice,
           .help = "When exports write it: unusual, where it is not what the framework takes.",
           .example = "always",
           .default_text = "unusual",
           .choices = choices_of<DialectWritten>()},
          {.path = "fixed",
           .kind = FieldKind::list,
           .help = "Keys of a scenario that the framework has no word for."},
          {.path = "fixed[].means",
           .help = "The scenario's key.",
           .example = "communication.bucket",
           .required = true},
          {.path = "fixed[].is", .help = "What its runs have.", .example = "25 MiB"},
          {.path = "fixed[].left_out",
           .help = "What an export of something else says of it; without, that it is fixed.",
           .example = "the gradient bucket"}};
}

const FieldTable& dialect_fields() {
  static const FieldTable table("A dialect", [] {
    std::vector<Field> fields = meaning_fields();
    append(fields, term_fields());
    append(fields, other_fields());
    return fields;
  }());
  return table;
}

void add_others(const KeyTable& more, KeyTable& table) {
  append(table.idle, more.idle);
  append(table.approximated, more.approximated);
  append(table.pausing, more.pausing);
  append(table.paced, more.paced);
  append(table.lengthening, more.lengthening);
  append(table.refused, more.refused);
}

KeyTable others_in(const FieldValues& file) {
  KeyTable table;
  table.approximated = texts_at(file, "approximated");
  table.pausing = texts_at(file, "pausing");
  table.paced = texts_at(file, "paced");
  table.lengthening = texts_at(file, "lengthening");
  table.refused = refused_at(file, "refused");
  for (const auto& [why, name] : EnumNames<NoEffect>::names)
    if (auto keys = texts_at(file, fmt::format("idle.{}", name)); !keys.empty())
      table.idle.push_back({why, std::move(keys)});
  return table;
}

std::string text_at(const FieldValues& values, const std::string& path) {
  return values.has(path) ? values.text(path) : std::string();
}

const KeyRow* key_at(const FieldValues& values, const std::string& path, Diagnostics& diagnostics) {
  if (!values.has(path)) return nullptr;
  const KeyRow* const row = plan_key(values.text(path));
  if (row == nullptr)
    diagnostics.add(values.where(path), path,
                    in_quotes(values.text(path)) + " is not a key of a scenario's plan");
  return row;
}

/// "afab=gpipe".
std::vector<std::pair<std::string, std::string>> pairs_at(const FieldValues& values,
                                                          const std::string& path,
                                                          Diagnostics& diagnostics) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& text : texts_at(values, path)) {
    const auto middle = text.find('=');
    if (middle == std::string::npos)
      diagnostics.add(values.where(path), path, in_quotes(text) + " is not WORD=VALUE");
    else
      pairs.emplace_back(text.substr(0, middle), text.substr(middle + 1));
  }
  return pairs;
}

/// A term of one's own has to be one that the shipped dialect has: functions know no others.
void check_term(const FieldValues& file, const std::string& path, const FieldValues& shipped,
                Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (int i = 0; i < shipped.list_size("terms"); ++i)
    known.push_back(shipped.text(fmt::format("terms[{}].says", i)));
  if (!contains(known, file.text(path)))
    diagnostics.add(file.where(path), path,
                    in_quotes(file.text(path)) + " is not a term of this dialect" +
                        nearest_hint(file.text(path), known));
}

void add_keys(const FieldValues& file, Dialect& dialect, Diagnostics& diagnostics) {
  for (int i = 0; i < file.list_size("keys"); ++i) {
    const std::string row = fmt::format("keys[{}].", i);
    DialectKey key{.means = key_at(file, row + "means", diagnostics),
                   .keys = file.at(row + "keys").texts,
                   .usual = text_at(file, row + "usual"),
                   .values = pairs_at(file, row + "values", diagnostics),
                   .unit = text_at(file, row + "unit"),
                   .needs = text_at(file, row + "needs"),
                   .with = key_at(file, row + "with", diagnostics),
                   .written = file.choice<DialectWritten>(row + "written")};
    if (key.means == nullptr) continue;
    for (const auto& [word, text] : key.values)
      if (const auto value = plan_key_value(*key.means, text); !value.value)
        diagnostics.add(file.where(row + "values"), row + "values", value.error);
    dialect.keys.push_back(std::move(key));
  }
}

void add_terms(const FieldValues& file, const FieldValues& shipped, Dialect& dialect,
               Diagnostics& diagnostics) {
  for (int i = 0; i < file.list_size("terms"); ++i) {
    const std::string row = fmt::format("terms[{}].", i);
    if (&file != &shipped) check_term(file, row + "says", shipped, diagnostics);
    dialect.terms.push_back({file.text(row + "says"), texts_at(file, row + "keys"),
                             text_at(file, row + "usual"),
                             pairs_at(file, row + "values", diagnostics)});
  }
}

void add_fixed(const FieldValues& file, Dialect& dialect, Diagnostics& diagnostics) {
  for (int i = 0; i < file.list_size("fixed"); ++i) {
    const std::string row = fmt::format("fixed[{}].", i);
    if (const KeyRow* const means = key_at(file, row + "means", diagnostics))
      dialect.fixed.push_back({means, text_at(file, row + "is"), text_at(file, row + "left_out")});
  }
}

Dialect rows_of(const std::vector<FieldValues>& files) {
  Dialect dialect;
  Diagnostics diagnostics;
  for (const FieldValues& file : files) {
    append(dialect.includes, texts_at(file, "includes"));
    add_others(others_in(file), dialect.others);
    add_keys(file, dialect, diagnostics);
    add_terms(file, files.back(), dialect, diagnostics);
    add_fixed(file, dialect, diagnostics);
  }
  diagnostics.throw_if_any();
  return dialect;
}

}  // namespace

std::shared_ptr<const Dialect> dialect_named(const std::string& name,
                                             const std::vector<std::filesystem::path>& catalogs) {
  struct Shipped {
    std::string place, own;
    std::unique_ptr<ShippedRows<Dialect>> rows;
  };
  static std::map<std::string, Shipped, std::less<>> all;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Shipped& shipped = all[name];
  if (!shipped.rows) {
    shipped.own = fmt::format("dialects/{}.yaml", name);
    shipped.place = "scenarios/" + shipped.own;
    shipped.rows = std::make_unique<ShippedRows<Dialect>>(
        ShippedTable{shipped.place.c_str(), shipped.own.c_str(), dialect_fields}, rows_of);
  }
  return shipped.rows->of(catalogs);
}

namespace {

/// Adds the keys of a dialect and of those that it includes, each once.
void add_dialect(const std::string& name, const std::vector<std::filesystem::path>& catalogs,
                 std::vector<std::string>& done, KeyTable& table) {
  if (contains(done, name)) return;
  done.push_back(name);
  const auto dialect = dialect_named(name, catalogs);
  add_others(dialect->others, table);
  for (const std::string& other : dialect->includes) add_dialect(other, catalogs, done, table);
}

}  // namespace

std::shared_ptr<const Dialect> dialect_of(Framework framework,
                                          const std::vector<std::filesystem::path>& catalogs) {
  auto dialect =
      std::make_shared<Dialect>(*dialect_named(std::string(name_of(framework)), catalogs));
  dialect->name = title_of(framework);
  return dialect;
}

KeyTable key_table(Framework framework, const std::vector<std::filesystem::path>& catalogs,
                   const std::vector<std::string>& more) {
  KeyTable table;
  std::vector<std::string> done;
  for (const std::string& name : more) add_dialect(name, catalogs, done, table);
  add_dialect(std::string(name_of(framework)), catalogs, done, table);
  return table;
}

}  // namespace foretrain
