// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cmath>

#include <QElapsedTimer>

#include "gui/views/gantt_view.hpp"
#include "tests/gui/view_fixture.hpp"

namespace foretrain::gui {
namespace {

using fixtures::shown;
using fixtures::study;

/// 6250 micro-batches over 8 stages: 10^5 passes and 87,500 transfers.
const StudyPointer& long_step() {
  static const StudyPointer step = study("llama2-70b-1024xh100", {"training.global_batch=100000"});
  return step;
}

double milliseconds(const QElapsedTimer& timer) {
  return static_cast<double>(timer.nsecsElapsed()) / 1e6;
}

}  // namespace

TEST_CASE("Gantt: a step of 10^5 passes zooms, pans and answers within frames",
          "[gui][views][gantt]") {
  const auto view = shown(QStringLiteral("gantt"), long_step(), {1280, 800});
  auto& gantt = dynamic_cast<GanttView&>(*view);
  REQUIRE(gantt.message().isEmpty());
  REQUIRE(gantt.picture() != nullptr);
  CHECK(gantt.picture()->slices >= 187'000);
  GanttCanvas& canvas = gantt.canvas();
  const QPointF middle{canvas.viewport()->width() / 2.0, canvas.viewport()->height() / 2.0};
  double worst = 0.0;
  double sum = 0.0;
  int frames = 0;
  const auto frame = [&] {
    QElapsedTimer timer;
    timer.start();
    static_cast<void>(fixtures::picture(gantt));
    worst = std::max(worst, milliseconds(timer));
    sum += milliseconds(timer);
    ++frames;
  };
  frame();
  for (int i = 0; i < 40; ++i) {
    fixtures::wheel(*canvas.viewport(), middle, 2);
    frame();
  }
  for (int i = 0; i < 20; ++i) {
    fixtures::drag(*canvas.viewport(), middle, middle + QPointF{90.0, 0.0});
    frame();
  }
  WARN("10^5 passes: " << sum / frames << " ms per frame on average, " << worst << " ms at worst");
  // Sanitizers and a shared machine slow this down: far from what drawing all slices would take.
  CHECK(sum / frames < 150.0);
}

TEST_CASE("Gantt: zooming keeps the time under the pointer", "[gui][views][gantt]") {
  const auto view = shown(QStringLiteral("gantt"), long_step(), {1280, 800});
  GanttCanvas& canvas = dynamic_cast<GanttView&>(*view).canvas();
  const QPointF at{700.0, 60.0};
  const Seconds before = canvas.hit(at).time;
  const double all = (canvas.visible().second - canvas.visible().first).value();
  fixtures::wheel(*canvas.viewport(), at, 10);
  const double part = (canvas.visible().second - canvas.visible().first).value();
  CHECK(part < all / 4.0);
  CHECK(canvas.hit(at).time.value() == Approx(before.value()).margin(2.0 * part / 1280.0));
  canvas.show_all();
  CHECK((canvas.visible().second - canvas.visible().first).value() == Approx(all));
}

TEST_CASE("Gantt: dragging moves the time, and never beyond the step", "[gui][views][gantt]") {
  const auto view = shown(QStringLiteral("gantt"), study("llama2-70b-1024xh100"), {1280, 800});
  GanttCanvas& canvas = dynamic_cast<GanttView&>(*view).canvas();
  fixtures::wheel(*canvas.viewport(), {600.0, 60.0}, 8);
  const Seconds before = canvas.visible().first;
  fixtures::drag(*canvas.viewport(), {600.0, 60.0}, {400.0, 60.0});
  CHECK((canvas.visible().first - before).value() ==
        Approx(200.0 / canvas.pixels_per_second()).epsilon(0.02));
  for (int i = 0; i < 200; ++i) fixtures::drag(*canvas.viewport(), {100.0, 60.0}, {900.0, 60.0});
  CHECK(canvas.visible().first.value() == Approx(0.0).margin(1e-6));
}

TEST_CASE("Gantt: what is clicked is the task that runs there", "[gui][views][gantt]") {
  const StudyPointer forecast = study("llama2-70b-1024xh100");
  const auto view = shown(QStringLiteral("gantt"), forecast, {1280, 800});
  auto& gantt = dynamic_cast<GanttView&>(*view);
  GanttCanvas& canvas = gantt.canvas();
  Selection picked;
  QObject::connect(view.get(), &View::selected, [&](const Selection& s) { picked = s; });
  const auto& graph = forecast->path->graph;
  int tried = 0;
  for (std::size_t id = 0; id < graph.tasks.size(); id += 97) {
    const Task& task = graph.tasks[id];
    if (task.stream != StreamKind::compute || task.micro < 0) continue;
    const Seconds middle =
        (forecast->path->timeline.start[id] + forecast->path->timeline.end[id]) / 2.0;
    fixtures::click(*canvas.viewport(), {canvas.x_of(middle), canvas.lane_y(task.rank)});
    CAPTURE(id, task.rank, task.micro);
    CHECK(picked.kind == Selection::Kind::task);
    CHECK(picked.stage == task.rank);
    CHECK(picked.task == static_cast<std::int64_t>(id));
    ++tried;
  }
  CHECK(tried > 5);
}

TEST_CASE("Gantt: idle time of the first stage of 1F1B shows as ground", "[gui][views][gantt]") {
  const StudyPointer forecast = study("llama2-70b-1024xh100");
  const auto view = shown(QStringLiteral("gantt"), forecast, {1280, 800});
  auto& gantt = dynamic_cast<GanttView&>(*view);
  GanttCanvas& canvas = gantt.canvas();
  const QImage image = fixtures::picture(gantt);
  const QPoint origin = canvas.geometry().topLeft();
  // Between its warm-up and the first backward pass that reaches it, stage 0 waits.
  const auto& work = gantt.picture()->rows.front().work.slices();
  std::size_t gap = 1;
  for (std::size_t i = 1; i < work.size() / 2; ++i)
    if (work[i].from - work[i - 1].to > work[gap].from - work[gap - 1].to) gap = i;
  const Seconds middle = (work[gap].from + work[gap - 1].to) / 2.0;
  const int x = origin.x() + static_cast<int>(canvas.x_of(middle));
  const int y = origin.y() + static_cast<int>(canvas.lane_y(0));
  CHECK(image.pixelColor(x, y) == view->theme().idle);
  CHECK(canvas.hit({canvas.x_of(middle), canvas.lane_y(0)}).task == -1);
}

TEST_CASE("Gantt: zoomed out, steady rounds look the same all along the step",
          "[gui][views][gantt]") {
  // A steady 1F1B: forward 1, backward 2.07 and a little idle time, 700 micro-batches.
  std::vector<StepSlice> slices;
  constexpr double forward = 1.0, backward = 2.07, round = 3.1;
  for (int i = 0; i < 700; ++i) {
    const double from = i * round;
    const auto task = static_cast<std::uint32_t>(2 * i);
    slices.push_back({Seconds{from}, Seconds{from + forward}, task, TaskRole::forward, i, 0});
    slices.push_back({Seconds{from + forward}, Seconds{from + forward + backward}, task + 1,
                      TaskRole::backward, i, 0});
  }
  const GanttBand band{slices, Seconds{700 * round}};
  CHECK(band.round().value() == Approx(round));
  for (const double least : {2.0, 5.0, 7.3, 41.0}) {
    const Seconds length = band.bin_length(Seconds{least});
    CHECK(length.value() >= least);
    CHECK(std::remainder(length.value(), round) == Approx(0.0).margin(1e-9));
    CAPTURE(least, length.value());
    for (int bin = 0; (bin + 1) * length.value() < 699 * round; bin += 3) {
      const GanttCell cell = band.mean(bin * length, (bin + 1) * length);
      const std::size_t place = cell.role[0] == TaskRole::forward ? 0 : 1;
      CHECK(cell.share.at(place) == Approx(forward / round).margin(0.02));
      CHECK(cell.share.at(1 - place) == Approx(backward / round).margin(0.02));
    }
  }
}

TEST_CASE("Gantt: cells of any level hold the busy time of the slices", "[gui][views][gantt]") {
  std::vector<StepSlice> slices;
  double busy = 0.0;
  for (int i = 0; i < 5000; ++i) {
    const double from = i * 1e-3;
    const double length = 1e-4 * (1 + i % 9);
    slices.push_back({Seconds{from}, Seconds{from + length}, static_cast<std::uint32_t>(i),
                      i % 2 == 0 ? TaskRole::forward : TaskRole::backward, i, 0});
    busy += length;
  }
  const GanttBand band{slices, Seconds{5.0}};
  for (const double length : {1.0, 0.01, 1e-3, 1e-6}) {
    const std::size_t level = band.level_for(Seconds{length});
    double sum = 0.0;
    for (const GanttCell& cell : band.cells(level)) sum += static_cast<double>(cell.busy());
    CHECK(sum * band.cell_length(level).value() == Approx(busy).epsilon(1e-3));
  }
  CHECK(band.at(Seconds{1.00005}) == 1000);
  CHECK(band.at(Seconds{0.00099}) == -1);
  CHECK(band.within(Seconds{1.0}, Seconds{1.0105}) ==
        std::pair<std::size_t, std::size_t>{1000, 1011});
}

}  // namespace foretrain::gui
