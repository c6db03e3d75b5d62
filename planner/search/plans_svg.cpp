// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "planner/search/search_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/palette.hpp"
#include "planner/text/plan_words.hpp"
#include "planner/text/svg_text.hpp"
#include "planner/text/ticks.hpp"

namespace foretrain {
namespace {

// Pixels.
constexpr double cloud_left = 76.0;
constexpr double cloud_top = 30.0;
constexpr double cloud_wide = 664.0;
constexpr double cloud_high = 280.0;
constexpr double cloud_below = 48.0;

constexpr Paint best_paint = palette::orange;
constexpr Paint front_paint = palette::blue;
constexpr Paint other_paint = palette::grey;
constexpr Paint own_paint = palette::vermilion;

struct PlanMark {
  double x = 0.0;
  double y = 0.0;
  Paint paint = other_paint;
  std::string tip{};
};

struct CloudAxis {
  std::string title;
  std::function<std::string(double)> text;
  double low = 0.0;
  double high = 1.0;

  void span(const std::vector<PlanMark>& marks, double PlanMark::*value, double room) {
    const auto [least, most] = std::minmax_element(
        marks.begin(), marks.end(),
        [&](const PlanMark& a, const PlanMark& b) { return a.*value < b.*value; });
    double margin = (*most.*value - *least.*value) * room;
    if (margin <= 0.0) margin = *most.*value * 0.1;
    low = std::max(0.0, *least.*value - margin);
    high = *most.*value + margin;
  }
  [[nodiscard]] double place(double value) const { return (value - low) / (high - low); }
};

std::string grid_line(double x1, double y1, double x2, double y2) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, svg_grid);
}

/// The marks of the front are joined by a line.
std::string marks_svg(std::vector<PlanMark> marks, CloudAxis across, CloudAxis up) {
  across.span(marks, &PlanMark::x, 0.08);
  up.span(marks, &PlanMark::y, 0.12);
  const auto x = [&](double at) { return cloud_left + cloud_wide * across.place(at); };
  const auto y = [&](double at) { return cloud_top + cloud_high * (1.0 - up.place(at)); };
  const double floor = cloud_top + cloud_high;
  std::string svg = svg_start(cloud_left + cloud_wide + 24.0, floor + cloud_below);
  for (const double at : round_ticks(up.low, up.high, 6))
    svg += grid_line(cloud_left, y(at), cloud_left + cloud_wide, y(at)) +
           svg_label(cloud_left - 8.0, y(at) + 4.0, "end", up.text(at));
  for (const double at : round_ticks(across.low, across.high, 8))
    svg += grid_line(x(at), cloud_top, x(at), floor) +
           svg_label(x(at), floor + 18.0, "middle", across.text(at));
  svg += svg_label(8.0, 16.0, "start", up.title) +
         svg_label(cloud_left + cloud_wide, floor + 40.0, "end", across.title);
  std::sort(marks.begin(), marks.end(),
            [](const PlanMark& a, const PlanMark& b) { return a.x < b.x; });
  std::string front;
  std::string dots;
  for (const PlanMark& mark : marks) {
    const bool lead = mark.paint.light != other_paint.light;
    if (lead && mark.paint.light != own_paint.light)
      front += fmt::format("{:.1f},{:.1f} ", x(mark.x), y(mark.y));
    // The user's own plan is a diamond.
    const char* shape = mark.paint.light == own_paint.light
                            ? "<path d=\"M{0:.1f} {1:.1f}m-8 0l8 -8l8 8l-8 8z\""
                            : "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"{2}\"";
    dots += fmt::format(fmt::runtime(shape), x(mark.x), y(mark.y), lead ? 6.0 : 4.5) +
            fmt::format(" fill=\"{}\" stroke=\"#ffffff\"><title>{}</title>{}\n", mark.paint.light,
                        xml_text(mark.tip),
                        mark.paint.light == own_paint.light ? "</path>" : "</circle>");
  }
  if (std::count(front.begin(), front.end(), ' ') > 1)
    svg +=
        fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
                    front, front_paint.light);
  return svg + dots + "</svg>\n";
}

/// Seconds per sequence: what plans of different batches are ordered by.
double pace(const Report& report) {
  return report.prediction.step->time.value() / report.scenario.job.training.global_batch;
}

std::string tip_of(const std::string& name, const Report& report, Bytes peak) {
  const Prediction& p = report.prediction;
  const auto run = run_duration(p);
  return fmt::format("{}: {} GPUs, {}; step {}, MFU {}, peak memory {}, time to train {}", name,
                     with_thousands(report.scenario.job.cluster.gpus()),
                     axis_words(report.scenario.job.parallel), seconds_text(p.step->time),
                     p.efficiency ? percent_text(p.efficiency->mfu) : "unknown", bytes_text(peak),
                     run ? duration_text(*run) : "unknown");
}

/// Nobody else is both faster and smaller.
bool on_front(const Finalist& plan, const std::vector<Finalist>& plans) {
  return std::none_of(plans.begin(), plans.end(), [&](const Finalist& other) {
    const bool no_worse =
        other.scored.peak <= plan.scored.peak && pace(other.report) <= pace(plan.report);
    const bool better =
        other.scored.peak < plan.scored.peak || pace(other.report) < pace(plan.report);
    return no_worse && better;
  });
}

std::string short_number(double value) { return fmt::format("{:.4g}", value); }

}  // namespace

AnswerSection plans_picture(const PlanReport& report) {
  const std::vector<Finalist>& plans = report.plans;
  AnswerSection section{"Step time against memory", {}, AnswerPlace::pages};
  if (plans.size() < 2) return section;
  const double batch = plans.front().report.scenario.job.training.global_batch;
  std::vector<PlanMark> marks;
  for (std::size_t i = plans.size(); i-- > 0;)
    marks.push_back({plans[i].scored.peak.in(GiB), pace(plans[i].report) * batch,
                     i == 0                      ? best_paint
                     : on_front(plans[i], plans) ? front_paint
                                                 : other_paint,
                     tip_of(fmt::format("Plan {}", i + 1), plans[i].report, plans[i].scored.peak)});
  AnswerLegend legend{{{best_paint, '*', "plan 1"},
                       {front_paint, '+', "no other plan shown is both faster and smaller"},
                       {other_paint, '.', "other plans"}}};
  if (report.standing)
    if (const Prediction& own = report.standing->report.prediction; own.step && own.memory) {
      marks.push_back({own.memory->peak.in(GiB), pace(report.standing->report) * batch, own_paint,
                       tip_of("Your plan", report.standing->report, own.memory->peak)});
      legend.entries.push_back({own_paint, 'o', "your plan (diamond)"});
    }
  section.blocks = {
      AnswerPicture{marks_svg(std::move(marks), {"peak memory per GPU, GiB", short_number},
                              {"step time for the same sequences",
                               [](double at) { return seconds_text(Seconds{at}); }}),
                    section.title},
      std::move(legend)};
  return section;
}

AnswerSection machines_picture(const std::vector<Finalist>& pareto) {
  AnswerSection section{"Machines: time against GPU-hours", {}, AnswerPlace::pages};
  std::vector<PlanMark> marks;
  for (const Finalist& plan : pareto) {
    const Prediction& p = plan.report.prediction;
    const auto run = run_duration(p);
    if (!run || !p.cost.gpu_hours) return section;
    const std::string name = with_thousands(plan.report.scenario.job.cluster.gpus()) + " GPUs";
    marks.push_back({*p.cost.gpu_hours / 1000.0, run->value() / 86400.0, front_paint,
                     tip_of(name, plan.report, plan.scored.peak)});
  }
  if (marks.size() < 2) return section;
  section.blocks = {AnswerPicture{marks_svg(std::move(marks), {"thousand GPU-hours", short_number},
                                            {"days to train", short_number}),
                                  section.title},
                    AnswerLine{"Each point is the best plan of a machine that no other beats on "
                               "both axes."}};
  return section;
}

}  // namespace foretrain
