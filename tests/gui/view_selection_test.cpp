// SPDX-License-Identifier: Apache-2.0
#include <QKeyEvent>

#include <catch2/catch.hpp>

#include "gui/views/gantt_view.hpp"
#include "gui/views/registry.hpp"
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

TEST_CASE("selection: the bubble of the waterfall lights the idle time of the pipeline",
          "[gui][views]") {
  const StudyPointer forecast = study("llama2-70b-1024xh100");
  const auto waterfall = shown(QStringLiteral("waterfall"), forecast, {900, 560});
  const auto gantt = shown(QStringLiteral("gantt"), forecast, {900, 560});
  QObject::connect(waterfall.get(), &View::selected, gantt.get(), &View::select);
  static_cast<void>(fixtures::picture(*waterfall));
  const QColor idle = gantt->theme().idle;
  const auto idle_pixels = [&] {
    const QImage image = fixtures::picture(*gantt);
    return image.width() * image.height() - fixtures::painted(image, image.rect(), idle);
  };
  const int before = idle_pixels();
  const auto& marks = dynamic_cast<const ChartView&>(*waterfall).marks();
  const auto bubble = std::find_if(marks.begin(), marks.end(), [](const ChartMark& mark) {
    return mark.selection.name == "bubble";
  });
  REQUIRE(bubble != marks.end());
  fixtures::click(*waterfall, bubble->area.center());
  CHECK(before > 5000);
  CHECK(idle_pixels() < before / 10);
}

TEST_CASE("views: what takes a while is not made while nobody can see it", "[gui][views]") {
  fixtures::application();
  const StudyPointer forecast = study("llama2-70b-1024xh100");
  for (const char* id : {"topology", "tornado", "course", "pareto", "map", "scatter"}) {
    const std::unique_ptr<View> view{find_view(QString::fromLatin1(id))->make(nullptr)};
    view->resize(900, 560);
    view->show_study(forecast);
    CAPTURE(id);
    CHECK(view->settled());
    CHECK(view->csv().isEmpty());
    view->show();
    CHECK_FALSE(view->settled());
    fixtures::settle(*view);
    CHECK_FALSE(view->csv().isEmpty());
  }
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
  CHECK(picked.name == "kernels");
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
