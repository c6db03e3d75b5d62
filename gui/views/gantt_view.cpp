// SPDX-License-Identifier: Apache-2.0
#include "gui/views/gantt_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "planner/text/format.hpp"
#include "planner/text/palette.hpp"
#include "planner/text/ticks.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

constexpr std::size_t quick_tasks = 20'000;  ///< more are sorted on a thread

}  // namespace

GanttView::GanttView(QWidget* parent)
    : ChartView{parent}, canvas_{new GanttCanvas{this}}, background_{new Background{this}} {
  canvas_->hide();
  connect(canvas_, &GanttCanvas::moved, this, qOverload<>(&QWidget::update));
  connect(canvas_, &GanttCanvas::pointed, this, &GanttView::point);
  connect(canvas_, &GanttCanvas::left, this, [this] { tip().hide(); });
  connect(canvas_, &GanttCanvas::clicked, this, &GanttView::pick_hit);
  connect(background_, &Background::finished, this, &View::became_settled);
}

QString GanttView::missing() const {
  if (QString why = missing_step(study());
      !why.isEmpty() && (!study() || study()->step() == nullptr))
    return why;
  if (study()->path_due || background_->running()) return u"Laying out the step…"_s;
  if (!picture_ && !study()->path_note.empty()) return qt_text(study()->path_note);
  if (!picture_) return u"There is no task graph of this step."_s;
  return {};
}

bool GanttView::settled() const {
  return !background_->running() && !(study() && study()->path_due);
}

void GanttView::renew() {
  const auto path = study() ? study()->path : nullptr;
  if (path == drawn_ && path) {
    place_canvas();
    return;
  }
  drawn_ = path;
  canvas_->set_picked(selection().stage, -1);  // ids belong to one graph
  background_->cancel();
  if (!path || path->graph.tasks.empty()) return take(nullptr);
  if (path->graph.tasks.size() <= quick_tasks)
    return take(std::make_shared<const GanttPicture>(gantt_picture(*path)));
  take(nullptr);
  background_->start(
      [this, path](const std::stop_token&, std::uint64_t) -> Background::Deliver {
        auto picture = std::make_shared<const GanttPicture>(gantt_picture(*path));
        return [this, picture] { take(picture); };
      },
      [](const QString&) {});
  place_canvas();
}

void GanttView::take(std::shared_ptr<const GanttPicture> picture) {
  picture_ = std::move(picture);
  if (picture_ && picture_->makespan <= Seconds{}) picture_ = nullptr;
  canvas_->set_picture(picture_);
  place_canvas();
  update();
}

void GanttView::restyle() {
  canvas_->set_theme(theme());
  place_canvas();
  update();
}

void GanttView::resizeEvent(QResizeEvent* event) {
  ChartView::resizeEvent(event);
  place_canvas();
}

SceneHeadline GanttView::headline() const {
  if (!study() || study()->step() == nullptr) return {};
  const Job& job = report().scenario.job;
  const StepForecast& step = *study()->step();
  SceneHeadline line;
  line.text = job.parallel.pipeline > 1
                  ? fmt::format("Stages wait {} of the step for the pipeline",
                                percent_text(step.breakdown.bubble / step.time))
                  : "One stage: nothing waits for a pipeline";
  if (!study()->runs()) line.text = "If the plan fit: " + line.text;
  line.detail =
      fmt::format("{} stage{}, {}{}, {} micro-batches; step {}", job.parallel.pipeline,
                  job.parallel.pipeline == 1 ? "" : "s", name_of(job.parallel.schedule),
                  job.parallel.virtual_stages > 1
                      ? fmt::format(" with {} chunks per stage", job.parallel.virtual_stages)
                      : std::string{},
                  with_thousands(job.microbatches()), seconds_text(step.time, units()));
  if (study()->path && std::abs(study()->path->stretch() - 1.0) > 0.0005)
    line.detail += fmt::format(", {} times what is drawn (stragglers)",
                               fixed_text(study()->path->stretch(), 3));
  return line;
}

std::vector<LegendEntry> GanttView::legend() const {
  std::vector<LegendEntry> entries;
  std::set<TaskRole> roles;
  for (const GanttPicture::Row& row : picture_->rows)
    for (const auto* band : {&row.work, &row.exchange, &row.data})
      for (const StepSlice& slice : band->slices()) roles.insert(slice.role);
  for (const TaskLook& look : task_looks)
    if (roles.contains(look.role)) entries.push_back({look.paint, look.name});
  entries.push_back({Ink::idle, "idle"});
  entries.push_back({Ink::text, "critical path"});
  return entries;
}

/// Where the lanes have room, under the headline.
SceneArea GanttView::plot(Scene& scene) const {
  const SceneArea area = scene.headline(headline());
  SceneArea plot = area.inside(scene.text_width("stage 000") + 10.0, scene.line_height() + 8.0, 0.0,
                               legend_height(scene, area.width, legend()) + 8.0);
  plot.height =
      std::min(plot.height, GanttCanvas::most_lane * static_cast<double>(picture_->rows.size()));
  return plot;
}

void GanttView::place_canvas() {
  const bool shown = missing().isEmpty();
  canvas_->setVisible(shown);
  if (!shown) return;
  Scene scene{scene_space()};
  canvas_->setGeometry(to_rect(plot(scene)).toRect());
}

Scene GanttView::scene(const SceneSpace& space) {
  using enum Scene::Across;
  Scene scene{space};
  static_cast<void>(plot(scene));
  const SceneArea& area = scene.chart;
  const QRectF lanes = canvas_->geometry();
  const auto [from, to] = canvas_->visible();
  const AxisUnit unit = seconds_axis(to, units());
  const int most = std::max(2, static_cast<int>(lanes.width() / 110.0));
  for (const double tick : round_ticks(from.value() / unit.size, to.value() / unit.size, most)) {
    const double x = lanes.left() + canvas_->x_of(Seconds{tick * unit.size});
    if (x < lanes.left() - 0.5 || x > lanes.right() + 0.5) continue;
    scene.line({std::round(x) + 0.5, lanes.top() - 5.0}, {std::round(x) + 0.5, lanes.top()},
               Ink::muted);
    const std::string words = tick_text(tick) + " " + unit.name;
    const double half = scene.text_width(words) / 2.0;
    scene.text({std::clamp(x, lanes.left() + half, area.right() - half), area.top}, middle,
               Scene::Down::top, words);
  }
  const double least = scene.line_height();
  const int every = std::max(1, static_cast<int>(std::ceil(least / canvas_->lane_height())));
  for (int stage = 0; stage < static_cast<int>(picture_->rows.size()); stage += every) {
    const double y = lanes.top() + canvas_->lane_y(stage);
    if (y < lanes.top() + least / 2.0 - 2.0 || y > lanes.bottom() - least / 2.0 + 2.0) continue;
    const bool picked = selection().stage == stage;
    const double wide = lanes.left() - area.left;
    if (picked)
      scene.box({area.left, y - least / 2.0 - 2.0, wide - 6.0, least + 4.0}, {Ink::accent, 0.2},
                4.0);
    scene.text({area.left + 4.0, y}, start, Scene::Down::middle, "stage " + std::to_string(stage),
               {picked ? Ink::text : Ink::muted, LetterSize::small, picked}, wide - 8.0);
  }
  add_legend(scene, {area.left, lanes.bottom() + 10.0, area.width, 0.0}, legend());
  return scene;
}

void GanttView::select(const Selection& selection) {
  ChartView::select(selection);
  canvas_->set_picked(selection.stage, selection.task);
  canvas_->set_bubbles_lit(selection.kind == Selection::Kind::part && selection.name == "bubble");
}

void GanttView::point(const GanttHit& hit, QPointF at) {
  if (hit.stage < 0 || !picture_ || !drawn_) return tip().hide();
  const QPointF here = at + canvas_->geometry().topLeft();
  QStringList lines;
  if (hit.task < 0) {
    lines << u"at\t"_s + time_label(hit.time, units())
          << u"stage is busy\t"_s +
                 qt_text(percent_text(picture_->rows[static_cast<std::size_t>(hit.stage)].busy /
                                      picture_->makespan));
    return tip().show_at(here, u"Stage %1: idle"_s.arg(hit.stage), lines, theme());
  }
  const auto id = static_cast<std::uint32_t>(hit.task);
  const auto& timeline = drawn_->timeline;
  const TaskCost& cost = drawn_->graph.cost_of(id);
  lines << u"takes\t"_s + time_label(timeline.end[id] - timeline.start[id], units())
        << u"from\t"_s + time_label(timeline.start[id], units());
  if (cost.bytes > Bytes{}) lines << u"moves\t"_s + size_label(cost.bytes, units());
  const std::string link = slice_link(report().scenario.job, drawn_->graph, id);
  if (!link.empty()) lines << u"over\t"_s + qt_text(link);
  if (picture_->critical[id]) lines << u"on the critical path"_s;
  tip().show_at(here, u"Stage %1: %2"_s.arg(hit.stage).arg(qt_text(slice_name(drawn_->graph, id))),
                lines, theme());
}

void GanttView::pick_hit(const GanttHit& hit) {
  if (hit.stage < 0) return;
  Selection picked;
  picked.kind = hit.task >= 0 ? Selection::Kind::task : Selection::Kind::stage;
  picked.stage = hit.stage;
  picked.task = hit.task;
  select(picked);
  Q_EMIT selected(picked);
}

QString GanttView::csv() const {
  if (!missing().isEmpty()) return {};
  QString text = u"stage,stream,role,micro_batch,chunk,start_s,end_s\n"_s;
  const auto& graph = drawn_->graph;
  for (std::size_t stage = 0; stage < picture_->rows.size(); ++stage) {
    const GanttPicture::Row& row = picture_->rows[stage];
    for (const auto* band : {&row.work, &row.exchange, &row.data})
      for (const StepSlice& slice : band->slices())
        text += u"%1,%2,%3,%4,%5,%6,%7\n"_s.arg(stage)
                    .arg(qt_text(std::string{name_of(graph.tasks[slice.task].stream)}),
                         qt_text(std::string{name_of(slice.role)}))
                    .arg(slice.micro)
                    .arg(slice.chunk)
                    .arg(slice.from.value(), 0, 'g', 17)
                    .arg(slice.to.value(), 0, 'g', 17);
  }
  return text;
}

}  // namespace foretrain::gui
