// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/advice_pane.hpp"

#include <QCoreApplication>
#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QRegularExpression>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "gui/panes/knob_rules.hpp"
#include "planner/edit/scenario_text.hpp"
#include "planner/forecast/report_head.hpp"
#include "planner/forecast/summary.hpp"

namespace foretrain::gui {
namespace {

constexpr std::size_t most_errors = 5;
constexpr std::size_t most_changes = 3;

QString tr(const char* text) { return QCoreApplication::translate("Advice", text); }
Fix look_at(const QString& key) { return {tr("Show %1").arg(key), {}, {}, key}; }

Fix use(const std::vector<std::string>& settings, const QString& effect) {
  const QStringList list = qt_list(settings);
  return {tr("Use %1").arg(setting_words(list)), effect, list, {}};
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

void add_changes(const Report& report, const Units& units, Advice& item) {
  for (std::size_t i = 0; i < std::min(most_changes, report.changes.size()); ++i) {
    const Change& change = report.changes[i];
    const QString step = change.step ? time_label(*change.step, units) : tr("not modelled");
    item.fixes.push_back(
        use(change.settings, tr("peak %1, step %2").arg(size_label(change.peak, units), step)));
  }
}

void add_reasons(const Report& report, const Units& units, std::vector<Advice>& advice) {
  for (const Infeasible& reason : report.prediction.reasons) {
    Advice item{Tone::bad, sentence_case(reason.rule), qt_text(reason.message), {}};
    if (reason.rule == "out-of-memory") add_changes(report, units, item);
    if (item.fixes.empty()) {
      item.text = qt_text(reason_sentence(reason));
      if (!reason.key.empty()) item.fixes.push_back(look_at(qt_text(reason.key)));
    }
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
  for (const StepLoss* loss : losses_by_gain(*study.losses))
    advice.push_back({Tone::good,
                      tr("%1: %2").arg(qt_text(loss->label), time_label(loss->time, units)),
                      qt_text(loss->cause),
                      {use(loss->lever->settings, qt_text(effect_text(*loss->lever, units)))}});
}

/// The first key of a scenario that a sentence names.
QString key_in(const QString& sentence) {
  static const QRegularExpression path{QStringLiteral(R"([a-z_]+(\.[a-z_]+)+)")};
  for (auto found = path.globalMatch(sentence); found.hasNext();)
    if (const QString key = found.next().captured(); scenario_table().find(key.toStdString()))
      return key;
  return {};
}

void add_warnings(const Report& report, const Units& units, std::vector<Advice>& advice) {
  std::vector<Advice> unknown;
  for (const Warning& warning : report.prediction.warnings) {
    const bool is_unknown = warning.id.starts_with("unknown-");
    Advice item{is_unknown ? Tone::dim : Tone::warn,
                sentence_case(warning.id),
                qt_text(warning.message),
                {}};
    if (warning.id == "may-not-fit") add_changes(report, units, item);
    if (const QString key = key_in(item.text); !key.isEmpty()) item.fixes.push_back(look_at(key));
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
  add_warnings(*study.report, units, advice);
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
  title->setStyleSheet(QStringLiteral("color: %1;").arg(colour_of(*theme_, advice.tone).name()));
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
