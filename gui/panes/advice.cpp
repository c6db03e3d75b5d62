// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/advice.hpp"

#include <QCoreApplication>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "gui/panes/knob_rules.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/text/format.hpp"

namespace foretrain::gui {
namespace {

constexpr std::size_t most_errors = 5;
constexpr std::size_t most_changes = 3;

QString tr(const char* text) { return QCoreApplication::translate("Advice", text); }
QString text_of(const std::string& text) { return QString::fromStdString(text); }

QStringList list_of(const std::vector<std::string>& settings) {
  QStringList list;
  for (const std::string& setting : settings) list << text_of(setting);
  return list;
}

Fix look_at(const std::string& path) {
  return {tr("Show %1").arg(text_of(path)), {}, {}, text_of(path)};
}

Fix use(const QStringList& settings, const QString& effect) {
  return {tr("Use %1").arg(setting_words(settings)), effect, settings, {}};
}

void add_errors(const Study& study, std::vector<Advice>& advice) {
  if (!study.failure.empty())
    advice.push_back({Tone::bad, tr("No forecast"), text_of(study.failure), {}});
  for (std::size_t i = 0; i < std::min(most_errors, study.diagnostics.size()); ++i) {
    const Diagnostic& error = study.diagnostics[i];
    Advice item{Tone::bad, tr("Line %1").arg(error.line), text_of(error.message), {}};
    if (!error.path.empty()) item.title += QStringLiteral(": ") + text_of(error.path);
    if (error.line > 0)
      item.fixes.push_back({tr("Go to line %1").arg(error.line), {}, {}, {}, error.line});
    advice.push_back(std::move(item));
  }
}

void add_reasons(const Report& report, const Units& units, std::vector<Advice>& advice) {
  for (const Infeasible& reason : report.prediction.reasons) {
    Advice item{Tone::bad,
                text_of(reason.rule).replace(QLatin1Char('-'), QLatin1Char(' ')),
                text_of(reason.message),
                {}};
    item.title[0] = item.title[0].toUpper();
    const bool memory = reason.rule == "out-of-memory";
    for (std::size_t i = 0; memory && i < std::min(most_changes, report.changes.size()); ++i) {
      const Change& change = report.changes[i];
      const QString step = change.step ? time_label(*change.step, units) : tr("not modelled");
      item.fixes.push_back(use(list_of(change.settings),
                               tr("peak %1, step %2").arg(size_label(change.peak, units), step)));
    }
    if (!memory && !reason.remedy.empty())
      item.text += QStringLiteral(" ") + text_of(reason.remedy);
    if (item.fixes.empty() && !reason.key.empty()) item.fixes.push_back(look_at(reason.key));
    advice.push_back(std::move(item));
  }
}

void add_budget(const Report& report, std::vector<Advice>& advice) {
  for (const BudgetVerdict& verdict : report.budget)
    if (!verdict.pass)
      advice.push_back({Tone::bad, tr("Budget"), text_of(budget_text(verdict)), {}});
}

void add_levers(const Study& study, const Units& units, std::vector<Advice>& advice) {
  if (!study.losses) return;
  std::vector<const StepLoss*> losses;
  for (const StepLoss& loss : study.losses->losses)
    if (loss.lever && loss.lever->step_after < loss.lever->step_before) losses.push_back(&loss);
  std::stable_sort(losses.begin(), losses.end(), [](const auto* a, const auto* b) {
    return a->lever->step_after < b->lever->step_after;
  });
  for (const StepLoss* loss : losses) {
    const Lever& lever = *loss->lever;
    const double gain = 1.0 - lever.step_after / lever.step_before;
    advice.push_back({Tone::good,
                      tr("%1: %2").arg(text_of(loss->label), time_label(loss->time, units)),
                      text_of(loss->cause),
                      {use(list_of(lever.settings),
                           tr("step %1, %2 shorter; peak %3")
                               .arg(time_label(lever.step_after, units),
                                    text_of(percent_text(gain)), size_label(lever.peak, units)))}});
  }
}

/// The key that answers what a forecast does not know.
std::string_view missing_key(std::string_view warning) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> keys{
      {{"unknown-run", "training.tokens"},
       {"unknown-goodput", "operations.mean_time_between_interruptions"},
       {"unknown-price", "operations.price"},
       {"unknown-co2", "operations.power.carbon"}}};
  for (const auto& [id, key] : keys)
    if (id == warning) return key;
  return {};
}

void add_warnings(const Report& report, std::vector<Advice>& advice) {
  std::vector<Advice> unknown;
  for (const Warning& warning : report.prediction.warnings) {
    const bool is_unknown = warning.id.starts_with("unknown-");
    QString title = text_of(warning.id).replace(QLatin1Char('-'), QLatin1Char(' '));
    title[0] = title[0].toUpper();
    Advice item{is_unknown ? Tone::unknown : Tone::caution, title, text_of(warning.message), {}};
    if (const auto key = missing_key(warning.id); !key.empty())
      item.fixes.push_back(look_at(std::string(key)));
    (is_unknown ? unknown : advice).push_back(std::move(item));
  }
  advice.insert(advice.end(), unknown.begin(), unknown.end());
}

}  // namespace

std::vector<Advice> advice_on(const Study& study, const Units& units) {
  std::vector<Advice> advice;
  add_errors(study, advice);
  if (!study.report) return advice;
  add_reasons(*study.report, units, advice);
  add_budget(*study.report, advice);
  add_levers(study, units, advice);
  add_warnings(*study.report, advice);
  return advice;
}

std::optional<Advice> notice_on(const Study& study, const Units& units) {
  std::vector<Advice> advice;
  add_errors(study, advice);
  if (study.report) add_reasons(*study.report, units, advice);
  if (advice.empty()) return std::nullopt;
  if (const std::size_t more = study.diagnostics.size(); more > 1)
    advice.front().text += tr(" (and %1 more)").arg(more - 1);
  return advice.front();
}

}  // namespace foretrain::gui
