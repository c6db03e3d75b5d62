// SPDX-License-Identifier: Apache-2.0
#include "gui/views/registry.hpp"

#include <algorithm>
#include <cmath>

#include "gui/views/chart_axis.hpp"
#include "gui/views/chart_view.hpp"
#include "planner/step/roofline.hpp"
#include "planner/text/format.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

constexpr double list_width = 330.0;
constexpr double wide_enough = 720.0;

bool on_plot(const RooflineKernel& kernel) {
  return kernel.flop > Flop{} && kernel.bytes > Bytes{} && kernel.time > Seconds{};
}

/// Share of its roof that a kernel reaches: of FLOPs or, where none are counted, of bandwidth.
double reached(const Roofline& roofline, const RooflineKernel& kernel) {
  return on_plot(kernel) ? kernel.rate() / roofline.bound(kernel)
                         : kernel.traffic() / roofline.bandwidth;
}

QString rate_label(double flops) {
  if (flops >= 1e12) return to_text(significant_text(flops / 1e12)) + u" TFLOP/s"_s;
  return to_text(significant_text(flops / 1e9)) + u" GFLOP/s"_s;
}

/// Kernels under the roofs of the device: rate against FLOPs per byte, both logarithmic, a point as
/// large as the kernel's share of the time. A list tells the shares, also of kernels that no FLOPs
/// are counted of.
class RooflineView : public ChartView {
 public:
  using ChartView::ChartView;

  [[nodiscard]] QString csv() const override;

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] ChartHeadline headline() const override;
  void draw(Canvas& canvas, const QRectF& area) override;
  void renew() override;

 private:
  struct Frame;

  void draw_roofs(Canvas& canvas, const Frame& frame, PointLabels& labels) const;
  void draw_points(Canvas& canvas, const Frame& frame, PointLabels& labels);
  void draw_list(Canvas& canvas, const QRectF& area);
  [[nodiscard]] ChartMark mark_of(const RooflineKernel& kernel, const QRectF& box) const;
  [[nodiscard]] QColor paint_of(const RooflineKernel& kernel) const;
  [[nodiscard]] bool picked(const RooflineKernel& kernel) const;

  Roofline roofline_;
};

}  // namespace

/// Where things lie.
struct RooflineView::Frame {
  QRectF plot;
  AxisScale x;  ///< FLOPs per byte
  AxisScale y;  ///< FLOP/s
};

void RooflineView::renew() {
  roofline_ = {};
  if (study() && study()->runs()) roofline_ = roofline(report().scenario.job);
}

QString RooflineView::missing() const {
  QString why = missing_step(study());
  if (!why.isEmpty() || !roofline_.kernels.empty()) return why;
  return u"This step has no kernels."_s;
}

ChartHeadline RooflineView::headline() const {
  double limited = 0.0;
  double products = 0.0;
  Flop flop;
  for (const RooflineKernel& kernel : roofline_.kernels) {
    if (kernel.kind == OperatorKind::streaming) limited += kernel.share;
    if (on_plot(kernel)) products += kernel.share * reached(roofline_, kernel);
  }
  double plotted = 0.0;
  for (const RooflineKernel& kernel : roofline_.kernels)
    if (on_plot(kernel)) plotted += kernel.share;
  ChartHeadline line;
  line.text = u"GEMMs and attention reach %1 of the roofline"_s.arg(
      to_text(percent_text(plotted > 0.0 ? products / plotted : 0.0)));
  line.detail =
      u"%1 of the kernels' time goes to kernels that only move memory; %2 at %3 peak, %4 TB/s"_s
          .arg(to_text(percent_text(limited)),
               to_text(report().scenario.job.cluster.host.device.title),
               to_text(rate_text(roofline_.ceilings.front().peak)),
               to_text(fixed_text(roofline_.bandwidth.in(TBps), 2)));
  return line;
}

QColor RooflineView::paint_of(const RooflineKernel& kernel) const {
  switch (kernel.kind) {
    case OperatorKind::attention:
    case OperatorKind::scan:
      return theme().series[1];
    case OperatorKind::streaming:
      return theme().series[4];
    default:
      return theme().series[0];
  }
}

bool RooflineView::picked(const RooflineKernel& kernel) const {
  return selection().kind == Selection::Kind::part && selection().part == to_text(kernel.name);
}

void RooflineView::draw(Canvas& canvas, const QRectF& area) {
  const bool list = area.width() >= wide_enough;
  const QRectF left = list ? area.adjusted(0.0, 0.0, -list_width - 24.0, 0.0) : area;
  Frame frame;
  frame.plot = plot_inside(left, u"1,000"_s);
  double low = 1e300;
  double high = 0.0;
  double slowest = roofline_.ceilings.front().peak.value();
  for (const RooflineKernel& kernel : roofline_.kernels) {
    if (!on_plot(kernel)) continue;
    low = std::min(low, kernel.intensity());
    high = std::max(high, kernel.intensity());
    slowest = std::min(slowest, kernel.rate().value());
  }
  const double peak = roofline_.ceilings.front().peak.value();
  const double ridge = peak / roofline_.bandwidth.value();
  low = std::min(low, ridge) / 4.0;
  high = std::max(high, ridge) * 3.0;
  slowest = std::min(slowest, low * roofline_.bandwidth.value()) / 1.6;
  frame.x = AxisScale{low, high, frame.plot.left(), frame.plot.right(), true};
  frame.y = AxisScale{slowest, peak * 1.35, frame.plot.bottom(), frame.plot.top(), true};
  draw_x_axis(canvas, frame.plot,
              log_axis(frame.x, static_cast<int>(frame.plot.width() / 70.0),
                       [](double v) { return to_text(significant_text(v)); }),
              u"FLOPs per byte of memory traffic"_s);
  draw_y_axis(canvas, frame.plot,
              log_axis(frame.y, static_cast<int>(frame.plot.height() / 64.0),
                       [](double v) { return to_text(significant_text(v / 1e12)); }),
              u"TFLOP/s per GPU"_s);
  PointLabels labels{frame.plot};
  draw_roofs(canvas, frame, labels);
  draw_points(canvas, frame, labels);
  if (list) draw_list(canvas, {area.right() - list_width, area.top(), list_width, area.height()});
}

void RooflineView::draw_roofs(Canvas& canvas, const Frame& frame, PointLabels& labels) const {
  const double bandwidth = roofline_.bandwidth.value();
  const double peak = roofline_.ceilings.front().peak.value();
  const double ridge = peak / bandwidth;
  // Below the roofs is what can be reached.
  QPolygonF reachable;
  reachable << QPointF{frame.plot.left(), frame.plot.bottom()}
            << QPointF{frame.plot.left(), frame.y.at(frame.x.low() * bandwidth)}
            << QPointF{frame.x.at(ridge), frame.y.at(peak)}
            << QPointF{frame.plot.right(), frame.y.at(peak)} << frame.plot.bottomRight();
  canvas.painter().setPen(Qt::NoPen);
  canvas.painter().setBrush(veiled(theme().accent, theme().dark() ? 0.10 : 0.06));
  canvas.painter().drawPolygon(reachable);
  canvas.painter().setBrush(Qt::NoBrush);
  canvas.line({frame.plot.left(), frame.y.at(frame.x.low() * bandwidth)},
              {frame.x.at(ridge), frame.y.at(peak)}, theme().text, 2.0);
  for (const RooflineCeiling& ceiling : roofline_.ceilings) {
    const double y = std::round(frame.y.at(ceiling.peak.value()));
    const double from = frame.x.at(ceiling.peak.value() / bandwidth);
    canvas.line({from, y}, {frame.plot.right(), y}, theme().text, 2.0,
                ceiling.peak.value() == peak ? Qt::SolidLine : Qt::DashLine);
    const QRectF box =
        canvas.text({frame.plot.right() - 4.0, y - 3.0}, Qt::AlignRight | Qt::AlignBottom,
                    to_text(std::string{name_of(ceiling.precision)}) + u" peak "_s +
                        to_text(rate_text(ceiling.peak)),
                    {small_font(), theme().text}, frame.plot.right() - from);
    labels.keep_clear(box);
  }
  const double at = 0.7 * ridge;
  const QString text =
      u"memory "_s + to_text(fixed_text(roofline_.bandwidth.in(TBps), 2)) + u" TB/s"_s;
  const QPointF point{frame.x.at(at) - 8.0, frame.y.at(at * bandwidth) - 2.0};
  labels.keep_clear(canvas.text(point, Qt::AlignRight | Qt::AlignBottom, text,
                                {small_font(), theme().text}, point.x() - frame.plot.left() - 4.0));
}

void RooflineView::draw_points(Canvas& canvas, const Frame& frame, PointLabels& labels) {
  struct Point {
    const RooflineKernel* kernel;
    QPointF at;
    double radius;
  };
  std::vector<Point> points;
  for (const RooflineKernel& kernel : roofline_.kernels) {
    if (!on_plot(kernel)) continue;
    const QPointF at{frame.x.at(kernel.intensity()), frame.y.at(kernel.rate().value())};
    const double most = std::min(34.0, frame.plot.width() / 16.0);
    const double radius = std::max(4.0, most * std::sqrt(kernel.share));
    points.push_back({&kernel, at, radius});
    labels.keep_clear({at.x() - radius, at.y() - radius, 2.0 * radius, 2.0 * radius});
  }
  for (const Point& point : points) {
    const QRectF box{point.at.x() - point.radius, point.at.y() - point.radius, 2.0 * point.radius,
                     2.0 * point.radius};
    const bool over = hovered() == static_cast<int>(marks().size());
    canvas.painter().setBrush(veiled(paint_of(*point.kernel), 0.72));
    canvas.painter().setPen(QPen{over || picked(*point.kernel) ? theme().text : theme().surface,
                                 over || picked(*point.kernel) ? 2.5 : 1.0});
    canvas.painter().drawEllipse(box);
    canvas.painter().setBrush(Qt::NoBrush);
    add_mark(mark_of(*point.kernel, box));
  }
  for (const Point& point : points)
    labels.place(canvas, point.at, point.radius, to_text(point.kernel->name),
                 {small_font(), theme().text});
}

void RooflineView::draw_list(Canvas& canvas, const QRectF& area) {
  const double row = line_height(small_font()) + 9.0;
  const double reached_right = area.right();
  const double share_right = area.right() - text_width(u"of roofline"_s, small_font()) - 18.0;
  double y = area.top();
  canvas.text({area.left(), y}, Qt::AlignLeft | Qt::AlignTop, u"kernel"_s,
              {small_font(), theme().muted});
  canvas.text({share_right, y}, Qt::AlignRight | Qt::AlignTop, u"time"_s,
              {small_font(), theme().muted});
  canvas.text({reached_right, y}, Qt::AlignRight | Qt::AlignTop, u"of roofline"_s,
              {small_font(), theme().muted});
  y += row - 2.0;
  canvas.line({area.left(), std::round(y) - 3.5}, {area.right(), std::round(y) - 3.5},
              theme().border);
  for (const RooflineKernel& kernel : roofline_.kernels) {
    if (y + row > area.bottom()) break;
    const QRectF line{area.left() - 4.0, y - 3.0, area.width() + 8.0, row};
    const bool over = hovered() == static_cast<int>(marks().size());
    if (over || picked(kernel))
      canvas.box(line, picked(kernel) ? veiled(theme().accent, 0.16) : theme().hover, 4.0);
    canvas.box({area.left(), y + (line_height(small_font()) - 10.0) / 2.0, 10.0, 10.0},
               paint_of(kernel), 5.0);
    canvas.text({area.left() + 18.0, y}, Qt::AlignLeft | Qt::AlignTop, to_text(kernel.name),
                {small_font(), theme().text},
                share_right - area.left() - 26.0 - text_width(u"100.0 %"_s, small_font()));
    canvas.text({share_right, y}, Qt::AlignRight | Qt::AlignTop,
                to_text(percent_text(kernel.share)), {small_font(), theme().text});
    canvas.text({reached_right, y}, Qt::AlignRight | Qt::AlignTop,
                to_text(percent_text(reached(roofline_, kernel))), {small_font(), theme().muted});
    add_mark(mark_of(kernel, line));
    y += row;
  }
  const double note = 3.0 * line_height(small_font());
  if (y + note + 8.0 < area.bottom())
    canvas.paragraph({area.left(), y + 8.0}, area.width(),
                     u"Light blue kernels have no FLOPs that are counted: their bound is "
                     "memory bandwidth, and they are not in the plot."_s,
                     {small_font(), theme().muted});
}

ChartMark RooflineView::mark_of(const RooflineKernel& kernel, const QRectF& box) const {
  ChartMark mark{box, to_text(kernel.name), {}, {}};
  mark.lines << u"of the kernels' time\t"_s + to_text(percent_text(kernel.share))
             << u"per step and GPU\t"_s + time_label(kernel.total, units());
  if (kernel.time > Seconds{})
    mark.lines << u"one forward run\t"_s + time_label(kernel.time, units());
  if (on_plot(kernel))
    mark.lines << u"reaches\t"_s + rate_label(kernel.rate().value())
               << u"roofline\t"_s + rate_label(roofline_.bound(kernel).value())
               << u"FLOPs per byte\t"_s + to_text(significant_text(kernel.intensity()));
  else if (kernel.time > Seconds{})
    mark.lines << u"moves\t"_s + to_text(significant_text(kernel.traffic().in(GBps))) + u" GB/s"_s;
  mark.selection.kind = Selection::Kind::part;
  mark.selection.part = to_text(kernel.name);
  return mark;
}

QString RooflineView::csv() const {
  if (!missing().isEmpty()) return {};
  QString text = u"kernel,kind,flop,bytes,forward_s,per_step_s,share\n"_s;
  for (const RooflineKernel& kernel : roofline_.kernels)
    text += u"\"%1\",%2,%3,%4,%5,%6,%7\n"_s
                .arg(to_text(kernel.name), to_text(std::string{name_of(kernel.kind)}))
                .arg(kernel.flop.value(), 0, 'g', 17)
                .arg(kernel.bytes.value(), 0, 'g', 17)
                .arg(kernel.time.value(), 0, 'g', 17)
                .arg(kernel.total.value(), 0, 'g', 17)
                .arg(kernel.share, 0, 'g', 17);
  return text;
}

View* make_roofline_view(QWidget* parent) { return new RooflineView{parent}; }

}  // namespace foretrain::gui
