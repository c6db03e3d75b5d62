// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/studies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "models/base/require.hpp"
#include "planner/answer/value_csv.hpp"
#include "planner/evidence/internal/validate_report.hpp"
#include "planner/scene/scene_parts.hpp"
#include "planner/text/format.hpp"
#include "scenarios/catalog/band_table_file.hpp"

namespace foretrain {
namespace {

constexpr double family_rows = 60.0;  // as many of one source as the fit of constants counts
constexpr int telling = 10;           // cases from which a family's coverage says something

std::vector<AnswerCell> score_row(const std::string& name, const BandScore& score) {
  return {name, with_thousands(score.cases), fixed_text(100.0 * score.covered, 0),
          percent_figure(score.width, 1), percent_figure(score.score, 1)};
}

AnswerSection widths_section(const BandReport& report) {
  AnswerTable table{{words_column("kind"), number_column("cases"), number_column("down"),
                     number_column("up"), number_column("down now"), number_column("up now")}};
  std::size_t at = 0;
  for (const auto& [kind, name] : EnumNames<BandKind>::names) {
    const BandSides& fitted = foretrain::at(report.fitted.widths, kind);
    const BandSides& shipped = foretrain::at(report.shipped.widths, kind);
    table.add({std::string(name), with_thousands(report.counts[at++]),
               percent_figure(fitted.low, 1), percent_figure(fitted.high, 1),
               percent_figure(shipped.low, 1), percent_figure(shipped.high, 1)});
  }
  return {"Widths by what is not known, percent",
          {std::move(table),
           AnswerLine{"They add up as the root of squares; residual and network count by a share "
                      "of the step, scale and tensor by doubling. now: as shipped."}}};
}

AnswerSection scores_section(const BandCheck& check) {
  AnswerTable table{{words_column("left out"), number_column("cases"), number_column("held"),
                     number_column("width"), number_column("score")}};
  for (const auto& [axis, score] : check.axes)
    table.add(score_row(std::string(name_of(axis)), score));
  table.add(score_row("all", check.all));
  table.add(score_row("all, +-" + percent_figure(check.constant, 1), check.constant_all));
  for (const auto& [family, score] : check.families)
    if (score.cases >= telling) table.add(score_row("source " + family, score));
  return {"Bands of runs left out, percent",
          {std::move(table),
           AnswerLine{fmt::format(
               "Widths were fitted without a run's family, of which no more than 60 runs count "
               "within an axis. held: measurements inside, {:.0f} asked ({:.0f} where every run "
               "counts the same). score: interval score, the width and ten times what is missed; "
               "the best band that is the same for all has {:+.0f} % more.",
               100.0 * band_coverage, 100.0 * check.every_case,
               100.0 * (check.constant_all.score / check.all.score - 1.0))}}};
}

AnswerHead bands_head(const BandCheck& check) {
  AnswerHead head;
  head.subject = "Bands of runs left out of the fit";
  head.words = fmt::format("{:.0f} % HELD", 100.0 * check.all.covered);
  head.sentence = fmt::format(
      "Bands by widths that have not seen a run's family held {:.0f} % of {} measurements; {:.0f} "
      "% is what they are made to hold.",
      100.0 * check.all.covered, with_thousands(check.all.cases), 100.0 * band_coverage);
  head.figures = {{"held", fixed_text(100.0 * check.all.covered, 0) + " %"},
                  {"mean width", percent_figure(check.all.width, 1) + " %", "",
                   percent_figure(check.constant_all.width, 1) + " % where all have the same"}};
  return head;
}

}  // namespace

BandReport band_report(const LeftOut& left_out) {
  std::vector<BandCase> cases;
  for (const LeftOutValidation& axis : left_out.axes)
    std::ranges::copy_if(axis.cases, std::back_inserter(cases),
                         [](const BandCase& at) { return at.widens; });
  FORETRAIN_REQUIRE(!cases.empty() && left_out.bands);
  BandReport report;
  report.shipped = *left_out.bands;
  report.fitted = {fit_band_widths(cases, family_rows), left_out.bands->unmeasured_site,
                   left_out.reach};
  for (std::size_t kind = 0; kind < band_kinds; ++kind)
    report.counts.push_back(static_cast<int>(std::ranges::count_if(cases, [&](const BandCase& at) {
      return at.facts[kind].low > 0.0 || at.facts[kind].high > 0.0;
    })));
  report.check = check_bands(cases, family_rows);
  return report;
}

Answer band_answer(const BandReport& report) {
  Answer answer{bands_head(report.check)};
  answer.add(widths_section(report));
  answer.add(scores_section(report.check));
  answer.add("Nominal against observed coverage",
             AnswerPicture{reliability_chart(report, picture_space({}, 540.0, 580.0)),
                           "Nominal against observed coverage"},
             AnswerPlace::pages);
  return answer;
}

std::string band_report_yaml(const BandReport& report) {
  return band_table_text(
      report.fitted,
      fmt::format("What bands of step times are made of (models/forecast/README.md, \"Band\"), and "
                  "the runs "
                  "that each stack was fitted on.\n"
                  "Fitted on {} forecasts of runs that were left out of the fit, by `foretrain "
                  "validate --leave-out all --bands --band-table FILE`;\n"
                  "with widths that have not seen a run's family, {:.0f} % of them hold.",
                  report.check.all.cases, 100.0 * report.check.all.covered));
}

std::string band_cases_csv(const LeftOut& left_out) {
  std::string csv = "axis,fold,family,run,error";
  for (const auto& [kind, name] : EnumNames<BandKind>::names)
    csv += fmt::format(",{0} down,{0} up", name);
  csv += "\n";
  for (const LeftOutValidation& axis : left_out.axes)
    for (std::size_t i = 0; i < axis.cases.size(); ++i) {
      const BandCase& at = axis.cases[i];
      csv += fmt::format("{},{},{},{},{:.5f}", name_of(at.axis), csv_field(axis.records[i].source),
                         csv_field(at.family), csv_field(axis.records[i].id), at.error);
      for (const BandSides& fact : at.facts)
        csv += fmt::format(",{:.4g},{:.4g}", fact.low, fact.high);
      csv += "\n";
    }
  return csv;
}

Scene reliability_chart(const BandReport& report, const SceneSpace& space) {
  Scene scene{space};
  const SceneArea area =
      scene.headline({"Bands of runs left out of the fit",
                      fmt::format("{} forecasts, widths fitted without the run's family",
                                  with_thousands(report.check.all.cases))});
  const SceneArea plot = plot_inside(scene, area, "100");
  const AxisScale x{0.0, 100.0, plot.left, plot.right()};
  const AxisScale y{0.0, 100.0, plot.bottom(), plot.top};
  add_x_axis(scene, plot, even_axis(x, 5), "nominal coverage, percent");
  add_y_axis(scene, plot, even_axis(y, 5), "measurements inside, percent");
  scene.line({x.at(0.0), y.at(0.0)}, {x.at(100.0), y.at(100.0)}, Ink::text, 1.0, true);
  ScenePath curve{{{x.at(0.0), y.at(0.0)}}, std::nullopt, SceneColour{palette::blue}, 1.5};
  for (const auto& [nominal, held] : report.check.reliability)
    curve.points.push_back({x.at(100.0 * nominal), y.at(100.0 * held)});
  scene.add(curve);
  for (std::size_t i = 0; i < report.check.reliability.size(); ++i) {
    const auto& [nominal, held] = report.check.reliability[i];
    const ScenePoint at = curve.points[i + 1];
    scene.add(SceneDot{at, 4.5, palette::blue});
    scene.marks.push_back(
        {{at.x - 5.0, at.y - 5.0, 10.0, 10.0},
         fmt::format("nominal {:.0f} %: {:.1f} % inside", 100.0 * nominal, 100.0 * held)});
  }
  return scene;
}

}  // namespace foretrain
