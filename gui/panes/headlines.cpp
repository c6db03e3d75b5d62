// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/headlines.hpp"

#include <QCoreApplication>
#include <QHash>

#include <algorithm>
#include <utility>

#include "planner/answer/quantity.hpp"
#include "planner/forecast/report_head.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/page/compare.hpp"

namespace foretrain::gui {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("Headlines", text); }

/// Of serving and queues without a path: their heads have words alone.
std::vector<KeyFigure> figures_of(const Study& study, const Units& units) {
  if (!study.answer)
    return key_figures(study.report ? study.report->prediction : Prediction{}, units);
  std::vector<KeyFigure> figures;
  for (const HeadFigure& figure : study.answer->head.figures) figures.push_back({{}, figure});
  return figures;
}

Headline verdict_card(const AnswerHead& head) {
  Headline card{qt_text(head.subject), sentence_case(head.words), {}, shown_text(head.sentence)};
  if (head.verdict) card.tone = tone_of(*head.verdict);
  return card;
}

Headline figure_card(const HeadFigure& figure) {
  Headline card{qt_text(figure.label), qt_text(figure.value),
                shown_text(figure.band.empty() ? figure.difference : figure.band),
                figure.band.empty() ? QString{} : shown_text(figure.difference)};
  if (!card.value.isEmpty()) return card;
  card.value = QStringLiteral("–");
  card.tone = Tone::dim;
  return card;
}

/// The lines of the report that begin with the one of a figure's label, by label.
QHash<QString, QStringList> report_lines(const Report& report,
                                         const std::vector<KeyFigure>& figures) {
  QHash<QString, QStringList> lines;
  QString of;
  for (const auto& [label, text] : answer_lines(report)) {
    if (std::ranges::any_of(figures, [&](const auto& key) { return key.figure.label == label; }))
      of = qt_text(label);
    lines[of] << qt_text(label).trimmed() + QStringLiteral(": ") + qt_text(text);
  }
  return lines;
}

void add_difference(const KeyFigure& key, const Study& from, const Study& to, const Units& units,
                    Headline& card) {
  if (to.report && from.report) {
    const QuantityAt row = *quantities().find(key.path);
    const auto change = figure_change(key.path, row.number(as_if_it_fit(from.report->prediction)),
                                      row.number(as_if_it_fit(to.report->prediction)), units);
    if (!change) return;
    card.difference = qt_text(change->text);
    card.difference_tone = change->better ? Tone::good : Tone::warn;
  }
  if (!to.answer || !from.answer) return;
  for (const HeadFigure& old : from.answer->head.figures)
    if (old.label == key.figure.label && old.value != key.figure.value)
      card.difference = tr("was %1").arg(qt_text(old.value));
  card.difference_tone = Tone::warn;
}

}  // namespace

QString sentence_case(const std::string& words) {
  const QString lower = qt_text(words).toLower().replace(QLatin1Char('-'), QLatin1Char(' '));
  return lower.left(1).toUpper() + lower.mid(1);
}

std::vector<Headline> headlines(const Study& study, const Units& units, const Study* reference) {
  const std::vector<KeyFigure> figures = figures_of(study, units);
  QHash<QString, QStringList> lines;
  if (study.report) lines = report_lines(*study.report, figures);
  std::vector<Headline> cards;
  for (const KeyFigure& key : figures) {
    Headline card = figure_card(key.figure);
    if (study.report) card.tooltip = lines.value(card.title).join(QLatin1Char('\n'));
    if (reference != nullptr) add_difference(key, *reference, study, units, card);
    cards.push_back(std::move(card));
  }
  Headline verdict = verdict_card(head_of(study));
  if (study.answer) {
    cards.insert(cards.begin(), std::move(verdict));
    return cards;
  }
  // The verdict is on the memory first of all: one card for both.
  Headline& memory = cards.front();
  const bool known = !figures.front().figure.value.empty();
  verdict.title = tr("Plan");
  if (!study.report) verdict.tone = Tone::bad;
  verdict.detail =
      known ? memory.value + QLatin1Char(' ') + memory.detail : std::exchange(verdict.tooltip, {});
  verdict.difference = memory.difference;
  verdict.difference_tone = memory.difference_tone;
  memory = std::move(verdict);
  return cards;
}

}  // namespace foretrain::gui
