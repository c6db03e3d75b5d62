// SPDX-License-Identifier: Apache-2.0
#include "planner/page/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "models/base/require.hpp"
#include "planner/answer/quantity.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/text/format.hpp"
#include "scenarios/sections/scenario_fields.hpp"

namespace foretrain {
namespace {

constexpr auto headline = std::to_array<std::pair<const char*, const char*>>({
    {"memory.peak_bytes", "peak memory"},
    {"step.time_s", "step time"},
    {"step.low_s", "  10th percentile"},
    {"step.high_s", "  90th percentile"},
    {"mfu", "MFU"},
    {"tokens_per_s", "tokens/s"},
    {"tokens_per_s_per_gpu", "  per GPU"},
    {"run.ideal_s", "time to train"},
    {"run.expected_s", "  with interruptions"},
    {"cost.gpu_hours", "GPU-hours"},
    {"cost.usd", "cost"},
    {"cost.price_low_usd", "  10th percentile"},
    {"cost.price_high_usd", "  90th percentile"},
    {"cost.energy_low_kwh", "energy, 10th percentile"},
    {"cost.energy_high_kwh", "  90th percentile"},
});

/// Without the unit where the label names it.
std::string figure_text(std::string_view path, double value, const NumberUnits& units = {}) {
  if (path == "tokens_per_s_per_gpu") return significant_text(value);
  if (path == "tokens_per_step") return count_text(value);
  if (path == "gpus" || path == "tokens_per_s") return fixed_text(value, 0);
  const Measure measure = measure_of(path);
  if (measure == Measure::bytes) return bytes_text(Bytes{value}, units);
  if (measure == Measure::seconds) return seconds_text(Seconds{value}, units);
  return quantity_text(path, value);
}

bool same_figure(double from, double to) {
  constexpr double shown = 5e-5;  // digits that the texts have
  return std::abs(from - to) <= shown * std::abs(from);
}

/// "-1.20 s"; shares differ by points.
std::string difference_text(std::string_view path, double from, double to,
                            const NumberUnits& units = {}) {
  const std::string sign = to < from ? "-" : "+";
  const double size = std::abs(to - from);
  if (path == "mfu" || path.ends_with("within_goals"))
    return sign + fixed_text(size * 100.0, 1) + " points";
  return sign + figure_text(path, size, units);
}

/// "TTFT, P90".
std::string label_of(const StudyFigure& figure) {
  const std::string last = figure.path.substr(figure.path.rfind('.') + 1);
  const bool percentile = last.size() == 3 && last.front() == 'p';
  return std::string(figure.label) + (percentile ? ", P" + last.substr(1) : "");
}

bool any_study(const std::vector<Report>& reports) {
  return std::any_of(reports.begin(), reports.end(),
                     [](const Report& report) { return report.study.has_value(); });
}

void leave_out_unknown(std::vector<ComparedFigure>& figures) {
  std::erase_if(figures, [](const ComparedFigure& figure) {
    return std::none_of(figure.values.begin(), figure.values.end(),
                        [](const auto& value) { return value.has_value(); });
  });
}

/// The numbers that lead, of all kinds that the sides are.
std::vector<ComparedFigure> study_figures_of(const std::vector<Report>& reports) {
  std::vector<ComparedFigure> figures;
  for (const Report& report : reports) {
    if (!report.study) continue;
    for (const StudyFigure& figure : report.study->figures) {
      const bool known = std::any_of(figures.begin(), figures.end(),
                                     [&](const auto& other) { return other.path == figure.path; });
      if (figure.leads && !known) figures.push_back({figure.path, label_of(figure), {}});
    }
  }
  for (const Report& report : reports)
    for (ComparedFigure& figure : figures) {
      const StudyFigure* own =
          report.study ? find_figure(report.study->figures, figure.path) : nullptr;
      figure.values.push_back(own == nullptr ? std::nullopt : own->value);
    }
  leave_out_unknown(figures);
  return figures;
}

std::vector<ComparedFigure> figures_of(const std::vector<Report>& reports) {
  if (any_study(reports)) return study_figures_of(reports);
  std::vector<ComparedFigure> figures{{"gpus", "GPUs", {}},
                                      {"tokens_per_step", "tokens per step", {}}};
  for (const Report& report : reports) {
    const Job& job = report.scenario.job;
    figures[0].values.emplace_back(job.cluster.gpus());
    figures[1].values.emplace_back(static_cast<double>(job.training.global_batch) *
                                   job.training.sequence);
  }
  const std::size_t first = figures.size();
  for (const auto& [path, label] : headline) figures.push_back({path, label, {}});
  for (const Report& report : reports)
    for (std::size_t f = 0; f < headline.size(); ++f)
      figures[f + first].values.push_back(
          quantities().find(headline[f].first)->number(report.prediction));
  leave_out_unknown(figures);
  return figures;
}

std::vector<ComparedPart> parts_of(const std::vector<Report>& reports) {
  std::vector<ComparedPart> parts;
  for (std::size_t side = 0; side < reports.size(); ++side) {
    const Report& report = reports[side];
    if (!report.prediction.step || !report.prediction.flops) continue;
    const auto own = whole_waterfall(report.scenario.job, report.prediction);
    if (parts.empty())
      for (const WaterfallPart& part : own)
        parts.push_back({part.key, part.label,
                         std::vector<std::optional<Seconds>>(reports.size(), std::nullopt)});
    for (std::size_t i = 0; i < own.size(); ++i) parts[i].times[side] = own[i].time;
  }
  std::erase_if(parts, [](const ComparedPart& part) {
    return std::all_of(part.times.begin(), part.times.end(),
                       [](const auto& time) { return time.value_or(Seconds{}) == Seconds{}; });
  });
  return parts;
}

bool all_equal(const std::vector<std::optional<ResolvedValue>>& values) {
  return std::all_of(values.begin(), values.end(), [&](const auto& value) {
    return value.has_value() == values.front().has_value() &&
           (!value || value->value == values.front()->value);
  });
}

std::vector<ComparedSetting> settings_of(const std::vector<Report>& reports) {
  std::vector<ComparedSetting> settings;
  std::map<std::string, std::size_t> place;
  for (std::size_t side = 0; side < reports.size(); ++side)
    for (const ResolvedValue& value : reports[side].scenario.values) {
      const auto [found, fresh] = place.emplace(value.path, settings.size());
      if (fresh)
        settings.push_back(
            {value.path, scenario_fields().find(value.path) == nullptr,
             std::vector<std::optional<ResolvedValue>>(reports.size(), std::nullopt)});
      settings[found->second].values[side] = value;
    }
  // Names tell the sides apart; they decide nothing.
  std::erase_if(settings, [](const ComparedSetting& setting) {
    return setting.path == "name" || all_equal(setting.values);
  });
  std::stable_partition(settings.begin(), settings.end(),
                        [](const ComparedSetting& setting) { return !setting.catalog; });
  return settings;
}

std::vector<ComparedRow> rows_of(const std::vector<Report>& reports) {
  std::vector<ComparedRow> rows;
  std::map<std::pair<std::string, std::string>, std::size_t> place;
  std::vector<std::optional<Bytes>> none(reports.size(), std::nullopt);
  for (std::size_t side = 0; side < reports.size(); ++side) {
    const auto& memory = reports[side].prediction.memory;
    if (memory && !memory->stages.empty()) none[side] = Bytes{};
  }
  for (std::size_t side = 0; side < reports.size(); ++side) {
    if (!none[side]) continue;
    for (const MemoryRow& row : heaviest_stage(*reports[side].prediction.memory).rows) {
      const auto [found, fresh] = place.emplace(std::pair{row.category, row.name}, rows.size());
      if (fresh) rows.push_back({row.category, row.name, none});
      *rows[found->second].sizes[side] += row.size;
    }
  }
  std::erase_if(rows, [](const ComparedRow& row) { return row.spread() == Bytes{}; });
  std::stable_sort(rows.begin(), rows.end(), [](const ComparedRow& a, const ComparedRow& b) {
    return b.spread() < a.spread();
  });
  return rows;
}

}  // namespace

std::string ComparedFigure::text(std::size_t side) const {
  const auto& value = values.at(side);
  return value ? figure_text(path, *value) : "-";
}

std::string ComparedFigure::difference(std::size_t side) const {
  const auto& from = values.front();
  const auto& to = values.at(side);
  if (!from || !to) return "-";
  return same_figure(*from, *to) ? "same" : difference_text(path, *from, *to);
}

std::string ComparedFigure::ratio(std::size_t side) const {
  const auto& from = values.front();
  const auto& to = values.at(side);
  if (!from || !to || *from == 0.0) return "-";
  return fixed_text(*to / *from, 3);
}

std::optional<FigureChange> figure_change(std::string_view path, std::optional<double> from,
                                          std::optional<double> to, const NumberUnits& units) {
  if (!from || !to || same_figure(*from, *to)) return std::nullopt;
  const auto row = quantities().find(path);
  FigureChange change{difference_text(path, *from, *to, units)};
  if (*from > 0.0 && measure_of(path) != Measure::share)
    change.text +=
        fmt::format(" ({}{})", *to < *from ? "-" : "+", percent_text(std::abs(*to / *from - 1.0)));
  change.better = (*to < *from) != (row && row->quantity->more_is_better);
  return change;
}

Bytes ComparedRow::spread() const {
  std::optional<Bytes> least;
  std::optional<Bytes> most;
  for (const auto& size : sizes) {
    if (!size) continue;
    least = least ? min(*least, *size) : *size;
    most = most ? max(*most, *size) : *size;
  }
  return most ? *most - *least : Bytes{};
}

bool Comparison::feasible() const {
  return std::all_of(reports.begin(), reports.end(),
                     [](const Report& report) { return report.prediction.feasible(); });
}

std::string side_name(std::size_t side) {
  std::string name(1, 'A');
  name.front() = static_cast<char>('A' + static_cast<int>(side));
  return name;
}

Comparison compare(std::vector<Report> reports) {
  FORETRAIN_REQUIRE(reports.size() >= 2 && reports.size() <= 26);
  Comparison result;
  result.figures = figures_of(reports);
  result.parts = parts_of(reports);
  result.settings = settings_of(reports);
  result.rows = rows_of(reports);
  result.reports = std::move(reports);
  return result;
}

}  // namespace foretrain
