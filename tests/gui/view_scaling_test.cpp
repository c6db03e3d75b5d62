// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <QChart>
#include <QLineSeries>

#include "gui/views/scaling_view.hpp"
#include "tests/gui/view_fixture.hpp"

namespace foretrain::gui {

TEST_CASE("scaling: curves meet at the machine of the scenario", "[gui][views][scaling]") {
  const auto view = fixtures::shown(QStringLiteral("scaling"),
                                    fixtures::study("llama2-70b-1024xh100"), {900, 600});
  const auto& scaling = dynamic_cast<const ScalingView&>(*view);
  REQUIRE(scaling.message().isEmpty());
  const auto series = scaling.chart().series();
  REQUIRE(series.size() == 3);
  for (const QAbstractSeries* one : series) {
    const auto points = dynamic_cast<const QLineSeries&>(*one).points();
    REQUIRE(points.size() == 7);
    CHECK(points[3].x() == 1024.0);
    CHECK(points[3].y() == Approx(100.0));
  }
  CHECK(scaling.csv().count(QLatin1Char('\n')) == 15);
}

TEST_CASE("scaling: a plan that cannot run has no curves", "[gui][views][scaling]") {
  const auto view = fixtures::shown(
      QStringLiteral("scaling"),
      fixtures::study("llama2-70b-1024xh100", {"parallel.tensor=1", "parallel.pipeline=1",
                                               "parallel.data=1024", "parallel.sequence=false"}),
      {900, 600});
  const auto& scaling = dynamic_cast<const ScalingView&>(*view);
  CHECK_FALSE(scaling.message().isEmpty());
  CHECK(scaling.chart().series().isEmpty());
}

TEST_CASE("scaling: a click on a point asks for its machine", "[gui][views][scaling]") {
  const auto view = fixtures::shown(QStringLiteral("scaling"),
                                    fixtures::study("llama2-70b-1024xh100"), {900, 600});
  const auto& chart = dynamic_cast<const ScalingView&>(*view).chart();
  QStringList wanted;
  QObject::connect(view.get(), &View::settings_wanted,
                   [&](const QStringList& settings, const QString&) { wanted = settings; });
  auto* line = dynamic_cast<QLineSeries*>(chart.series().back());
  REQUIRE(line != nullptr);
  Q_EMIT line->clicked(line->points().back());
  CHECK(wanted == QStringList{QStringLiteral("cluster.hosts=1024"),
                              QStringLiteral("training.global_batch=1024"),
                              QStringLiteral("parallel.data=128")});
}

}  // namespace foretrain::gui
