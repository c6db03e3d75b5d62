// SPDX-License-Identifier: Apache-2.0
#include "gui/views/course_view.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainterPath>

#include <algorithm>
#include <array>
#include <cmath>

#include "gui/views/memory_view.hpp"
#include "planner/answer/memory_part.hpp"
#include "planner/text/format.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

/// Bytes of the categories below and including each one, bottom first.
using Stack = std::array<double, memory_categories>;

Stack stack_of(const MemoryPoint& point) {
  Stack stack{};
  double sum = 0.0;
  for (std::size_t c = 0; c < memory_categories; ++c) {
    sum += point.of[c].value();
    stack[c] = sum;
  }
  return stack;
}

MemoryPoint between(const MemoryPoint& a, const MemoryPoint& b, double share) {
  MemoryPoint point = a;
  for (std::size_t c = 0; c < memory_categories; ++c)
    point.of[c] = a.of[c] + share * (b.of[c] - a.of[c]);
  point.alive = a.alive + share * (b.alive - a.alive);
  return point;
}

}  // namespace

CourseView::CourseView(QWidget* parent) : ComputedView{parent} {}

bool CourseView::settled() const { return !computing() && !(study() && study()->path_due); }

void CourseView::renew() {
  const bool known = study() && study()->report && study()->report->prediction.memory;
  if (!known) return start(-1);
  const int stages = static_cast<int>(memory().stages.size());
  const bool picked = selection().stage >= 0 && selection().stage < stages;
  start(picked ? selection().stage : memory().peak_stage);
}

void CourseView::start(int stage) {
  stop_computing();
  course_ = nullptr;
  stage_ = stage;
  const StudyPointer now = study();
  if (stage < 0 || !now || !now->runs() || !now->path) return;
  compute([this, now, stage](const std::stop_token&, std::uint64_t) -> Background::Deliver {
    auto course =
        std::make_shared<const MemoryCourse>(stage_memory_course(*now->report, *now->path, stage));
    return [this, course] { course_ = course; };
  });
}

void CourseView::select(const Selection& selection) {
  ChartView::select(selection);
  const bool known = study() && study()->report && study()->report->prediction.memory;
  // A hidden view follows once it is shown: renew() looks at the selection.
  if (waiting() || !known || selection.stage < 0 || selection.stage == stage_) return;
  if (selection.stage < static_cast<int>(memory().stages.size())) start(selection.stage);
}

QString CourseView::missing() const {
  if (QString why = missing_step(study()); !why.isEmpty()) return why;
  if (waiting()) return u"The memory timeline is computed when this view is shown."_s;
  if (!failure().isEmpty()) return failure();
  if (study()->path_due || computing()) return u"Computing the memory timeline…"_s;
  if (!study()->path_note.empty()) return to_text(study()->path_note);
  if (!course_ || course_->points.size() < 2) return u"There is no task graph of this step."_s;
  return {};
}

ChartHeadline CourseView::headline() const {
  ChartHeadline line;
  if (!course_ || course_->points.empty()) return line;
  const MemoryPoint& peak = course_->points[course_->peak];
  double alive = 0.0;
  for (const MemoryPoint& point : course_->points) alive = std::max(alive, point.alive);
  line.text = u"Stage %1 peaks at %2 after %3"_s.arg(stage_).arg(size_label(peak.total(), units()),
                                                                 time_label(peak.time, units()));
  line.detail = u"activations of up to %1 micro-batches at once; %2 stay between steps"_s.arg(
      QString::number(std::round(alive * 10.0) / 10.0),
      size_label(course_->points.front().total(), units()));
  return line;
}

void CourseView::draw(Canvas& canvas, const QRectF& area) {
  std::vector<LegendEntry> entries;
  for (const MemoryPart& look : memory_parts())
    entries.push_back({memory_colour(theme(), look), QLatin1String(look.key)});
  const double below = legend_height(area.width(), entries) + 4.0;
  const QRectF plot = plot_inside(area.adjusted(0.0, 0.0, 0.0, -below), u"0000"_s);
  const Bytes top = 1.1 * max(memory().usable, course_->points[course_->peak].total());
  x_ = AxisScale{0.0, course_->points.back().time.value(), plot.left(), plot.right()};
  y_ = AxisScale{0.0, top.value(), plot.bottom(), plot.top()};
  const AxisUnit size = size_axis(top, units());
  const AxisUnit time = time_axis(Seconds{x_.high()}, units());
  const AxisScale x{0.0, x_.high() / time.size, plot.left(), plot.right()};
  const AxisScale y{0.0, y_.high() / size.size, plot.bottom(), plot.top()};
  draw_x_axis(canvas, plot,
              even_axis(x, static_cast<int>(plot.width() / 90.0),
                        [](double v) { return QString::number(v); }),
              u"time of the step, "_s + time.name);
  draw_y_axis(canvas, plot,
              even_axis(y, static_cast<int>(plot.height() / 42.0),
                        [](double v) { return QString::number(v); }),
              size.name + u" per GPU"_s);
  draw_areas(canvas, plot);
  draw_limits(canvas, plot);
  draw_peak(canvas, plot);
  draw_pointer(canvas, plot);
  draw_legend(
      canvas,
      {area.left(), plot.bottom() + 2.0 * line_height(small_font()) + 16.0, area.width(), 0.0},
      entries);
}

/// Column by column what is largest within a pixel, so that no peak is lost and 10^5 passes cost
/// no more than ten.
void CourseView::draw_areas(Canvas& canvas, const QRectF& plot) const {
  const auto columns = static_cast<std::size_t>(std::max(2.0, plot.width()));
  std::vector<Stack> highest(columns);
  const auto& points = course_->points;
  const auto raise = [&](Seconds time, const MemoryPoint& point) {
    const double share = time.value() / x_.high();
    const auto column =
        std::min(columns - 1, static_cast<std::size_t>(share * static_cast<double>(columns)));
    const Stack stack = stack_of(point);
    if (stack.back() > highest[column].back()) highest[column] = stack;
  };
  for (const MemoryPoint& point : points) raise(point.time, point);
  std::size_t next = 1;
  for (std::size_t column = 0; column < columns; ++column) {
    const Seconds time{x_.high() * (static_cast<double>(column) + 0.5) /
                       static_cast<double>(columns)};
    while (next + 1 < points.size() && points[next].time < time) ++next;
    const Seconds span = points[next].time - points[next - 1].time;
    const double share =
        span > Seconds{} ? std::clamp((time - points[next - 1].time) / span, 0.0, 1.0) : 1.0;
    raise(time, between(points[next - 1], points[next], share));
  }
  canvas.painter().setPen(Qt::NoPen);
  for (std::size_t c = memory_categories; c-- > 0;) {
    QPolygonF area;
    area << QPointF{plot.left(), plot.bottom()};
    for (std::size_t column = 0; column < columns; ++column)
      area << QPointF{plot.left() + static_cast<double>(column) + 0.5, y_.at(highest[column][c])};
    area << QPointF{plot.right(), y_.at(highest.back()[c])} << plot.bottomRight();
    area[1].setX(plot.left());
    canvas.painter().setBrush(memory_colour(theme(), memory_parts()[c]));
    canvas.painter().drawPolygon(area);
  }
  canvas.painter().setBrush(Qt::NoBrush);
}

void CourseView::draw_limits(Canvas& canvas, const QRectF& plot) const {
  const double usable = std::round(y_.at(memory().usable.value()));
  canvas.line({plot.left(), usable}, {plot.right(), usable}, theme().bad, 2.0);
  canvas.text({plot.right(), usable - 2.0}, Qt::AlignRight | Qt::AlignBottom,
              u"usable %1"_s.arg(size_label(memory().usable, units())),
              {small_font(), theme().muted});
}

void CourseView::draw_peak(Canvas& canvas, const QRectF& plot) const {
  const MemoryPoint& peak = course_->points[course_->peak];
  const QPointF at{x_.at(peak.time.value()), y_.at(peak.total().value())};
  canvas.painter().setPen(QPen{theme().text, 1.5});
  canvas.painter().setBrush(theme().surface);
  canvas.painter().drawEllipse(at, 4.0, 4.0);
  canvas.painter().setBrush(Qt::NoBrush);
  const QString text = u"peak %1"_s.arg(size_label(peak.total(), units()));
  const double half = text_width(text, bold(small_font())) / 2.0;
  const double usable = y_.at(memory().usable.value());
  const double base = at.y() - 7.0;
  // Not through the line of what is usable.
  const bool crossed = usable < base + 2.0 && usable > base - line_height(small_font()) * 2.0 - 4.0;
  if (crossed) return;
  canvas.text({std::clamp(at.x(), plot.left() + half, plot.right() - half), base},
              Qt::AlignHCenter | Qt::AlignBottom, text, {bold(small_font()), theme().text});
}

MemoryPoint CourseView::at(Seconds time) const {
  const auto& points = course_->points;
  const auto after = std::partition_point(points.begin(), points.end(),
                                          [&](const MemoryPoint& p) { return p.time <= time; });
  if (after == points.begin()) return points.front();
  if (after == points.end()) return points.back();
  const MemoryPoint& before = *std::prev(after);
  const Seconds span = after->time - before.time;
  return between(before, *after, span > Seconds{} ? (time - before.time) / span : 0.0);
}

void CourseView::draw_pointer(Canvas& canvas, const QRectF& plot) const {
  if (pointer_ < plot.left() || pointer_ > plot.right()) return;
  const double x = std::round(pointer_) + 0.5;
  canvas.line({x, plot.top()}, {x, plot.bottom()}, theme().text);
}

void CourseView::mouseMoveEvent(QMouseEvent* event) {
  if (!missing().isEmpty()) return;
  pointer_ = event->position().x();
  update();
  const Seconds time{x_.value_at(pointer_)};
  if (time < Seconds{} || time > course_->points.back().time) return tip().hide();
  const MemoryPoint now = at(time);
  QStringList lines;
  for (std::size_t c = memory_categories; c-- > 0;)
    if (now.of[c] > Bytes{})
      lines << QLatin1String(memory_parts()[c].key) + u"\t"_s + size_label(now.of[c], units());
  lines << u"micro-batches held\t"_s + QString::number(now.alive, 'f', 1);
  tip().show_at(event->position(),
                u"%1 at %2"_s.arg(size_label(now.total(), units()), time_label(time, units())),
                lines, theme());
}

void CourseView::leaveEvent(QEvent* event) {
  pointer_ = -1.0;
  update();
  ChartView::leaveEvent(event);
}

void CourseView::keyPressEvent(QKeyEvent* event) {
  const bool next = event->key() == Qt::Key_PageDown;
  if (!next && event->key() != Qt::Key_PageUp) return ChartView::keyPressEvent(event);
  if (!study() || !study()->runs()) return;
  const int stages = static_cast<int>(memory().stages.size());
  Selection stage;
  stage.kind = Selection::Kind::stage;
  stage.stage = (stage_ + (next ? 1 : stages - 1)) % stages;
  select(stage);
  Q_EMIT selected(stage);
}

QString CourseView::csv() const {
  if (!missing().isEmpty()) return {};
  QString text = u"time_s"_s;
  for (const MemoryPart& look : memory_parts()) text += u",%1_bytes"_s.arg(QLatin1String(look.key));
  text += u",micro_batches\n"_s;
  for (const MemoryPoint& point : course_->points) {
    text += QString::number(point.time.value(), 'g', 17);
    for (const Bytes part : point.of) text += u",%1"_s.arg(part.value(), 0, 'f', 0);
    text += u",%1\n"_s.arg(point.alive, 0, 'g', 6);
  }
  return text;
}

}  // namespace foretrain::gui
