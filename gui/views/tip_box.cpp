// SPDX-License-Identifier: Apache-2.0
#include "gui/views/tip_box.hpp"

#include <QPainter>

#include <algorithm>
#include <cmath>

#include "gui/views/scene_painter.hpp"

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
  using enum Scene::Across;
  const double wide = width();
  Scene scene{{wide, static_cast<double>(height()), &window_metrics()}};
  scene.add(SceneBox{{0.5, 0.5, wide - 1.0, height() - 1.0},
                     Ink::raised,
                     static_cast<double>(theme_->radius),
                     SceneColour{Ink::border}});
  double y = inset;
  y += scene
           .text({inset, y}, start, Scene::Down::top, title_.toStdString(),
                 {Ink::text, LetterSize::body, true})
           .height +
       2.0;
  for (const QString& line : lines_) {
    const QStringList parts = line.split(u'\t');
    scene.text({inset, y}, start, Scene::Down::top, parts.front().toStdString());
    if (parts.size() > 1)
      scene.text({wide - inset, y}, end, Scene::Down::top, parts.back().toStdString(), {});
    y += scene.line_height() + 2.0;
  }
  std::vector<DrawnLabel> labels;
  paint_scene(painter, *theme_, scene, labels);
}

}  // namespace foretrain::gui
