// SPDX-License-Identifier: Apache-2.0
#include "gui/views/tip_box.hpp"

#include <QPainter>

#include <algorithm>
#include <cmath>

#include "gui/views/chart_canvas.hpp"

namespace foretrain::gui {
namespace {

constexpr double inset = 10.0;
constexpr double away = 16.0;     ///< from the pointer
constexpr double between = 24.0;  ///< of the two parts of a line

constexpr double widest = 380.0;  ///< lines without a tab go on below

QStringList wrapped(const QStringList& lines) {
  QStringList result;
  for (const QString& line : lines) {
    if (line.contains(u'\t') || text_width(line, small_font()) <= widest) {
      result << line;
      continue;
    }
    QString now;
    for (const QString& word : line.split(u' ')) {
      const QString longer = now.isEmpty() ? word : now + u' ' + word;
      if (now.isEmpty() || text_width(longer, small_font()) <= widest) {
        now = longer;
        continue;
      }
      result << now;
      now = word;
    }
    result << now;
  }
  return result;
}

}  // namespace

TipBox::TipBox(QWidget* parent) : QWidget{parent} {
  setAttribute(Qt::WA_TransparentForMouseEvents);
  hide();
}

void TipBox::show_at(QPointF point, const QString& title, const QStringList& lines,
                     const Theme& theme) {
  title_ = title;
  lines_ = wrapped(lines);
  theme_ = &theme;
  double width = text_width(title, bold(body_font()));
  for (const QString& line : lines_) {
    const QStringList parts = line.split(u'\t');
    double both = text_width(parts.front(), small_font());
    if (parts.size() > 1) both += between + text_width(parts.back(), small_font());
    width = std::max(width, both);
  }
  const double height = line_height(bold(body_font())) +
                        static_cast<double>(lines_.size()) * (line_height(small_font()) + 2.0);
  resize(static_cast<int>(std::ceil(width + 2.0 * inset)),
         static_cast<int>(std::ceil(height + 2.0 * inset)));
  double x = point.x() + away;
  double y = point.y() + away;
  if (x + this->width() > parentWidget()->width()) x = point.x() - away - this->width();
  if (y + this->height() > parentWidget()->height()) y = point.y() - away - this->height();
  move(static_cast<int>(std::max(0.0, x)), static_cast<int>(std::max(0.0, y)));
  raise();
  show();
  update();
}

void TipBox::paintEvent(QPaintEvent* /*event*/) {
  if (theme_ == nullptr) return;
  QPainter painter{this};
  painter.setRenderHint(QPainter::Antialiasing);
  std::vector<DrawnLabel> labels;
  Canvas canvas{painter, *theme_, labels};
  const QRectF area = QRectF{rect()}.adjusted(0.5, 0.5, -0.5, -0.5);
  canvas.box(area, theme_->raised, theme_->radius);
  canvas.frame(area, theme_->border, 1.0, theme_->radius);
  double y = inset;
  canvas.text({inset, y}, Qt::AlignLeft | Qt::AlignTop, title_, {bold(body_font()), theme_->text});
  y += line_height(bold(body_font())) + 2.0;
  for (const QString& line : lines_) {
    const QStringList parts = line.split(u'\t');
    canvas.text({inset, y}, Qt::AlignLeft | Qt::AlignTop, parts.front(),
                {small_font(), theme_->muted});
    if (parts.size() > 1)
      canvas.text({width() - inset, y}, Qt::AlignRight | Qt::AlignTop, parts.back(),
                  {small_font(), theme_->text});
    y += line_height(small_font()) + 2.0;
  }
}

}  // namespace foretrain::gui
