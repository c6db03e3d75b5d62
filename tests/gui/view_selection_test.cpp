// SPDX-License-Identifier: Apache-2.0
#include <QKeyEvent>

#include <catch2/catch.hpp>

#include "gui/views/gantt_view.hpp"
#include "tests/gui/view_fixture.hpp"

namespace foretrain::gui {
namespace {

using fixtures::shown;
using fixtures::study;

bool has_bold_label(const ChartView& view, const QString& text) {
  for (const DrawnLabel& label : view.labels())
    if (label.text == text) return true;
  return false;
}

}  // namespace

TEST_CASE("selection: a stage that is clicked in the memory view is picked in the pipeline",
          "[gui][views]") {
  const StudyPointer forecast = study("llama2-70b-1024xh100");
  const auto memory = shown(QStringLiteral("memory"), forecast, {900, 560});
  const auto gantt = shown(QStringLiteral("gantt"), forecast, {900, 560});
  QObject::connect(memory.get(), &View::selected, gantt.get(), &View::select);
  const QImage before = fixtures::picture(*gantt);
  static_cast<void>(fixtures::picture(*memory));
  const auto& chart = dynamic_cast<const ChartView&>(*memory);
  const auto mark = std::find_if(chart.marks().begin(), chart.marks().end(),
                                 [](const ChartMark& m) { return m.selection.stage == 5; });
  REQUIRE(mark != chart.marks().end());
  fixtures::click(*memory, mark->area.center());
  static_cast<void>(fixtures::picture(*memory));
  CHECK(has_bold_label(chart, QStringLiteral("Stage 5")));
  CHECK(fixtures::picture(*gantt) != before);
}

TEST_CASE("selection: a click on a stage of the pipeline shows its memory", "[gui][views]") {
  const StudyPointer forecast = study("llama2-70b-1024xh100");
  const auto memory = shown(QStringLiteral("memory"), forecast, {900, 560});
  const auto view = shown(QStringLiteral("gantt"), forecast, {900, 560});
  QObject::connect(view.get(), &View::selected, memory.get(), &View::select);
  GanttCanvas& canvas = dynamic_cast<GanttView&>(*view).canvas();
  fixtures::click(*canvas.viewport(), {300.0, canvas.lane_y(3)});
  static_cast<void>(fixtures::picture(*memory));
  CHECK(has_bold_label(dynamic_cast<const ChartView&>(*memory), QStringLiteral("Stage 3")));
}

TEST_CASE("selection: arrows and Enter pick what a click picks", "[gui][views]") {
  const StudyPointer forecast = study("llama2-70b-1024xh100");
  const auto view = shown(QStringLiteral("waterfall"), forecast, {900, 560});
  static_cast<void>(fixtures::picture(*view));
  Selection picked;
  QObject::connect(view.get(), &View::selected, [&](const Selection& s) { picked = s; });
  for (const int key : {Qt::Key_Down, Qt::Key_Down, Qt::Key_Return}) {
    QKeyEvent event{QEvent::KeyPress, key, Qt::NoModifier};
    QApplication::sendEvent(view.get(), &event);
  }
  CHECK(picked.kind == Selection::Kind::part);
  CHECK(picked.part == QStringLiteral("kernels"));
}

TEST_CASE("selection: the same selection twice does not draw or tell again", "[gui][views]") {
  const auto view = shown(QStringLiteral("memory"), study("llama2-70b-1024xh100"), {900, 560});
  int told = 0;
  QObject::connect(view.get(), &View::selected, [&] { ++told; });
  Selection stage;
  stage.kind = Selection::Kind::stage;
  stage.stage = 2;
  view->select(stage);
  view->select(stage);
  CHECK(told == 0);
}

}  // namespace foretrain::gui
