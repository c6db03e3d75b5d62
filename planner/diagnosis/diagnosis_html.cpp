// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/imports/log_text.hpp"
#include "planner/diagnosis/diagnosis_report.hpp"
#include "planner/diagnosis/internal/diagnosis_words.hpp"
#include "planner/text/format.hpp"
#include "planner/text/palette.hpp"
#include "planner/text/svg_text.hpp"

namespace foretrain {
namespace {

constexpr double width = 760.0;

constexpr const char* page_style =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:48rem;margin:auto;padding:1rem}"
    "h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}svg{width:100%;height:auto}"
    "table{border-collapse:collapse}td,th{padding:.2rem .8rem .2rem 0;text-align:left;"
    "vertical-align:top}.test{font-style:italic}li{margin:.2rem 0}"
    "@media print{body{max-width:none}}";

std::string pixel(double value) { return fmt::format("{:.1f}", value); }

/// The most points of a picture: of more, the slowest of each stretch is drawn, so that no stall
/// is lost.
std::vector<LoggedStep> drawn(const std::vector<LoggedStep>& series) {
  constexpr std::size_t most = 1000;
  std::vector<LoggedStep> steps;
  for (const LoggedStep& step : series)
    if (std::isfinite(step.seconds) && step.seconds > 0.0F) steps.push_back(step);
  if (steps.size() <= most) return steps;
  std::vector<LoggedStep> kept;
  const std::size_t stretch = (steps.size() + most - 1) / most;
  for (std::size_t first = 0; first < steps.size(); first += stretch) {
    const auto from = steps.begin() + static_cast<std::ptrdiff_t>(first);
    const auto to =
        steps.begin() + static_cast<std::ptrdiff_t>(std::min(steps.size(), first + stretch));
    kept.push_back(*std::max_element(
        from, to, [](const LoggedStep& a, const LoggedStep& b) { return a.seconds < b.seconds; }));
  }
  return kept;
}

/// Step times over the run, with the forecast's band behind them.
std::string series_svg(const DiagnosisReport& report) {
  constexpr double height = 220.0;
  constexpr double left = 56.0;
  constexpr double bottom = 190.0;
  const auto steps = drawn(report.log.series);
  if (steps.size() < 2) return "";
  const Diagnosis& diagnosis = report.diagnosis;
  // Beyond three times the median a stall is cut off at the top of the picture.
  double top = 1.1 * std::max(diagnosis.forecast.high.value(), diagnosis.course.p90);
  for (const LoggedStep& step : steps)
    top = std::max(top, std::min<double>(step.seconds, 3.0 * diagnosis.course.median));
  const auto y = [&](double seconds) {
    return bottom - 170.0 * std::clamp(seconds / top, 0.0, 1.0);
  };
  std::string svg = svg_start(width, height);
  const double high = y(diagnosis.forecast.high.value());
  svg += fmt::format("<rect x='{}' y='{}' width='{}' height='{}' fill='{}' opacity='0.25'/>",
                     pixel(left), pixel(high), pixel(width - left - 10.0),
                     pixel(y(diagnosis.forecast.low.value()) - high), palette::green.light);
  std::string points;
  for (std::size_t i = 0; i < steps.size(); ++i)
    points += pixel(left + (width - left - 10.0) * static_cast<double>(i) /
                               static_cast<double>(steps.size() - 1)) +
              "," + pixel(y(steps[i].seconds)) + " ";
  svg += fmt::format("<polyline fill='none' stroke='{}' stroke-width='1.2' points='{}'/>",
                     palette::blue.light, points);
  svg += svg_label(left - 6.0, y(top) + 4.0, "end", signed_seconds(top));
  svg += svg_label(left - 6.0, bottom, "end", "0 s");
  svg += svg_label(left, bottom + 18.0, "start", fmt::format("step {}", steps.front().step));
  svg += svg_label(width - 10.0, bottom + 18.0, "end", fmt::format("step {}", steps.back().step));
  return svg + "</svg>";
}

std::string waterfall_svg(const std::vector<WaterfallLine>& lines) {
  constexpr double row = 26.0;
  constexpr double left = 210.0;
  constexpr double right = 90.0;
  if (lines.empty()) return "";
  const double scale = (width - left - right) / waterfall_top(lines);
  std::string svg = svg_start(width, row * static_cast<double>(lines.size()) + 10.0);
  double at = 0.0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool whole = i == 0 || i + 1 == lines.size();
    const double from = whole ? 0.0 : at;
    const double to = from + lines[i].seconds;
    const double top = row * static_cast<double>(i) + 5.0;
    const char* const colour = whole                    ? palette::blue.light
                               : lines[i].seconds < 0.0 ? palette::green.light
                                                        : palette::vermilion.light;
    svg += svg_label(left - 8.0, top + 14.0, "end", lines[i].label);
    svg += fmt::format("<rect x='{}' y='{}' width='{}' height='18' fill='{}'/>",
                       pixel(left + scale * std::max(0.0, std::min(from, to))), pixel(top),
                       pixel(std::max(1.0, scale * std::abs(to - from))), colour);
    svg += svg_label(width - right + 8.0, top + 14.0, "start", signed_seconds(lines[i].seconds));
    at = to;
  }
  return svg + "</svg>";
}

std::string list_of(const char* title, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  std::string text = fmt::format("<h2>{}</h2>\n<ul>\n", title);
  for (const std::string& item : items) text += "<li>" + xml_text(item) + "</li>\n";
  return text + "</ul>\n";
}

std::string causes_html(const Diagnosis& diagnosis) {
  std::string text = "<h2>Causes, by the time they are likely to cost</h2>\n<ol>\n";
  for (const RankedCause& cause : diagnosis.causes) {
    if (cause.likelihood < least_likelihood) continue;
    text += "<li><strong>" + xml_text(cause_head(cause)) + "</strong>\n<ul>\n";
    for (const Evidence& evidence : cause.evidence)
      text += fmt::format("<li>{}: {}</li>\n", evidence.weight > 0.0 ? "for" : "against",
                          xml_text(evidence.what));
    text += "</ul>\n";
    if (!cause.test.empty()) text += "<p class=\"test\">Test: " + xml_text(cause.test) + "</p>\n";
    text += "</li>\n";
  }
  text += "</ol>\n";
  if (diagnosis.tied > 1) text += "<p>Run the tests above to tell them apart.</p>\n";
  return text;
}

std::string memory_causes_html(const Diagnosis& diagnosis) {
  std::vector<std::string> items;
  for (const MemoryCause& one : diagnosis.memory_causes)
    items.push_back(one.setting + ": " + bytes_text(Bytes{one.bytes}));
  return list_of("Settings that would hold about as much memory", items);
}

std::string differences_html(const Diagnosis& diagnosis) {
  std::vector<std::string> items;
  for (const SettingDifference& one : diagnosis.differences)
    items.push_back(fmt::format("{}: the log says {}, the scenario {}", one.key,
                                plain_text(one.log, 40), one.scenario));
  return list_of("Log and scenario differ: the forecast is of another run", items);
}

}  // namespace

std::string diagnosis_html(const DiagnosisReport& report) {
  const Diagnosis& diagnosis = report.diagnosis;
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"foretrain\">\n<title>Diagnosis of a training "
      "run</title>\n";
  text += fmt::format("<style>{}</style>\n</head>\n<body>\n<h1>{}</h1>\n", page_style,
                      xml_text(diagnosis_verdict(report)));
  text += "<h2>What the run did</h2>\n" + series_svg(report) + "\n<table>\n";
  for (const auto& [label, line] : course_lines(report))
    text += "<tr><th>" + xml_text(label) + "</th><td>" + xml_text(line) + "</td></tr>\n";
  text += "</table>\n<h2>Step: from forecast to measurement</h2>\n" +
          waterfall_svg(diagnosis.waterfall) + "\n";
  if (!diagnosis.wall_waterfall.empty())
    text += fmt::format("<h2>{}</h2>\n{}\n", wall_title(diagnosis),
                        waterfall_svg(diagnosis.wall_waterfall));
  text += differences_html(diagnosis) + causes_html(diagnosis) + memory_causes_html(diagnosis);
  text += list_of("Logs that would show more", diagnosis.missing);
  text += list_of("Assumed where the log does not say", report.assumptions);
  return text + "</body>\n</html>\n";
}

}  // namespace foretrain
