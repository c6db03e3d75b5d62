// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/studies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "models/base/require.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/forecast/report_csv.hpp"
#include "planner/text/format.hpp"
#include "planner/text/svg_text.hpp"
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

// Pixels.
constexpr double reliability_left = 70.0;
constexpr double reliability_top = 64.0;
constexpr double reliability_side = 420.0;

double place(double share) { return reliability_left + reliability_side * share; }
double height(double share) { return reliability_top + reliability_side * (1.0 - share); }

std::string reliability_axes() {
  std::string svg;
  for (int percent = 0; percent <= 100; percent += 20) {
    const double share = 0.01 * percent;
    const char* const style = "stroke=\"#d4d4d4\"";
    svg += line_svg(place(share), height(0.0), place(share), height(1.0), style);
    svg += line_svg(place(0.0), height(share), place(1.0), height(share), style);
    svg += svg_label(place(share), height(0.0) + 18.0, "middle", std::to_string(percent));
    svg += svg_label(place(0.0) - 8.0, height(share) + 4.0, "end", std::to_string(percent));
  }
  svg += svg_label(place(0.5), height(0.0) + 42.0, "middle", "nominal coverage, percent",
                   " font-size=\"13\"");
  return svg + svg_label(20.0, height(0.5), "middle", "measurements inside, percent",
                         fmt::format(" font-size=\"13\" transform=\"rotate(-90 20 {:.1f})\"",
                                     height(0.5)));
}

}  // namespace

BandReport band_report(const LeftOut& left_out) {
  std::vector<BandCase> cases;
  for (const LeftOutValidation& axis : left_out.axes)
    std::copy_if(axis.cases.begin(), axis.cases.end(), std::back_inserter(cases),
                 [](const BandCase& at) { return at.widens; });
  FORETRAIN_REQUIRE(!cases.empty() && left_out.bands);
  BandReport report;
  report.shipped = *left_out.bands;
  report.fitted = {fit_band_widths(cases, family_rows), left_out.bands->unmeasured_site,
                   left_out.reach};
  for (std::size_t kind = 0; kind < band_kinds; ++kind)
    report.counts.push_back(
        static_cast<int>(std::count_if(cases.begin(), cases.end(), [&](const BandCase& at) {
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
             AnswerPicture{reliability_svg(report), "Nominal against observed coverage"},
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

std::string reliability_svg(const BandReport& report) {
  std::string svg = svg_start(reliability_left + reliability_side + 40.0,
                              reliability_top + reliability_side + 64.0);
  svg += svg_label(reliability_left, 26.0, "start", "Bands of runs left out of the fit",
                   " font-size=\"17\" font-weight=\"bold\"");
  svg += svg_label(reliability_left, 48.0, "start",
                   fmt::format("{} forecasts, widths fitted without the run's family",
                               with_thousands(report.check.all.cases)),
                   " font-size=\"13\"");
  svg += reliability_axes();
  svg += line_svg(place(0.0), height(0.0), place(1.0), height(1.0),
                  "stroke=\"#222222\" stroke-dasharray=\"7 4\"");
  std::pair<double, double> before{0.0, 0.0};
  std::string marks;
  for (const auto& point : report.check.reliability) {
    svg += line_svg(place(before.first), height(before.second), place(point.first),
                    height(point.second), "stroke=\"#0072b2\" stroke-width=\"1.5\"");
    marks += mark_svg(MarkShape::circle, place(point.first), height(point.second), 9.0,
                      fmt::format("nominal {:.0f} %: {:.1f} % inside", 100.0 * point.first,
                                  100.0 * point.second));
    before = point;
  }
  return svg + "<g fill=\"#0072b2\">\n" + marks + "</g>\n</svg>\n";
}

}  // namespace foretrain
