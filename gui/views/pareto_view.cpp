// SPDX-License-Identifier: Apache-2.0
#include "gui/views/pareto_view.hpp"

#include <QPushButton>

#include <atomic>

#include "planner/scene/scene.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

constexpr std::size_t most_points = 10'000;

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
        u"%1 of %2 combinations"_s.arg(qt_text(with_thousands(done)), qt_text(with_thousands(all)));
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
        qt_text(with_thousands(cloud_->combinations)));
  return {};
}

Scene ParetoView::scene(const SceneSpace& space) { return plan_cloud_chart(*cloud_, space); }

ChartMark ParetoView::told(const ChartMark& mark) const {
  const auto point = static_cast<std::size_t>(mark.selection.task);
  if (mark.selection.kind != Selection::Kind::plan) return mark;
  ChartMark full = mark;
  full.selection.settings =
      cloud_settings(searched_->report->scenario, *cloud_, cloud_->points[point]);
  for (const QString& setting : qt_list(full.selection.settings))
    full.lines << setting.section(u'=', 0, 0) + u"\t"_s + setting.section(u'=', 1);
  return full;
}

void ParetoView::pick(const ChartMark& mark) {
  const ChartMark full = told(mark);
  if (full.selection.kind != Selection::Kind::plan) return;
  const auto& point = cloud_->points[static_cast<std::size_t>(mark.selection.task)];
  const QString why = u"plan of %1 per step"_s.arg(time_label(point.step, units()));
  Q_EMIT selected(full.selection);
  Q_EMIT settings_wanted(qt_list(full.selection.settings), why);
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
    text +=
        u"%1,%2,%3,\"%4\"\n"_s.arg(point.step.value(), 0, 'g', 17)
            .arg(point.peak.value(), 0, 'f', 0)
            .arg(point.front ? 1 : 0)
            .arg(qt_list(cloud_settings(searched_->report->scenario, *cloud_, point)).join(u' '));
  return text;
}

}  // namespace foretrain::gui
