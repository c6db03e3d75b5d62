// SPDX-License-Identifier: Apache-2.0
#include "gui/process/reproduce.hpp"

#include <optional>

#include "planner/edit/scenario_text.hpp"
#include "planner/edit/yaml_edit.hpp"
#include "planner/text/quoting.hpp"

namespace foretrain::gui {
namespace {

bool is_list(const std::string& text) { return text.starts_with("[") || text.starts_with("{"); }

/// The --set options from one text to the other; nothing where a key has gone, or keys that flags
/// cannot set have changed.
std::optional<std::string> set_options(const std::string& before, const std::string& after) {
  const auto old_values = values_of(before);
  const auto new_values = values_of(after);
  if (old_values.empty() || new_values.empty()) return std::nullopt;
  for (const auto& [path, value] : old_values)
    if (!new_values.contains(path)) return std::nullopt;
  std::string options;
  for (const auto& [path, value] : new_values) {
    const auto old = old_values.find(path);
    if (old != old_values.end() && old->second == value) continue;
    if (path == "schema" || path == "extends") return std::nullopt;
    const std::string yaml = is_list(value) ? value : yaml_scalar(value);
    options += " --set " + shell_word(path + "=" + yaml);
  }
  return options;
}

}  // namespace

QString reproducing_command(const Question& question, const QString& file, const QString& saved) {
  const QString engine =
      question.engine == EngineKind::path ? QStringLiteral(" --engine path") : QString{};
  if (!file.isEmpty()) {
    const auto options = set_options(saved.toStdString(), question.text);
    if (options)
      return QString::fromStdString("foretrain simulate " + shell_word(file.toStdString()) +
                                    *options) +
             engine;
  }
  // A word that ends the text must not stand in it.
  QString end = QStringLiteral("SCENARIO");
  const QString text = QString::fromStdString(question.text);
  while (text.contains(end)) end += QLatin1Char('_');
  const QString folder = QString::fromStdString(shell_word(question.folder.string()));
  // Standard input belongs to no repository; only a text that extends something needs one.
  const auto repository = repository_of(question.folder);
  const QString root = repository.empty() || !text.contains(QStringLiteral("extends:"))
                           ? QString{}
                           : QString::fromStdString(" --root " + shell_word(repository.string()));
  return QStringLiteral("cd %1 && foretrain simulate -%2 <<'%3'\n%4%5%3\n")
      .arg(folder, engine + root, end, text,
           text.endsWith(QLatin1Char('\n')) ? QString{} : QStringLiteral("\n"));
}

std::map<std::string, std::string> values_of(const std::string& text) {
  std::map<std::string, std::string> values;
  for (const GivenValue& value : given_values(text)) values[value.path] = value.text;
  return values;
}

}  // namespace foretrain::gui
