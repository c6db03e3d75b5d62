// SPDX-License-Identifier: Apache-2.0
#include "gui/views/scatter_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "planner/text/format.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

constexpr double side_width = 250.0;
constexpr double wide_enough = 640.0;
constexpr double radius = 3.2;

bool is_drawn(const RecordCheck& check) {
  return !check.skipped && check.quantity == step_quantity && check.measured > 0.0 &&
         check.predicted > 0.0;
}

QString group_label(const std::string& group) {
  return group.empty() ? u"other"_s : to_text(group);
}

QString tick_label(double seconds) {
  if (seconds < 0.9e-3) return QString::number(seconds * 1e6) + u" us"_s;
  if (seconds < 0.9) return QString::number(seconds * 1e3) + u" ms"_s;
  return QString::number(seconds) + u" s"_s;
}

}  // namespace

ScatterView::ScatterView(QWidget* parent) : ComputedView{parent} {}

void ScatterView::showEvent(QShowEvent* event) {
  ComputedView::showEvent(event);
  if (!measured_ && failure().isEmpty() && !computing()) start();
}

void ScatterView::start() {
  compute([this](const std::stop_token&, std::uint64_t) -> Background::Deliver {
    ValidateRequest request;
    request.runs.emplace();
    request.vtrain.emplace();
    request.only = ValidateOnly::time;
    auto measured = std::make_shared<const Measured>(
        Measured{validate(request), shipped_left_out({}), fit_date({})});
    return [this, measured] { take(measured); };
  });
}

void ScatterView::take(std::shared_ptr<const Measured> measured) {
  measured_ = std::move(measured);
  points_.clear();
  groups_.clear();
  for (const RecordCheck& check : measured_->validation.records) {
    if (!is_drawn(check)) continue;
    points_.push_back(&check);
    if (std::find(groups_.begin(), groups_.end(), check.group) == groups_.end())
      groups_.push_back(check.group);
  }
}

QString ScatterView::missing() const {
  if (!failure().isEmpty()) return failure();
  if (!measured_) return u"Forecasting the measured runs…"_s;
  if (points_.empty()) return u"No step time of the measured records can be compared."_s;
  return {};
}

ChartHeadline ScatterView::headline() const {
  ChartHeadline line;
  if (!measured_ || points_.empty()) return line;
  const auto left_out = std::find_if(measured_->left_out.begin(), measured_->left_out.end(),
                                     [](const LeftOutError& error) { return error.total(); });
  if (left_out != measured_->left_out.end()) {
    line.text = u"Sources left out of the fit: half within %1, mean %2"_s.arg(
        to_text(percent_text(left_out->median)), to_text(percent_text(left_out->mape)));
    line.detail = u"%1, %2 folds, profiles of %3; "_s.arg(
        to_text(left_out_label(*left_out)),
        QString::number(fold_count(measured_->left_out, left_out->axis)),
        to_text(measured_->fitted));
  }
  line.detail += u"drawn: %1 steps by profiles that were fitted on them, half within %2"_s.arg(
      to_text(with_thousands(static_cast<std::int64_t>(points_.size()))),
      to_text(percent_text(median_error(points_))));
  return line;
}

QColor ScatterView::paint_of(std::size_t group) const {
  static constexpr std::array<std::size_t, 8> order{0, 1, 2, 5, 3, 4, 6, 7};
  return theme().series[order[group % order.size()]];
}

void ScatterView::draw(Canvas& canvas, const QRectF& area) {
  const bool side = area.width() >= wide_enough;
  QRectF plot =
      plot_inside(side ? area.adjusted(0.0, 0.0, -side_width - 20.0, 0.0) : area, u"100 ms"_s);
  double low = points_.front()->measured;
  double high = low;
  for (const RecordCheck* check : points_) {
    low = std::min({low, check->measured, check->predicted});
    high = std::max({high, check->measured, check->predicted});
  }
  x_ = AxisScale{low / 1.25, high * 1.25, plot.left(), plot.right(), true};
  y_ = AxisScale{low / 1.25, high * 1.25, plot.bottom(), plot.top(), true};
  draw_x_axis(canvas, plot, log_axis(x_, static_cast<int>(plot.width() / 80.0), tick_label),
              u"measured step time"_s);
  draw_y_axis(canvas, plot, log_axis(y_, static_cast<int>(plot.height() / 50.0), tick_label),
              u"predicted step time"_s);
  draw_points(canvas, plot);
  draw_band(canvas, plot, 0.10, Qt::DotLine);
  draw_band(canvas, plot, 0.05, Qt::DashLine);
  draw_band(canvas, plot, 0.0, Qt::SolidLine);
  if (side) draw_side(canvas, {area.right() - side_width, plot.top(), side_width, plot.height()});
}

void ScatterView::draw_band(Canvas& canvas, const QRectF& plot, double error,
                            Qt::PenStyle style) const {
  canvas.painter().save();
  canvas.painter().setClipRect(plot);
  for (const double factor : {1.0 + error, 1.0 / (1.0 + error)})
    canvas.line({x_.at(x_.low()), y_.at(x_.low() * factor)},
                {x_.at(x_.high()), y_.at(x_.high() * factor)}, theme().text,
                error > 0.0 ? 1.0 : 1.4, style);
  canvas.painter().restore();
}

/// Numbers of the groups, that with the most records first: those with few lie on top.
std::vector<std::size_t> ScatterView::drawing_order() const {
  std::vector<std::size_t> order(groups_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return records_of(a) > records_of(b); });
  return order;
}

std::ptrdiff_t ScatterView::records_of(std::size_t group) const {
  return std::count_if(points_.begin(), points_.end(),
                       [&](const RecordCheck* check) { return check->group == groups_[group]; });
}

ChartMark ScatterView::mark_of(const RecordCheck& check, const QRectF& area) const {
  ChartMark mark{area, to_text(check.id), {}, {}};
  mark.lines << u"measured\t"_s + time_label(Seconds{check.measured}, units())
             << u"predicted\t"_s + time_label(Seconds{check.predicted}, units())
             << u"error\t%1 %"_s.arg(100.0 * check.error(), 0, 'f', 1)
             << u"source\t"_s + to_text(check.source) << u"group\t"_s + group_label(check.group);
  return mark;
}

void ScatterView::draw_points(Canvas& canvas, const QRectF& plot) {
  QPainter& painter = canvas.painter();
  const double size = plot.height() < 300.0 ? radius - 1.0 : radius;
  for (const std::size_t group : drawing_order()) {
    const double full = records_of(group) > 200 ? 0.5 : 0.85;
    for (const RecordCheck* check : points_) {
      if (check->group != groups_[group]) continue;
      const QPointF at{x_.at(check->measured), y_.at(check->predicted)};
      const bool over = hovered() == static_cast<int>(marks().size());
      const double shown = over ? size + 2.0 : size;
      painter.setPen(over ? QPen{theme().text, 2.0} : QPen{Qt::NoPen});
      painter.setBrush(veiled(paint_of(group), over ? 1.0 : full));
      painter.drawEllipse(at, shown, shown);
      const double reach = size + 1.0;
      add_mark(mark_of(*check, {at.x() - reach, at.y() - reach, 2.0 * reach, 2.0 * reach}));
    }
  }
  painter.setBrush(Qt::NoBrush);
}

void ScatterView::draw_side(Canvas& canvas, const QRectF& area) const {
  const double row = line_height(small_font()) + 4.0;
  double y = area.top();
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    std::vector<const RecordCheck*> of_group;
    for (const RecordCheck* check : points_)
      if (check->group == groups_[group]) of_group.push_back(check);
    if (y + 2.0 * row > area.bottom() - 4.0 * row) break;
    canvas.painter().setPen(Qt::NoPen);
    canvas.painter().setBrush(paint_of(group));
    canvas.painter().drawEllipse(QPointF{area.left() + 6.0, y + line_height(small_font()) / 2.0},
                                 5.0, 5.0);
    canvas.painter().setBrush(Qt::NoBrush);
    canvas.text({area.left() + 20.0, y}, Qt::AlignLeft | Qt::AlignTop, group_label(groups_[group]),
                {bold(small_font()), theme().text}, area.width() - 20.0);
    canvas.text({area.left() + 20.0, y + row}, Qt::AlignLeft | Qt::AlignTop,
                u"%1 runs, median error %2"_s.arg(
                    to_text(with_thousands(static_cast<std::int64_t>(of_group.size()))),
                    to_text(percent_text(median_error(of_group)))),
                {small_font(), theme().muted}, area.width() - 20.0);
    y += 2.0 * row + 8.0;
  }
  y += 6.0;
  const auto line = [&](const QString& text, Qt::PenStyle style) {
    if (y + row > area.bottom()) return;
    const double middle = std::round(y + line_height(small_font()) / 2.0);
    canvas.line({area.left() - 4.0, middle}, {area.left() + 14.0, middle}, theme().text, 1.0,
                style);
    canvas.text({area.left() + 20.0, y}, Qt::AlignLeft | Qt::AlignTop, text,
                {small_font(), theme().muted}, area.width() - 20.0);
    y += row;
  };
  line(u"predicted = measured"_s, Qt::SolidLine);
  line(u"5 % off"_s, Qt::DashLine);
  line(u"10 % off"_s, Qt::DotLine);
  draw_errors(canvas, {area.left(), y + 14.0, area.width(), area.bottom() - y - 14.0});
}

/// How often each error occurs, in steps of 2.5 %.
void ScatterView::draw_errors(Canvas& canvas, const QRectF& area) const {
  constexpr int half = 12;  // bars on each side; the last ones hold all beyond
  constexpr double width = 0.025;
  const double line = line_height(small_font());
  if (area.height() < 130.0) return;
  std::array<int, std::size_t{2} * half> bars{};
  for (const RecordCheck* check : points_) {
    const int bar = static_cast<int>(std::floor(check->error() / width)) + half;
    ++bars[static_cast<std::size_t>(std::clamp(bar, 0, 2 * half - 1))];
  }
  canvas.text(area.topLeft(), Qt::AlignLeft | Qt::AlignTop, u"errors, predicted over measured"_s,
              {small_font(), theme().muted}, area.width());
  const QRectF plot{area.left() + 14.0, area.top() + line + 8.0, area.width() - 30.0,
                    std::min(220.0, area.height() - 2.0 * line - 20.0)};
  const AxisScale x{-half * width, half * width, plot.left(), plot.right()};
  const double most = *std::max_element(bars.begin(), bars.end());
  for (const double at : {-0.2, 0.0, 0.2}) {
    const double pixel = std::round(x.at(at)) + 0.5;
    canvas.line({pixel, plot.top()}, {pixel, plot.bottom()}, theme().grid);
    canvas.text(
        {pixel, plot.bottom() + 4.0}, Qt::AlignHCenter | Qt::AlignTop,
        at == 0.0 ? u"0"_s : u"%1%2 %"_s.arg(at > 0.0 ? u"+"_s : u"−"_s).arg(100.0 * std::abs(at)),
        {small_font(), theme().muted});
  }
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double from = x.at((static_cast<double>(i) - half) * width);
    const double to = x.at((static_cast<double>(i) - half + 1.0) * width);
    const double high = plot.height() * bars[i] / most;
    const bool near = i + 4 >= half && i < half + 4;
    canvas.box({from + 0.5, plot.bottom() - high, to - from - 1.0, high},
               near ? theme().accent : veiled(theme().accent, 0.5));
  }
  canvas.line({plot.left(), plot.bottom() + 0.5}, {plot.right(), plot.bottom() + 0.5},
              theme().border);
}

QString ScatterView::csv() const {
  return measured_ ? to_text(validation_csv(measured_->validation)) : QString{};
}

}  // namespace foretrain::gui
