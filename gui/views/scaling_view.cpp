// SPDX-License-Identifier: Apache-2.0
#include "gui/views/scaling_view.hpp"

#include <QChart>
#include <QChartView>
#include <QGraphicsLayout>
#include <QLegend>
#include <QLineSeries>
#include <QLogValueAxis>
#include <QValueAxis>

#include <algorithm>
#include <cmath>

#include "planner/text/format.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

ScalingView::ScalingView(QWidget* parent)
    : ComputedView{parent}, view_{new QChartView{new QChart, this}} {
  view_->setFrameShape(QFrame::NoFrame);
  view_->setRenderHint(QPainter::Antialiasing);
  view_->chart()->setBackgroundVisible(false);
  view_->chart()->setMargins({});
  view_->chart()->layout()->setContentsMargins(0, 0, 0, 0);
  view_->hide();
}

const QChart& ScalingView::chart() const { return *view_->chart(); }

void ScalingView::renew() {
  stop_computing();
  scaling_ = nullptr;
  rebuild();
  const StudyPointer now = study();
  if (!now || !now->runs()) return;
  compute([this, now](const std::stop_token& stop, std::uint64_t) -> Background::Deliver {
    auto made = std::make_shared<const Scaling>(scaling_of(now->report->scenario, stop));
    return [this, made] { scaling_ = made; };
  });
}

QString ScalingView::missing() const {
  if (QString why = missing_step(study()); !why.isEmpty()) return why;
  if (waiting()) return u"Machines are tried when this view is shown."_s;
  if (!failure().isEmpty()) return failure();
  if (!scaling_) return u"Trying smaller and larger machines…"_s;
  if (scaling_->own(report().scenario.job) == nullptr)
    return u"This plan has no forecast in the closed form."_s;
  return {};
}

/// The headline: the child draws the chart.
Scene ScalingView::scene(const SceneSpace& space) {
  Scene scene{space};
  scene.headline(scaling_headline(*scaling_, report().scenario.job));
  return scene;
}

void ScalingView::restyle() {
  rebuild();
  ChartView::restyle();
}

void ScalingView::resizeEvent(QResizeEvent* event) {
  ComputedView::resizeEvent(event);
  place();
}

void ScalingView::place() {
  const bool shown = missing().isEmpty();
  view_->setVisible(shown);
  if (shown) view_->setGeometry(to_rect(scene(scene_space()).chart).toRect());
}

void ScalingView::rebuild() {
  QChart& chart = *view_->chart();
  chart.removeAllSeries();
  for (QAbstractAxis* axis : chart.axes()) chart.removeAxis(axis);
  if (scaling_ && missing().isEmpty()) {
    add_ideal();
    add_curve(scaling_->growing_batch, u"batch grows with the machine"_s, theme().series[2]);
    add_curve(scaling_->same_batch, u"same batch"_s, theme().series[0]);
    add_axes();
  }
  view_->setBackgroundBrush(theme().surface);
  QLegend& legend = *chart.legend();
  legend.setAlignment(Qt::AlignBottom);
  legend.setFont(small_font());
  legend.setLabelColor(theme().muted);
  place();
  update();
}

void ScalingView::add_ideal() {
  auto* line = new QLineSeries;
  line->setName(u"perfect"_s);
  line->setPen({theme().muted, 1.0, Qt::DashLine});
  for (const ScalingPoint& point : scaling_->same_batch) line->append(point.gpus, 100.0);
  view_->chart()->addSeries(line);
}

void ScalingView::add_curve(const std::vector<ScalingPoint>& points, const QString& name,
                            const QColor& colour) {
  auto* line = new QLineSeries;
  line->setName(name);
  line->setPen({colour, static_cast<double>(theme().line)});
  line->setPointsVisible(true);
  line->setMarkerSize(7.0);
  const double own = scaling_->own(report().scenario.job)->per_gpu();
  for (const ScalingPoint& point : points)
    if (point.tokens_per_s) line->append(point.gpus, 100.0 * point.per_gpu() / own);
  const auto nearest = [points](const QPointF& value) {
    return *std::min_element(points.begin(), points.end(), [&](const auto& a, const auto& b) {
      return std::abs(std::log(a.gpus / value.x())) < std::abs(std::log(b.gpus / value.x()));
    });
  };
  connect(line, &QLineSeries::hovered, this, [this, nearest](const QPointF& value, bool inside) {
    point_at(nearest(value), value, inside);
  });
  connect(line, &QLineSeries::clicked, this,
          [this, nearest](const QPointF& value) { pick_point(nearest(value)); });
  view_->chart()->addSeries(line);
}

void ScalingView::add_axes() {
  QChart& chart = *view_->chart();
  const auto add = [&](QAbstractAxis* axis, Qt::Alignment side, const QString& title) {
    axis->setTitleText(title);
    axis->setTitleFont(small_font());
    axis->setTitleBrush(theme().muted);
    axis->setLabelsFont(small_font());
    axis->setLabelsColor(theme().muted);
    axis->setGridLineColor(theme().grid);
    axis->setLinePenColor(theme().border);
    chart.addAxis(axis, side);
    for (QAbstractSeries* series : chart.series()) series->attachAxis(axis);
  };
  const auto& points = scaling_->same_batch;
  auto* gpus = new QLogValueAxis;
  gpus->setBase(2.0);
  gpus->setLabelFormat(u"%.0f"_s);
  gpus->setRange(points.front().gpus / 1.15, points.back().gpus * 1.15);
  add(gpus, Qt::AlignBottom, u"GPUs"_s);
  double high = 100.0;
  for (const QAbstractSeries* series : chart.series())
    for (const QPointF& value : static_cast<const QLineSeries*>(series)->points())
      high = std::max(high, value.y());
  constexpr double step = 20.0;
  auto* speed = new QValueAxis;
  speed->setLabelFormat(u"%.0f %%"_s);
  speed->setRange(0.0, step * std::ceil((high + 1.0) / step));
  speed->setTickCount(static_cast<int>(std::lround(speed->max() / step)) + 1);
  add(speed, Qt::AlignLeft, u"tokens per second and GPU, of this machine's"_s);
}

void ScalingView::point_at(const ScalingPoint& point, const QPointF& value, bool inside) {
  if (!inside) return tip().hide();
  const QPointF place = view_->chart()->mapToPosition(value) + view_->geometry().topLeft();
  QStringList lines{u"%1 hosts, batch %2"_s.arg(point.hosts).arg(point.global_batch)};
  if (point.tokens_per_s)
    lines << u"%1 tokens/s, MFU %2"_s.arg(
        qt_text(with_thousands(std::llround(*point.tokens_per_s))),
        point.mfu ? qt_text(percent_text(*point.mfu)) : u"unknown"_s);
  tip().show_at(place, u"%1 GPUs"_s.arg(qt_text(with_thousands(point.gpus))), lines, theme());
}

void ScalingView::pick_point(const ScalingPoint& point) {
  Q_EMIT settings_wanted(qt_list(scaling_settings(report().scenario, point)),
                         u"%1 hosts"_s.arg(point.hosts));
}

QString ScalingView::csv() const { return scaling_ ? qt_text(scaling_csv(*scaling_)) : QString{}; }

}  // namespace foretrain::gui
