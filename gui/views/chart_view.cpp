// SPDX-License-Identifier: Apache-2.0
#include "gui/views/chart_view.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <utility>

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

constexpr double margin = 16.0;
constexpr double swatch = 10.0;
constexpr double entry_gap = 18.0;

QRectF inside(const QRectF& whole) {
  return whole.adjusted(margin, margin - 4.0, -margin, -margin + 4.0);
}

QColor tone_colour(const Theme& theme, ChartHeadline::Tone tone) {
  switch (tone) {
    case ChartHeadline::Tone::good:
      return theme.good;
    case ChartHeadline::Tone::caution:
      return theme.caution;
    case ChartHeadline::Tone::bad:
      return theme.bad;
    case ChartHeadline::Tone::plain:
      break;
  }
  return theme.text;
}

}  // namespace

QString missing_step(const StudyPointer& study) {
  if (!study) return u"No scenario is open."_s;
  if (!study->diagnostics.empty())
    return u"The scenario has errors: "_s + to_text(study->diagnostics.front().text());
  if (!study->failure.empty()) return to_text(study->failure);
  if (study->answer)
    return u"This text is no training run: its answer is in the view %1."_s.arg(
        study->kind == TextKind::served ? u"Serving"_s : u"Queue"_s);
  if (!study->report) return u"There is no forecast yet."_s;
  const auto& reasons = study->report->prediction.reasons;
  if (study->runs()) return {};
  if (reasons.empty()) return u"There is no forecast of the step."_s;
  QString text = u"This plan cannot run: "_s + to_text(reasons.front().message);
  if (!reasons.front().remedy.empty())
    text += u"; what helps: "_s + to_text(reasons.front().remedy);
  return text;
}

double legend_height(double width, const std::vector<LegendEntry>& entries) {
  const QFont font = small_font();
  double rows = entries.empty() ? 0.0 : 1.0;
  double x = 0.0;
  for (const LegendEntry& entry : entries) {
    const double wide = swatch + 6.0 + text_width(entry.text, font);
    if (x > 0.0 && x + wide > width) {
      rows += 1.0;
      x = 0.0;
    }
    x += wide + entry_gap;
  }
  return rows * (line_height(font) + 4.0);
}

double draw_legend(Canvas& canvas, const QRectF& area, const std::vector<LegendEntry>& entries) {
  const QFont font = small_font();
  const double row = line_height(font) + 4.0;
  double x = area.left();
  double y = area.top();
  for (const LegendEntry& entry : entries) {
    const double wide = swatch + 6.0 + text_width(entry.text, font);
    if (x > area.left() && x + wide > area.right()) {
      x = area.left();
      y += row;
    }
    canvas.box({x, y + (row - 4.0 - swatch) / 2.0, swatch, swatch}, entry.paint, 2.0);
    canvas.text({x + swatch + 6.0, y}, Qt::AlignLeft | Qt::AlignTop, entry.text,
                {font, canvas.theme().muted}, area.right() - x - swatch - 6.0);
    x += wide + entry_gap;
  }
  return y + row - area.top();
}

ChartView::ChartView(QWidget* parent) : View{parent}, tip_{new TipBox{this}} {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
}

void ChartView::show_study(StudyPointer study) {
  study_ = std::move(study);
  hovered_ = -1;
  tip_->hide();
  waiting_ = waits_to_be_shown() && !isVisible();
  if (!waiting_) renew();
  update();
}

void ChartView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  if (!std::exchange(waiting_, false)) return;
  renew();
  update();
}

void ChartView::select(const Selection& selection) {
  if (selection == selection_) return;
  selection_ = selection;
  update();
}

QString ChartView::missing() const { return missing_step(study_); }

void ChartView::pick(const ChartMark& mark) {
  if (mark.selection.kind == Selection::Kind::none) return;
  selection_ = mark.selection;
  update();
  Q_EMIT selected(mark.selection);
}

std::optional<Scene> ChartView::scene(const SceneSpace& /*space*/) { return std::nullopt; }

void ChartView::draw(Canvas& /*canvas*/, const QRectF& /*area*/) {}

void ChartView::paint_picture(Canvas& canvas) {
  if (!std::exchange(only_hovered_, false) || !scene_)
    scene_ = scene({static_cast<double>(width()), static_cast<double>(height()), &window_metrics(),
                    units(), selection_});
  if (scene_) {
    area_ = to_rect(scene_->chart);
    paint_scene(canvas, *scene_);
    for (const SceneMark& mark : scene_->marks)
      marks_.push_back({to_rect(mark.area), to_text(mark.title), to_list(mark.lines), mark.target});
    return paint_over(canvas);
  }
  draw_headline(canvas, inside(QRectF{rect()}));
  area_ = space();
  if (area_.height() > 60.0 && area_.width() > 120.0) draw(canvas, area_);
}

/// What is picked or under the pointer stands out from the rest of a scene.
void ChartView::paint_over(Canvas& canvas) const {
  QPainter& painter = canvas.painter();
  const auto over = [&](const ChartMark& mark, const QColor& ink, double opacity) {
    painter.setPen(QPen{ink, 1.5});
    painter.setBrush(veiled(ink, opacity));
    painter.drawRoundedRect(mark.area, 3.0, 3.0);
    painter.setBrush(Qt::NoBrush);
  };
  for (const ChartMark& mark : marks_)
    if (mark.selection.kind != Selection::Kind::none && mark.selection == selection_)
      over(mark, theme().accent, 0.12);
  if (hovered_ >= 0 && hovered_ < static_cast<int>(marks_.size()))
    over(marks_[static_cast<std::size_t>(hovered_)], theme().muted, 0.10);
}

void ChartView::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter{this};
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setRenderHint(QPainter::TextAntialiasing);
  painter.fillRect(rect(), theme().surface);
  labels_.clear();
  marks_.clear();
  Canvas canvas{painter, theme(), labels_};
  const QString why = missing();
  if (!why.isEmpty()) {
    area_ = QRectF{};
    scene_.reset();
    draw_message(canvas, why);
    return;
  }
  paint_picture(canvas);
}

QRectF ChartView::space() const {
  QRectF area = inside(QRectF{rect()});
  const ChartHeadline line = headline();
  if (line.text.isEmpty()) return area;
  area.setTop(area.top() + line_height(title_font()) + 10.0);
  if (!line.detail.isEmpty()) area.setTop(area.top() + line_height(small_font()) + 2.0);
  return area;
}

void ChartView::draw_headline(Canvas& canvas, const QRectF& area) {
  const ChartHeadline line = headline();
  if (line.text.isEmpty()) return;
  const QFont strong = title_font();
  const double height = line_height(strong);
  double x = area.left();
  if (line.tone != ChartHeadline::Tone::plain) {
    const double size = 9.0;
    const QColor paint = tone_colour(theme(), line.tone);
    canvas.painter().setPen(Qt::NoPen);
    canvas.painter().setBrush(paint);
    canvas.painter().drawEllipse(QRectF{x, area.top() + (height - size) / 2.0, size, size});
    canvas.painter().setBrush(Qt::NoBrush);
    x += size + 8.0;
  }
  canvas.text({x, area.top()}, Qt::AlignLeft | Qt::AlignTop, line.text, {strong, theme().text},
              area.right() - x);
  if (!line.detail.isEmpty())
    canvas.text({area.left(), area.top() + height + 2.0}, Qt::AlignLeft | Qt::AlignTop, line.detail,
                {small_font(), theme().muted}, area.width());
}

void ChartView::draw_message(Canvas& canvas, const QString& text) {
  const double width = std::min(520.0, rect().width() - 2.0 * margin);
  const QRectF space = QFontMetricsF{body_font()}.boundingRect(
      QRectF{0.0, 0.0, width, 1e6}, Qt::AlignLeft | Qt::TextWordWrap, text);
  const double top = std::max(margin, (rect().height() - space.height()) / 2.0);
  canvas.paragraph({(rect().width() - std::min(width, space.width())) / 2.0, top}, width, text,
                   {body_font(), theme().muted});
}

int ChartView::mark_at(QPointF point) const {
  int found = -1;
  std::pair<double, double> least;
  for (std::size_t i = marks_.size(); i-- > 0;) {
    const QRectF& area = marks_[i].area;
    if (!area.contains(point)) continue;
    const std::pair size{std::round(area.width() * area.height()),
                         QLineF{area.center(), point}.length()};
    if (found >= 0 && size >= least) continue;
    found = static_cast<int>(i);
    least = size;
  }
  return found;
}

void ChartView::hover(int mark, QPointF point) {
  if (mark != hovered_) {
    hovered_ = mark;
    setCursor(mark >= 0 &&
                      marks_[static_cast<std::size_t>(mark)].selection.kind != Selection::Kind::none
                  ? Qt::PointingHandCursor
                  : Qt::ArrowCursor);
    only_hovered_ = scene_.has_value();
    update();
  }
  if (mark < 0) return tip_->hide();
  const ChartMark over = told(marks_[static_cast<std::size_t>(mark)]);
  tip_->show_at(point, over.title, over.lines, theme());
}

void ChartView::mouseMoveEvent(QMouseEvent* event) {
  hover(mark_at(event->position()), event->position());
}

void ChartView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return View::mousePressEvent(event);
  const int mark = mark_at(event->position());
  if (mark >= 0) pick(ChartMark{marks_[static_cast<std::size_t>(mark)]});
}

void ChartView::leaveEvent(QEvent* event) {
  hover(-1, {});
  View::leaveEvent(event);
}

/// Arrows go from mark to mark, Enter picks.
void ChartView::keyPressEvent(QKeyEvent* event) {
  const int count = static_cast<int>(marks_.size());
  const bool forward = event->key() == Qt::Key_Right || event->key() == Qt::Key_Down;
  const bool back = event->key() == Qt::Key_Left || event->key() == Qt::Key_Up;
  if (count > 0 && (forward || back)) {
    const int next =
        hovered_ < 0 ? (forward ? 0 : count - 1) : (hovered_ + (forward ? 1 : count - 1)) % count;
    return hover(next, marks_[static_cast<std::size_t>(next)].area.center());
  }
  const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (enter && hovered_ >= 0 && hovered_ < count)
    return pick(ChartMark{marks_[static_cast<std::size_t>(hovered_)]});
  View::keyPressEvent(event);
}

}  // namespace foretrain::gui
