// SPDX-License-Identifier: Apache-2.0
#include "gui/views/gantt_view.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "planner/text/format.hpp"
#include "planner/text/task_looks.hpp"
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
  if (!picture_ && !study()->path_note.empty()) return to_text(study()->path_note);
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

ChartHeadline GanttView::headline() const {
  ChartHeadline line;
  if (!study() || study()->step() == nullptr) return line;
  const Job& job = report().scenario.job;
  const StepForecast& step = *study()->step();
  const double bubble = step.breakdown.bubble / step.time;
  line.text =
      job.parallel.pipeline > 1
          ? u"Stages wait %1 of the step for the pipeline"_s.arg(to_text(percent_text(bubble)))
          : u"One stage: nothing waits for a pipeline"_s;
  if (!study()->runs()) line.text.prepend(u"If the plan fit: "_s);
  line.detail =
      u"%1 stage%2, %3%4, %5 micro-batches; step %6"_s.arg(job.parallel.pipeline)
          .arg(job.parallel.pipeline == 1 ? u""_s : u"s"_s,
               to_text(std::string{name_of(job.parallel.schedule)}),
               job.parallel.virtual_stages > 1
                   ? u" with %1 chunks per stage"_s.arg(job.parallel.virtual_stages)
                   : u""_s,
               to_text(with_thousands(job.microbatches())), time_label(step.time, units()));
  if (study()->path && std::abs(study()->path->stretch() - 1.0) > 0.0005)
    line.detail += u", %1 times what is drawn (stragglers)"_s.arg(
        to_text(fixed_text(study()->path->stretch(), 3)));
  return line;
}

std::vector<LegendEntry> GanttView::legend() const {
  std::vector<LegendEntry> entries;
  std::set<TaskRole> roles;
  for (const GanttPicture::Row& row : picture_->rows)
    for (const auto* band : {&row.work, &row.exchange, &row.data})
      for (const StepSlice& slice : band->slices()) roles.insert(slice.role);
  for (const TaskLook& look : task_looks)
    if (roles.contains(look.role))
      entries.push_back({slice_colour(theme(), look.role, 0, 1), QLatin1String(look.name)});
  entries.push_back({theme().idle, u"idle"_s});
  entries.push_back({theme().text, u"critical path"_s});
  return entries;
}

double GanttView::label_width() const { return text_width(u"stage 000"_s, small_font()) + 10.0; }

QRectF GanttView::plot() const {
  const QRectF area = space();
  const double axis = line_height(small_font()) + 8.0;
  return area.adjusted(label_width(), axis, 0.0, -legend_height(area.width(), legend()) - 8.0);
}

void GanttView::place_canvas() {
  const bool shown = missing().isEmpty();
  canvas_->setVisible(shown);
  if (!shown) return;
  QRectF area = plot();
  const auto rows = static_cast<double>(picture_->rows.size());
  area.setHeight(std::min(area.height(), GanttCanvas::most_lane * rows));
  canvas_->setGeometry(area.toRect());
}

void GanttView::draw(Canvas& canvas, const QRectF& area) {
  const QRectF lanes = canvas_->geometry();
  const auto [from, to] = canvas_->visible();
  const AxisUnit unit = seconds_axis(to, units());
  const int most = std::max(2, static_cast<int>(lanes.width() / 110.0));
  const double top = area.top();
  for (const double tick : round_ticks(from.value() / unit.size, to.value() / unit.size, most)) {
    const double x = lanes.left() + canvas_->x_of(Seconds{tick * unit.size});
    if (x < lanes.left() - 0.5 || x > lanes.right() + 0.5) continue;
    canvas.line({std::round(x) + 0.5, lanes.top() - 5.0}, {std::round(x) + 0.5, lanes.top()},
                theme().muted);
    const QString text = QString::number(tick, 'g', 8) + u" "_s + to_text(unit.name);
    const double half = text_width(text, small_font()) / 2.0;
    canvas.text({std::clamp(x, lanes.left() + half, area.right() - half), top},
                Qt::AlignHCenter | Qt::AlignTop, text, {small_font(), theme().muted});
  }
  const int stages = static_cast<int>(picture_->rows.size());
  const double least = line_height(small_font());
  const int every = std::max(1, static_cast<int>(std::ceil(least / canvas_->lane_height())));
  for (int stage = 0; stage < stages; stage += every) {
    const double y = lanes.top() + canvas_->lane_y(stage);
    if (y < lanes.top() + least / 2.0 - 2.0 || y > lanes.bottom() - least / 2.0 + 2.0) continue;
    const bool picked = selection().stage == stage;
    if (picked)
      canvas.box({area.left(), y - least / 2.0 - 2.0, label_width() - 6.0, least + 4.0},
                 veiled(theme().accent, 0.2), 4.0);
    canvas.text({area.left() + 4.0, y}, Qt::AlignLeft | Qt::AlignVCenter, u"stage %1"_s.arg(stage),
                {picked ? bold(small_font()) : small_font(), picked ? theme().text : theme().muted},
                label_width() - 8.0);
  }
  draw_legend(canvas, {area.left(), lanes.bottom() + 10.0, area.width(), 0.0}, legend());
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
                 to_text(percent_text(picture_->rows[static_cast<std::size_t>(hit.stage)].busy /
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
  if (!link.empty()) lines << u"over\t"_s + to_text(link);
  if (picture_->critical[id]) lines << u"on the critical path"_s;
  tip().show_at(here, u"Stage %1: %2"_s.arg(hit.stage).arg(to_text(slice_name(drawn_->graph, id))),
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
                    .arg(to_text(std::string{name_of(graph.tasks[slice.task].stream)}),
                         to_text(std::string{name_of(slice.role)}))
                    .arg(slice.micro)
                    .arg(slice.chunk)
                    .arg(slice.from.value(), 0, 'g', 17)
                    .arg(slice.to.value(), 0, 'g', 17);
  }
  return text;
}

}  // namespace foretrain::gui
