// SPDX-License-Identifier: Apache-2.0
#include "gui/views/pareto_view.hpp"

#include <QMouseEvent>
#include <QPushButton>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <set>

#include "planner/text/format.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

constexpr std::size_t most_points = 10'000;
constexpr double reach = 8.0;  ///< of the pointer around a point

QStringList settings_of(const StudyPointer& study, const PlanCloud& cloud,
                        const CloudPoint& point) {
  QStringList settings;
  for (const std::string& one : cloud_settings(study->report->scenario, cloud, point))
    settings << to_text(one);
  return settings;
}

}  // namespace

ParetoView::ParetoView(QWidget* parent)
    : ComputedView{parent}, stop_button_{new QPushButton{u"Stop the search"_s, this}} {
  stop_button_->hide();
  connect(stop_button_, &QPushButton::clicked, this, &ParetoView::stop);
}

void ParetoView::computed() {
  stop_button_->hide();
  update();
}

void ParetoView::renew() {
  if (study() == searched_) return;
  stop_computing();
  cloud_ = nullptr;
  over_ = nullptr;
  if (isVisible()) start();
}

void ParetoView::showEvent(QShowEvent* event) {
  ComputedView::showEvent(event);
  if (study() != searched_) start();
}

void ParetoView::start() {
  searched_ = study();
  stopped_ = false;
  progress_.clear();
  if (!searched_ || !searched_->report || searched_->report->scenario.job.cluster.gpus() < 1)
    return;
  compute([this, study = searched_](const std::stop_token& stop,
                                    std::uint64_t serial) -> Background::Deliver {
    const Scenario& scenario = study->report->scenario;
    const SearchSpace space = cloud_space(scenario);
    check_space(space);
    std::atomic<bool> stopped{false};
    const std::stop_callback forward{stop, [&] { stopped = true; }};
    SearchOptions options;
    options.top = most_points;
    options.threads = 1;
    options.stop = &stopped;
    options.progress = [&, last = std::int64_t{0}](std::int64_t done) mutable {
      if (done - last < space.size() / 50) return;
      last = done;
      post_progress(serial, done, space.size());
    };
    auto cloud = std::make_shared<const PlanCloud>(plan_cloud(scenario, space, options));
    return [this, cloud] { cloud_ = cloud; };
  });
  stop_button_->setVisible(true);
  place_button();
}

void ParetoView::post_progress(std::uint64_t serial, std::int64_t done, std::int64_t all) {
  post(serial, [this, done, all] {
    progress_ =
        u"%1 of %2 combinations"_s.arg(to_text(with_thousands(done)), to_text(with_thousands(all)));
    update();
  });
}

void ParetoView::stop() {
  stop_computing();
  stopped_ = true;
  stop_button_->hide();
  update();
  Q_EMIT became_settled();
}

QString ParetoView::missing() const {
  if (!study() || !study()->report) return missing_step(study());
  if (computing())
    return u"Searching for plans…"_s + (progress_.isEmpty() ? u""_s : u" "_s + progress_);
  if (!failure().isEmpty()) return failure();
  if (stopped_) return u"The search was stopped. It starts again with the next change."_s;
  if (!cloud_) return u"The search starts when this view is shown."_s;
  if (cloud_->points.empty())
    return u"None of the %1 combinations that were tried fits."_s.arg(
        to_text(with_thousands(cloud_->combinations)));
  return {};
}

ChartHeadline ParetoView::headline() const {
  ChartHeadline line;
  if (!cloud_ || cloud_->points.empty()) return line;
  const CloudPoint& best = cloud_->points.front();
  line.text = u"The fastest plan that fits: %1 per step"_s.arg(time_label(best.step, units()));
  if (cloud_->own) {
    const double gain = 1.0 - best.step / cloud_->own->step;
    line.text += gain > 5e-4 ? u", %1 faster than this one"_s.arg(to_text(percent_text(gain)))
                             : u", no faster than this one"_s;
  }
  line.detail = u"%1 plans fit of %2 combinations"_s.arg(
      to_text(with_thousands(cloud_->feasible)), to_text(with_thousands(cloud_->combinations)));
  if (cloud_->feasible > static_cast<std::int64_t>(cloud_->points.size()))
    line.detail += u", the fastest %1 are shown"_s.arg(
        to_text(with_thousands(static_cast<std::int64_t>(cloud_->points.size()))));
  line.detail += u"; a click loads a plan"_s;
  return line;
}

QColor ParetoView::paint_of(int tensor) const {
  static constexpr std::array<std::size_t, 8> order{0, 1, 2, 5, 4, 3, 6, 7};
  std::size_t step = 0;
  for (int size = 1; size < tensor && step < 7; size *= 2) ++step;
  return theme().series[order[step]];
}

std::vector<LegendEntry> ParetoView::legend() const {
  std::set<int> sizes;
  for (const CloudPoint& point : cloud_->points) sizes.insert(point.tensor);
  std::vector<LegendEntry> entries;
  for (const int size : sizes) entries.push_back({paint_of(size), u"tensor %1"_s.arg(size)});
  entries.push_back({theme().text, u"front, this plan"_s});
  return entries;
}

QRectF ParetoView::plot(const QRectF& area) const {
  const QRectF room = area.adjusted(0.0, 0.0, 0.0, -legend_height(area.width(), legend()) - 4.0);
  return plot_inside(room, u"0,000"_s);
}

void ParetoView::fit_scales(const QRectF& plot) {
  double least = cloud_->points.front().peak.value();
  double most = least;
  double slowest = cloud_->points.front().step.value();
  for (const CloudPoint& point : cloud_->points) {
    least = std::min(least, point.peak.value());
    most = std::max(most, point.peak.value());
    slowest = std::max(slowest, point.step.value());
  }
  double fastest = cloud_->points.front().step.value();
  if (cloud_->own) {
    least = std::min(least, cloud_->own->peak.value());
    most = std::max(most, cloud_->own->peak.value());
    slowest = std::max(slowest, cloud_->own->step.value());
    fastest = std::min(fastest, cloud_->own->step.value());
  }
  const double margin = std::max(0.04 * (most - least), 1e-3 * most);
  x_ = AxisScale{std::max(0.0, least - margin), most + margin, plot.left(), plot.right()};
  y_ = AxisScale{fastest / 1.06, slowest * 1.06, plot.bottom(), plot.top(), true};
}

QPointF ParetoView::place_of(const CloudPoint& point) const {
  return {x_.at(point.peak.value()), y_.at(point.step.value())};
}

void ParetoView::draw(Canvas& canvas, const QRectF& area) {
  const QRectF frame = plot(area);
  fit_scales(frame);
  const AxisUnit size = size_axis(Bytes{x_.high()}, units());
  const AxisUnit time = time_axis(Seconds{y_.low()}, units());
  AxisScale x{x_.low() / size.size, x_.high() / size.size, frame.left(), frame.right()};
  AxisScale y{y_.low() / time.size, y_.high() / time.size, frame.bottom(), frame.top(), true};
  draw_x_axis(canvas, frame,
              even_axis(x, static_cast<int>(frame.width() / 80.0),
                        [](double v) { return QString::number(v); }),
              u"peak memory of the heaviest GPU, "_s + size.name);
  draw_y_axis(canvas, frame,
              log_axis(y, static_cast<int>(frame.height() / 48.0),
                       [](double v) { return to_text(significant_text(v)); }),
              u"step time, "_s + time.name);
  draw_points(canvas);
  draw_front(canvas);
  PointLabels labels{frame};
  draw_own(canvas, labels);
  draw_legend(
      canvas,
      {area.left(), frame.bottom() + 2.0 * line_height(small_font()) + 16.0, area.width(), 0.0},
      legend());
}

void ParetoView::draw_points(Canvas& canvas) const {
  QPainter& painter = canvas.painter();
  painter.setPen(Qt::NoPen);
  const double radius = cloud_->points.size() > 2000 ? 2.4 : 3.4;
  // The slowest first, so that the best lie on top.
  for (std::size_t i = cloud_->points.size(); i-- > 0;) {
    const CloudPoint& point = cloud_->points[i];
    painter.setBrush(veiled(paint_of(point.tensor), 0.55));
    painter.drawEllipse(place_of(point), radius, radius);
  }
  painter.setBrush(Qt::NoBrush);
}

void ParetoView::draw_front(Canvas& canvas) const {
  QPainter& painter = canvas.painter();
  const CloudPoint* before = nullptr;
  for (const CloudPoint& point : cloud_->points) {
    if (!point.front) continue;
    const QPointF at = place_of(point);
    if (before != nullptr) {
      // Between two plans of the front nothing lies below the slower one's memory.
      const QPointF from = place_of(*before);
      const QPointF corner{from.x(), at.y()};
      canvas.line(from, corner, theme().text, 1.5);
      canvas.line(corner, at, theme().text, 1.5);
    }
    before = &point;
  }
  for (const CloudPoint& point : cloud_->points) {
    if (!point.front && &point != over_) continue;
    painter.setPen(QPen{theme().text, &point == over_ ? 2.5 : 1.5});
    painter.setBrush(paint_of(point.tensor));
    painter.drawEllipse(place_of(point), 4.5, 4.5);
  }
  painter.setBrush(Qt::NoBrush);
}

void ParetoView::draw_own(Canvas& canvas, PointLabels& labels) const {
  if (!cloud_->own) return;
  const QPointF at{x_.at(cloud_->own->peak.value()), y_.at(cloud_->own->step.value())};
  canvas.painter().setPen(QPen{theme().surface, 4.0});
  canvas.painter().drawEllipse(at, 8.0, 8.0);
  canvas.painter().setPen(QPen{theme().text, 2.0});
  canvas.painter().drawEllipse(at, 8.0, 8.0);
  canvas.painter().drawLine(at - QPointF{12.0, 0.0}, at + QPointF{12.0, 0.0});
  canvas.painter().drawLine(at - QPointF{0.0, 12.0}, at + QPointF{0.0, 12.0});
  canvas.painter().setPen(Qt::NoPen);
  const double wide = text_width(u"this plan"_s, bold(small_font()));
  const double high = line_height(small_font());
  const bool right = at.x() + 22.0 + wide < x_.at(x_.high());
  canvas.box({right ? at.x() + 14.0 : at.x() - 20.0 - wide, at.y() - high / 2.0 - 1.0, wide + 6.0,
              high + 2.0},
             veiled(theme().surface, 0.85), 3.0);
  labels.place(canvas, at, 13.0, u"this plan"_s, {bold(small_font()), theme().text});
}

const CloudPoint* ParetoView::point_at(QPointF at) const {
  if (!cloud_ || !missing().isEmpty()) return nullptr;
  const CloudPoint* nearest = nullptr;
  double least = reach * reach;
  for (const CloudPoint& point : cloud_->points) {
    const QPointF away = place_of(point) - at;
    const double distance = QPointF::dotProduct(away, away);
    if (distance > least || (distance == least && nearest != nullptr)) continue;
    least = distance;
    nearest = &point;
  }
  return nearest;
}

void ParetoView::mouseMoveEvent(QMouseEvent* event) {
  const CloudPoint* point = point_at(event->position());
  if (point != over_) {
    over_ = point;
    setCursor(point != nullptr ? Qt::PointingHandCursor : Qt::ArrowCursor);
    update();
  }
  if (point == nullptr) return tip().hide();
  QStringList lines;
  lines << u"step\t"_s + time_label(point->step, units())
        << u"memory\t"_s + size_label(point->peak, units());
  for (const QString& setting : settings_of(searched_, *cloud_, *point))
    lines << setting.section(u'=', 0, 0) + u"\t"_s + setting.section(u'=', 1);
  tip().show_at(event->position(),
                point->front ? u"Nothing is both faster and lighter"_s : u"A plan that fits"_s,
                lines, theme());
}

void ParetoView::mousePressEvent(QMouseEvent* event) {
  const CloudPoint* point =
      event->button() == Qt::LeftButton ? point_at(event->position()) : nullptr;
  if (point == nullptr) return;
  Selection plan;
  plan.kind = Selection::Kind::plan;
  plan.settings = settings_of(searched_, *cloud_, *point);
  const QString why = u"plan of %1 per step"_s.arg(time_label(point->step, units()));
  Q_EMIT selected(plan);
  Q_EMIT settings_wanted(plan.settings, why);
}

void ParetoView::place_button() {
  stop_button_->adjustSize();
  stop_button_->move((width() - stop_button_->width()) / 2, height() / 2 + 28);
}

void ParetoView::resizeEvent(QResizeEvent* event) {
  ComputedView::resizeEvent(event);
  place_button();
}

void ParetoView::restyle() { update(); }

QString ParetoView::csv() const {
  if (!missing().isEmpty()) return {};
  QString text = u"step_s,peak_bytes,front,settings\n"_s;
  for (const CloudPoint& point : cloud_->points)
    text += u"%1,%2,%3,\"%4\"\n"_s.arg(point.step.value(), 0, 'g', 17)
                .arg(point.peak.value(), 0, 'f', 0)
                .arg(point.front ? 1 : 0)
                .arg(settings_of(searched_, *cloud_, point).join(u' '));
  return text;
}

}  // namespace foretrain::gui
