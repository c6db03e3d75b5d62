// SPDX-License-Identifier: Apache-2.0
#include "gui/views/scaling_view.hpp"

#include <QChart>
#include <QChartView>
#include <QGraphicsLayout>
#include <QLegend>
#include <QLineSeries>
#include <QLogValueAxis>
#include <QValueAxis>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/text/format.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

/// The point of the machine that the scenario has; it always is among them.
const ScalingPoint* own_point(const std::vector<ScalingPoint>& points, const Job& job) {
  const auto found = std::find_if(points.begin(), points.end(), [&](const ScalingPoint& point) {
    return point.hosts == job.cluster.hosts;
  });
  return found == points.end() || !found->tokens_per_s ? nullptr : &*found;
}

const ScalingPoint* largest(const std::vector<ScalingPoint>& points) {
  const ScalingPoint* last = nullptr;
  for (const ScalingPoint& point : points)
    if (point.tokens_per_s) last = &point;
  return last;
}

double per_gpu(const ScalingPoint& point) { return *point.tokens_per_s / point.gpus; }

}  // namespace

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
  if (!own_point(scaling_->same_batch, report().scenario.job))
    return u"This plan has no forecast in the closed form."_s;
  return {};
}

/// The headline: the child draws the chart.
Scene ScalingView::scene(const SceneSpace& space) {
  const ScalingPoint& own = *own_point(scaling_->same_batch, report().scenario.job);
  const ScalingPoint& last = *largest(scaling_->same_batch);
  const auto kept = [&](const ScalingPoint& point) {
    return percent_text(per_gpu(point) / per_gpu(own));
  };
  SceneHeadline line{last.gpus > own.gpus
                         ? fmt::format("With the same batch {} GPUs keep {} of the speed per GPU",
                                       with_thousands(last.gpus), kept(last))
                         : "With the same batch this machine is the largest that this plan can use",
                     "tensor, pipeline and context degrees as they are, data ranks what is left"};
  if (const ScalingPoint* grown = largest(scaling_->growing_batch); grown && grown->gpus > own.gpus)
    line.detail += fmt::format("; with a batch that grows {} GPUs keep {}",
                               with_thousands(grown->gpus), kept(*grown));
  Scene scene{space};
  scene.headline(std::move(line));
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
  const double own = per_gpu(*own_point(scaling_->same_batch, report().scenario.job));
  for (const ScalingPoint& point : points)
    if (point.tokens_per_s) line->append(point.gpus, 100.0 * per_gpu(point) / own);
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
        to_text(with_thousands(std::llround(*point.tokens_per_s))),
        point.mfu ? to_text(percent_text(*point.mfu)) : u"unknown"_s);
  tip().show_at(place, u"%1 GPUs"_s.arg(to_text(with_thousands(point.gpus))), lines, theme());
}

void ScalingView::pick_point(const ScalingPoint& point) {
  QStringList settings;
  for (const std::string& setting : scaling_settings(report().scenario, point))
    settings << to_text(setting);
  Q_EMIT settings_wanted(settings, u"%1 hosts"_s.arg(point.hosts));
}

QString ScalingView::csv() const {
  if (!scaling_) return {};
  QString text = u"batch,hosts,gpus,global_batch,tokens_per_s,mfu\n"_s;
  for (const auto& [name, points] : {std::pair{u"same"_s, &scaling_->same_batch},
                                     std::pair{u"growing"_s, &scaling_->growing_batch}})
    for (const ScalingPoint& point : *points)
      text +=
          u"%1,%2,%3,%4,%5,%6\n"_s.arg(name)
              .arg(point.hosts)
              .arg(point.gpus)
              .arg(point.global_batch)
              .arg(point.tokens_per_s ? QString::number(*point.tokens_per_s, 'g', 12) : QString{},
                   point.mfu ? QString::number(*point.mfu, 'g', 12) : QString{});
  return text;
}

}  // namespace foretrain::gui
