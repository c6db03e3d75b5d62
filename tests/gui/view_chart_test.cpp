// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "gui/views/answer_view.hpp"
#include "gui/views/gantt_rows.hpp"
#include "gui/views/registry.hpp"
#include "planner/answer/prediction_parts.hpp"
#include "planner/scene/scene_parts.hpp"
#include "planner/text/palette.hpp"
#include "planner/text/ticks.hpp"
#include "tests/gui/view_fixture.hpp"

namespace foretrain::gui {
namespace {

using fixtures::shown;
using fixtures::study;

/// Views that take seconds are drawn for fewer scenarios.
bool quick(const QString& id) {
  return id != QStringLiteral("scatter") && id != QStringLiteral("pareto");
}

}  // namespace

TEST_CASE("views: categories have the colours of the palette, as on the page", "[gui][views]") {
  for (const ThemeKind kind : {ThemeKind::light, ThemeKind::dark}) {
    const Theme& theme = theme_of(kind);
    const auto paint = [&](const Paint& of) {
      return QString::fromLatin1(theme.dark() ? of.dark : of.light);
    };
    for (const MemoryPart& look : memory_parts())
      CHECK(colour_of(theme, look.paint).name() == paint(look.paint));
    for (const TaskLook& look : task_looks)
      CHECK(slice_colour(theme, look.role, 0, 1).name() == paint(look.paint));
    for (std::size_t i = 0; i < theme.series.size(); ++i)
      CHECK(theme.series[i].name() == paint(series_paints[i]));
  }
}

TEST_CASE("views: every one draws something for every shipped scenario", "[gui][views]") {
  for (const std::string& scenario : fixtures::scenarios()) {
    const StudyPointer forecast = study(scenario);
    REQUIRE(forecast->runs());
    for (const ViewEntry& entry : view_registry()) {
      const QString id = QString::fromLatin1(entry.id);
      if (!entry.has(*forecast)) continue;
      if (!quick(id) && scenario != "llama2-70b-1024xh100") continue;
      const auto view = shown(id, forecast, {900, 560});
      const QImage image = fixtures::picture(*view);
      auto* chart = qobject_cast<ChartView*>(view.get());
      REQUIRE(chart != nullptr);
      CAPTURE(scenario, entry.id, chart->message().toStdString());
      REQUIRE(chart->message().isEmpty());
      const QRect area = chart->chart_area().toRect();
      CHECK(area.width() > 500);
      CHECK(fixtures::painted(image, area, view->theme().surface) >
            area.width() * area.height() / 60);
    }
  }
}

TEST_CASE("views: no label is cut off or lies on another, in any theme and size", "[gui][views]") {
  const std::string scenario =
      GENERATE(std::string{"llama2-70b-1024xh100"}, std::string{"llama3-8b-8xh100"},
               std::string{"llama3.1-405b-16384xh100"});
  const StudyPointer forecast = study(scenario);
  for (const QSize size : {QSize{1280, 800}, QSize{2560, 1440}, QSize{640, 420}, QSize{380, 300}})
    for (const ThemeKind theme : {ThemeKind::light, ThemeKind::dark})
      for (const ViewEntry& entry : view_registry()) {
        const QString id = QString::fromLatin1(entry.id);
        if (!entry.has(*forecast)) continue;
        if (!quick(id) && (scenario != "llama2-70b-1024xh100" || theme == ThemeKind::dark))
          continue;
        const auto view = shown(id, forecast, size, theme);
        static_cast<void>(fixtures::picture(*view));
        const auto* chart = qobject_cast<ChartView*>(view.get());
        CAPTURE(scenario, entry.id, size.width(), size.height());
        CHECK_THAT(fixtures::label_faults(*chart).toStdString(), Catch::Equals(""));
        CHECK_FALSE(chart->labels().empty());
      }
}

TEST_CASE("views: a scenario with an error is a sentence, not an empty chart", "[gui][views]") {
  Question question{"schema: 1\nname: x\nmodel: llama2-70\n", "x.yaml",
                    std::filesystem::path{FORETRAIN_SOURCE_DIR} / "scenarios"};
  const auto wrong = std::make_shared<const Study>(study_of(question));
  REQUIRE_FALSE(wrong->diagnostics.empty());
  for (const ViewEntry& entry : view_registry()) {
    const QString id = QString::fromLatin1(entry.id);
    if (id == QStringLiteral("scatter")) continue;  // needs no scenario
    const auto view = shown(id, wrong, {700, 400});
    const auto* chart = qobject_cast<ChartView*>(view.get());
    const auto* answer = qobject_cast<AnswerView*>(view.get());
    CAPTURE(entry.id);
    REQUIRE((chart != nullptr || answer != nullptr));
    CHECK((chart ? chart->message() : answer->message()).contains(QStringLiteral("x.yaml")));
  }
}

TEST_CASE("views: memory of a plan that does not fit is drawn, and says what is missing",
          "[gui][views]") {
  const StudyPointer heavy = study(
      "llama2-70b-1024xh100",
      {"parallel.pipeline=1", "parallel.tensor=2", "parallel.data=512", "memory.recompute=none"});
  REQUIRE(heavy->valid());
  REQUIRE_FALSE(heavy->runs());
  const auto view = shown(QStringLiteral("memory"), heavy, {900, 560});
  static_cast<void>(fixtures::picture(*view));
  const auto* chart = qobject_cast<ChartView*>(view.get());
  CHECK(chart->message().isEmpty());
  CHECK(chart->labels().front().text.startsWith(QStringLiteral("Does not fit")));
  for (const char* id : {"waterfall", "gantt"}) {
    const auto time = shown(QLatin1String(id), heavy, {900, 560});
    static_cast<void>(fixtures::picture(*time));
    const auto* drawn = qobject_cast<ChartView*>(time.get());
    CHECK(drawn->message().isEmpty());
    CHECK(drawn->labels().front().text.startsWith(QStringLiteral("If the plan fit")));
  }
  const auto kernels = shown(QStringLiteral("roofline"), heavy, {900, 560});
  CHECK(qobject_cast<ChartView*>(kernels.get())
            ->message()
            .contains(QStringLiteral("too much; what helps: --set ")));
}

TEST_CASE("views: numbers of the memory view are those of the forecast", "[gui][views]") {
  const StudyPointer forecast = study("llama2-70b-1024xh100");
  const auto view = shown(QStringLiteral("memory"), forecast, {900, 560});
  const MemoryForecast& memory = *forecast->report->prediction.memory;
  const QStringList lines = view->csv().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  REQUIRE(lines.size() == static_cast<int>(memory.stages.size()) + 1);
  for (std::size_t i = 0; i < memory.stages.size(); ++i) {
    const QString peak = lines[static_cast<int>(i) + 1].section(QLatin1Char(','), -1);
    CHECK(peak.toDouble() == Approx(memory.stages[i].peak.value()).margin(1.0));
  }
}

TEST_CASE("scales: ticks are round and inside", "[gui][views]") {
  CHECK(round_ticks(0.0, 88.0, 9) == std::vector<double>{0, 10, 20, 30, 40, 50, 60, 70, 80});
  CHECK(round_ticks(0.0, 5.2, 3) == std::vector<double>{0, 2, 4});
  const AxisScale scale{0.1, 1000.0, 0.0, 400.0, true};
  CHECK(scale.at(10.0) == Approx(200.0));
  CHECK(scale.value_at(300.0) == Approx(100.0));
  for (const LogTick& tick : log_ticks(0.3, 4000.0, 5)) {
    CHECK(tick.value >= 0.3 * (1 - 1e-9));
    CHECK(tick.value <= 4000.0 * (1 + 1e-9));
  }
}

}  // namespace foretrain::gui
