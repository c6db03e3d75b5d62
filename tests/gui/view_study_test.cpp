// SPDX-License-Identifier: Apache-2.0
// Views that compute on threads of their own.
#include <catch2/catch.hpp>

#include <QElapsedTimer>

#include "gui/views/course_view.hpp"
#include "gui/views/map_view.hpp"
#include "gui/views/pareto_view.hpp"
#include "gui/views/scatter_view.hpp"
#include "tests/gui/view_fixture.hpp"

namespace foretrain::gui {
namespace {

using fixtures::shown;
using fixtures::study;

/// What a view asks the editor for.
struct Wanted {
  QStringList settings;
  QString why;
};

Wanted& listen(View& view, Wanted& wanted) {
  QObject::connect(&view, &View::settings_wanted,
                   [&](const QStringList& settings, const QString& why) {
                     wanted = {settings, why};
                   });
  return wanted;
}

}  // namespace

TEST_CASE("plans: thousands of points are drawn, and a click on one wants its settings",
          "[gui][views]") {
  const auto view = shown(QStringLiteral("pareto"), study("llama2-70b-1024xh100"), {1280, 800});
  auto& plans = dynamic_cast<ParetoView&>(*view);
  REQUIRE(plans.cloud() != nullptr);
  CHECK(plans.cloud()->points.size() > 4'000);
  QElapsedTimer timer;
  timer.start();
  static_cast<void>(fixtures::picture(plans));
  WARN("thousands of plans: drawn in " << timer.elapsed() << " ms");
  Wanted wanted;
  listen(plans, wanted);
  const auto fastest =
      std::find_if(plans.marks().begin(), plans.marks().end(), [](const ChartMark& mark) {
        return mark.selection.kind == Selection::Kind::plan && mark.selection.task == 0;
      });
  REQUIRE(fastest != plans.marks().end());
  fixtures::click(plans, fastest->area.center());
  REQUIRE_FALSE(wanted.settings.isEmpty());
  CHECK(wanted.settings.filter(QStringLiteral("parallel.tensor=")).size() == 1);
  CHECK(wanted.why.startsWith(QStringLiteral("plan of ")));
}

TEST_CASE("plans: a search that is stopped leaves a sentence, a new study starts again",
          "[gui][views]") {
  fixtures::application();
  ParetoView plans{nullptr};
  plans.resize(900, 600);
  plans.show_study(study("llama2-70b-1024xh100"));
  CHECK(plans.settled());  // hidden: nothing is computed
  plans.show();
  CHECK_FALSE(plans.settled());
  plans.stop();
  CHECK(plans.settled());
  CHECK(plans.message().contains(QStringLiteral("stopped")));
  plans.show_study(study("llama3-8b-8xh100"));
  fixtures::settle(plans);
  CHECK(plans.message().isEmpty());
}

TEST_CASE("sweep: a click on a cell wants its combination, axes can be chosen", "[gui][views]") {
  const auto view = shown(QStringLiteral("map"), study("llama2-70b-1024xh100"), {1000, 640});
  auto& map = dynamic_cast<MapView&>(*view);
  REQUIRE(map.set_axes(QStringLiteral("training.micro_batch"), QStringLiteral("memory.recompute")));
  CHECK_FALSE(map.set_axes(QStringLiteral("parallel.zero"), QStringLiteral("parallel.zero")));
  CHECK_FALSE(map.set_axes(QStringLiteral("no.such.key"), QStringLiteral("parallel.zero")));
  fixtures::settle(map);
  static_cast<void>(fixtures::picture(map));
  Wanted wanted;
  listen(map, wanted);
  const auto cell = std::find_if(map.marks().begin(), map.marks().end(), [](const ChartMark& mark) {
    return mark.selection.kind == Selection::Kind::plan;
  });
  REQUIRE(cell != map.marks().end());
  const QStringList settings = qt_list(cell->selection.settings);
  fixtures::click(map, cell->area.center());
  CHECK(wanted.settings == settings);
  CHECK(wanted.settings.filter(QStringLiteral("memory.recompute=")).size() == 1);
}

TEST_CASE("memory over time: follows the picked stage, and peaks where the forecast does",
          "[gui][views]") {
  const StudyPointer forecast = study("llama2-70b-1024xh100");
  const auto view = shown(QStringLiteral("course"), forecast, {900, 560});
  auto& course = dynamic_cast<CourseView&>(*view);
  const auto& stages = forecast->report->prediction.memory->stages;
  for (const int stage : {5, 0}) {
    Selection picked;
    picked.kind = Selection::Kind::stage;
    picked.stage = stage;
    course.select(picked);
    fixtures::settle(course);
    REQUIRE(course.course() != nullptr);
    CHECK(course.course()->stage == stage);
    CHECK(course.course()->points[course.course()->peak].total().value() ==
          Approx(stages[static_cast<std::size_t>(stage)].peak.value()).epsilon(1e-9));
  }
}

TEST_CASE("accuracy: every compared step time of the shipped records is a point", "[gui][views]") {
  const auto view = shown(QStringLiteral("scatter"), study("llama3-8b-8xh100"), {1280, 800});
  auto& scatter = dynamic_cast<ScatterView&>(*view);
  static_cast<void>(fixtures::picture(scatter));
  CHECK(scatter.marks().size() > 1500);
  CHECK(scatter.marks().front().lines.size() == 5);
  // The error to expect comes first: of sources that the profiles were not fitted on.
  CHECK(scatter.labels().front().text.startsWith(QStringLiteral("Sources left out of the fit")));
}

TEST_CASE("network: links that an event run lists are coloured and told", "[gui][views]") {
  const StudyPointer plain = study("llama2-70b-1024xh100");
  const auto cold = shown(QStringLiteral("topology"), plain, {1000, 640});
  const QImage before = fixtures::picture(*cold);
  auto answer = std::make_shared<EventAnswer>();
  answer->links = {{"leaf0>spine3", Bytes{1e11}, 0.61}, {"leaf4>spine0", Bytes{8e10}, 0.5}};
  const auto played = std::make_shared<const Study>(with_event(*plain, answer));
  const auto hot = shown(QStringLiteral("topology"), played, {1000, 640});
  CHECK(fixtures::picture(*hot) != before);
  const auto& chart = dynamic_cast<const ChartView&>(*hot);
  CHECK(chart.labels().front().text.contains(QStringLiteral("61.0 %")));
  const auto leaf =
      std::find_if(chart.marks().begin(), chart.marks().end(),
                   [](const ChartMark& m) { return m.title == QStringLiteral("Leaf 4"); });
  REQUIRE(leaf != chart.marks().end());
  CHECK(leaf->lines.join(QLatin1Char('\n')).contains(QStringLiteral("50.0 %")));
}

}  // namespace foretrain::gui
