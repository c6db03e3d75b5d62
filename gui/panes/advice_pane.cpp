// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/advice_pane.hpp"

#include <QCoreApplication>
#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
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
QStringList list_of(const std::vector<std::string>& settings) {
  QStringList list;
  for (const std::string& setting : settings) list << qt_text(setting);
  return list;
}

Fix look_at(const std::string& path) {
  return {tr("Show %1").arg(qt_text(path)), {}, {}, qt_text(path)};
}

Fix use(const QStringList& settings, const QString& effect) {
  return {tr("Use %1").arg(setting_words(settings)), effect, settings, {}};
}

void add_errors(const Study& study, std::vector<Advice>& advice) {
  if (!study.failure.empty())
    advice.push_back({Tone::bad, tr("No forecast"), qt_text(study.failure), {}});
  for (std::size_t i = 0; i < std::min(most_errors, study.diagnostics.size()); ++i) {
    const Diagnostic& error = study.diagnostics[i];
    Advice item{Tone::bad, tr("Line %1").arg(error.line), qt_text(error.message), {}};
    if (!error.path.empty()) item.title += QStringLiteral(": ") + qt_text(error.path);
    if (error.line > 0)
      item.fixes.push_back({tr("Go to line %1").arg(error.line), {}, {}, {}, error.line});
    advice.push_back(std::move(item));
  }
}

void add_reasons(const Report& report, const Units& units, std::vector<Advice>& advice) {
  for (const Infeasible& reason : report.prediction.reasons) {
    Advice item{Tone::bad,
                qt_text(reason.rule).replace(QLatin1Char('-'), QLatin1Char(' ')),
                qt_text(reason.message),
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
      item.text += QStringLiteral(" ") + qt_text(reason.remedy);
    if (item.fixes.empty() && !reason.key.empty()) item.fixes.push_back(look_at(reason.key));
    advice.push_back(std::move(item));
  }
}

void add_budget(const Report& report, std::vector<Advice>& advice) {
  for (const BudgetVerdict& verdict : report.budget)
    if (!verdict.pass)
      advice.push_back({Tone::bad, tr("Budget"), qt_text(budget_text(verdict)), {}});
}

void add_levers(const Study& study, const Units& units, std::vector<Advice>& advice) {
  if (!study.losses) return;
  std::vector<const StepLoss*> losses;
  for (const StepLoss& loss : study.losses->losses)
    if (loss.lever && loss.lever->step_after < loss.lever->step_before) losses.push_back(&loss);
  std::ranges::stable_sort(losses, [](const auto* a, const auto* b) {
    return a->lever->step_after < b->lever->step_after;
  });
  for (const StepLoss* loss : losses) {
    const Lever& lever = *loss->lever;
    const double gain = 1.0 - lever.step_after / lever.step_before;
    advice.push_back({Tone::good,
                      tr("%1: %2").arg(qt_text(loss->label), time_label(loss->time, units)),
                      qt_text(loss->cause),
                      {use(list_of(lever.settings),
                           tr("step %1, %2 shorter; peak %3")
                               .arg(time_label(lever.step_after, units),
                                    qt_text(percent_text(gain)), size_label(lever.peak, units)))}});
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
    QString title = qt_text(warning.id).replace(QLatin1Char('-'), QLatin1Char(' '));
    title[0] = title[0].toUpper();
    Advice item{is_unknown ? Tone::unknown : Tone::caution, title, qt_text(warning.message), {}};
    if (const auto key = missing_key(warning.id); !key.empty())
      item.fixes.push_back(look_at(std::string(key)));
    (is_unknown ? unknown : advice).push_back(std::move(item));
  }
  advice.insert(advice.end(), unknown.begin(), unknown.end());
}

QColor colour_of_tone(Tone tone, const Theme& theme) {
  switch (tone) {
    case Tone::good:
      return theme.good;
    case Tone::caution:
      return theme.caution;
    case Tone::bad:
      return theme.bad;
    case Tone::unknown:
      return theme.muted;
    case Tone::plain:
      break;
  }
  return theme.text;
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

AdvicePane::AdvicePane(QWidget* parent) : QScrollArea{parent}, theme_{&theme_of(ThemeKind::light)} {
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setObjectName(QStringLiteral("advice"));
  rebuild();
}

void AdvicePane::show_advice(std::vector<Advice> advice) {
  if (advice == advice_) return;
  advice_ = std::move(advice);
  rebuild();
}

void AdvicePane::set_theme(const Theme& theme) {
  theme_ = &theme;
  rebuild();
}

void AdvicePane::rebuild() {
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout{page};
  layout->setContentsMargins(8, 8, 8, 8);
  layout->setSpacing(6);
  for (const Advice& advice : advice_) layout->addWidget(make_card(advice));
  if (advice_.empty()) {
    auto* nothing =
        new QLabel{tr("No advice: the plan runs, and no setting that was tried "
                      "makes a step shorter.")};
    nothing->setProperty("role", QStringLiteral("muted"));
    nothing->setWordWrap(true);
    layout->addWidget(nothing);
  }
  layout->addStretch(1);
  setWidget(page);  // the old page goes
}

QWidget* AdvicePane::make_card(const Advice& advice) {
  auto* card = new QFrame;
  card->setProperty("inner", true);
  auto* layout = new QVBoxLayout{card};
  layout->setContentsMargins(12, 8, 12, 8);
  layout->setSpacing(4);
  auto* title = new QLabel{advice.title};
  title->setFont(title_font());
  title->setStyleSheet(
      QStringLiteral("color: %1;").arg(colour_of_tone(advice.tone, *theme_).name()));
  auto* text = new QLabel{advice.text};
  text->setWordWrap(true);
  text->setTextInteractionFlags(Qt::TextSelectableByMouse);
  layout->addWidget(title);
  layout->addWidget(text);
  for (const Fix& fix : advice.fixes) {
    auto* button = new QPushButton{fix.label};
    button->setProperty("primary", !fix.settings.isEmpty());
    button->setObjectName(QStringLiteral("fix"));
    button->setToolTip(fix.settings.join(QLatin1Char('\n')));
    auto* effect = new QLabel{fix.effect};
    effect->setProperty("role", QStringLiteral("muted"));
    effect->setWordWrap(true);
    auto* row = new QHBoxLayout;
    row->addWidget(button);
    row->addWidget(effect, 1);
    layout->addLayout(row);
    connect(button, &QPushButton::clicked, this, [this, fix] { Q_EMIT fix_wanted(fix); });
  }
  return card;
}

}  // namespace foretrain::gui
