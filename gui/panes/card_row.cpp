// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/card_row.hpp"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <utility>

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

}  // namespace foretrain::gui
