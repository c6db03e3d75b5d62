// SPDX-License-Identifier: Apache-2.0

#include "gui/panes/card_row.hpp"

#include <QCoreApplication>
#include <QHash>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <utility>

#include "planner/answer/quantity.hpp"
#include "planner/forecast/report_head.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/page/compare.hpp"

namespace foretrain::gui {
namespace {

constexpr int padding = 12;

int line_height(const QFont& font) { return QFontMetrics{font}.height(); }

int card_height() {
  return 2 * padding - 4 + line_height(small_font()) * 5 + line_height(headline_font()) + 4;
}

QFont fitted(QFont font, const QString& text, int width) {
  while (font.pointSizeF() > 8.0 && QFontMetrics{font}.horizontalAdvance(text) > width)
    font.setPointSizeF(font.pointSizeF() - 0.5);
  return font;
}

}  // namespace

CardRow::CardRow(QWidget* parent) : QWidget{parent}, theme_{&theme_of(ThemeKind::light)} {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setObjectName(QStringLiteral("cards"));
  setAccessibleName(tr("Forecast"));
}

void CardRow::show_headlines(std::vector<Headline> headlines, const QString& reference) {
  headlines_ = std::move(headlines);
  reference_ = reference;
  QStringList spoken;
  for (const Headline& line : headlines_)
    spoken << line.title + QStringLiteral(": ") + line.value + QStringLiteral(", ") + line.detail +
                  (line.difference.isEmpty() ? QString{}
                                             : tr(", changed by %1").arg(line.difference));
  setAccessibleDescription(spoken.join(QStringLiteral("; ")));
  update();
}

void CardRow::set_theme(const Theme& theme) {
  theme_ = &theme;
  update();
}

void CardRow::set_stale(bool stale) {
  if (stale_ == stale) return;
  stale_ = stale;
  update();
}

QSize CardRow::sizeHint() const { return {900, card_height()}; }
QSize CardRow::minimumSizeHint() const { return {480, card_height()}; }

QRect CardRow::card(std::size_t index) const {
  const int count = std::max(1, static_cast<int>(headlines_.size()));
  const int gap = theme_->gap;
  const int at = static_cast<int>(index);
  const int left = at * (width() + gap) / count;
  const int right = (at + 1) * (width() + gap) / count - gap;
  return {left, 0, right - left, height()};
}

int CardRow::card_at(const QPoint& place) const {
  for (std::size_t i = 0; i < headlines_.size(); ++i)
    if (card(i).contains(place)) return static_cast<int>(i);
  return -1;
}

void CardRow::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter{this};
  painter.setRenderHint(QPainter::Antialiasing);
  for (std::size_t i = 0; i < headlines_.size(); ++i) paint_card(painter, card(i), headlines_[i]);
}

void CardRow::paint_card(QPainter& painter, const QRect& area, const Headline& line) const {
  const QColor value = colour_of(*theme_, line.tone);
  painter.setOpacity(1.0);
  painter.setPen(QPen{theme_->border, 1.0});
  painter.setBrush(theme_->surface);
  painter.drawRoundedRect(QRectF{area}.adjusted(0.5, 0.5, -0.5, -0.5), theme_->radius,
                          theme_->radius);
  if (line.tone == Tone::good || line.tone == Tone::warn || line.tone == Tone::bad) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(value);
    painter.drawRoundedRect(
        QRect{area.left(), area.top() + theme_->radius, 3, area.height() - 2 * theme_->radius}, 1.5,
        1.5);
  }
  painter.setOpacity(stale_ ? 0.45 : 1.0);
  QRect text = area.adjusted(padding, padding - 3, -padding + 2, -padding + 5);
  painter.setFont(small_font());
  painter.setPen(theme_->muted);
  painter.drawText(
      text, Qt::AlignTop | Qt::AlignLeft,
      QFontMetrics{small_font()}.elidedText(line.title, Qt::ElideMiddle, text.width()));
  text.setTop(text.top() + line_height(small_font()) + 1);

  painter.setFont(fitted(headline_font(), line.value, text.width()));
  painter.setPen(value);
  painter.drawText(QRect{text.left(), text.top(), text.width(), line_height(headline_font())},
                   Qt::AlignVCenter | Qt::AlignLeft, line.value);
  text.setTop(text.top() + line_height(headline_font()) + 1);

  QRect change = text;
  change.setHeight(line_height(small_font()));
  painter.setFont(fitted(small_font(), line.difference, change.width()));
  painter.setPen(colour_of(*theme_, line.difference_tone));
  painter.drawText(change, Qt::AlignVCenter | Qt::AlignLeft, line.difference);
  text.setTop(change.bottom() + 1);

  painter.setFont(small_font());
  painter.setPen(theme_->muted);
  painter.setClipRect(text);
  painter.drawText(text, Qt::AlignTop | Qt::AlignLeft | Qt::TextWordWrap, line.detail);
  painter.setClipping(false);
}

bool CardRow::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int at = card_at(help->pos());
  if (at < 0) {
    QToolTip::hideText();
    return true;
  }
  const Headline& line = headlines_[static_cast<std::size_t>(at)];
  const QString change =
      line.difference.isEmpty() ? QString{} : line.difference + QLatin1Char(' ') + reference_;
  QStringList lines{line.detail, line.tooltip, change};
  lines.removeAll(QString{});
  QToolTip::showText(help->globalPos(), lines.join(QLatin1Char('\n')), this);
  return true;
}

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
