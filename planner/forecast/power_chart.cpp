// SPDX-License-Identifier: Apache-2.0

#include "planner/forecast/power_chart.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "models/base/require.hpp"
#include "models/run/power_course.hpp"
#include "models/step/data_loading.hpp"
#include "planner/scene/scene.hpp"
#include "planner/scene/scene_parts.hpp"

namespace foretrain {
namespace {

struct WattsPanel {
  const std::vector<Watts>& course;
  const char* title;
  Watts unit;
  const char* unit_name;
};

/// Means over as many stretches as there are pixels, each drawn as a level.
ScenePath levels(const WattsPanel& panel, const SceneArea& plot, const AxisScale& y) {
  const auto count = static_cast<double>(panel.course.size());
  const double points = std::floor(std::min(count, plot.width));
  ScenePath path{{}, std::nullopt, SceneColour{palette::blue}, 1.4};
  for (double i = 0.0; i < points; i += 1.0) {
    const auto from = static_cast<std::size_t>(std::floor(i * count / points));
    const auto to = static_cast<std::size_t>(std::floor((i + 1.0) * count / points));
    Watts sum;
    for (std::size_t at = from; at < to; ++at) sum += panel.course[at];
    const double level = y.at(sum / static_cast<double>(to - from) / panel.unit);
    path.points.push_back({plot.left + plot.width * i / points, level});
    path.points.push_back({plot.left + plot.width * (i + 1.0) / points, level});
  }
  return path;
}

}  // namespace

Scene power_chart(const PowerCourse& course, const SceneSpace& space) {
  FORETRAIN_REQUIRE(!course.site.empty());
  const Watts most = *std::max_element(course.site.begin(), course.site.end());
  const bool large = most.value() >= 1e6;
  const std::array panels{
      WattsPanel{course.gpu, "one GPU of the first stage", Watts{1.0}, "W"},
      WattsPanel{course.host, "the first host", Watts{1e3}, "kW"},
      WattsPanel{course.site, "all at the meter", Watts{large ? 1e6 : 1e3}, large ? "MW" : "kW"}};
  Scene scene{space};
  const SceneArea area = scene.headline({"Power over one optimizer step"});
  const Seconds time = static_cast<double>(course.site.size()) * course.sample;
  const AxisUnit unit = seconds_axis(time, space.units);
  const double foot = x_axis_height(scene);
  const double high = (area.height - foot) / static_cast<double>(panels.size());
  const double left = scene.text_width("0,000 MW") + 16.0;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const WattsPanel& panel = panels[i];
    const bool last = i + 1 == panels.size();
    const double top = area.top + high * static_cast<double>(i);
    scene.text({area.left + left, top}, Scene::Across::start, Scene::Down::top, panel.title);
    const SceneArea plot{area.left + left, top + scene.line_height() + 4.0, area.width - left - 4.0,
                         high - scene.line_height() - 18.0};
    if (plot.height < 24.0 || plot.width < 60.0) break;
    const Watts peak = *std::max_element(panel.course.begin(), panel.course.end());
    const AxisScale y{0.0, 1.1 * (peak / panel.unit), plot.bottom(), plot.top};
    const AxisScale x{0.0, time.value() / unit.size, plot.left, plot.right()};
    std::vector<AxisTick> ticks = even_axis(x, static_cast<int>(plot.width / 90.0));
    if (!last)
      for (AxisTick& tick : ticks) tick.text.clear();
    add_x_axis(scene, plot, ticks, last ? "time of the step, " + unit.name : std::string{});
    add_y_axis(scene, plot,
               even_axis(y, std::max(2, static_cast<int>(plot.height / 34.0)),
                         [&](double v) { return tick_text(v) + " " + panel.unit_name; }));
    scene.add(levels(panel, plot, y));
  }
  return scene;
}

namespace {

/// Passes of a step that is played for its power alone; milliseconds of work.
constexpr std::int64_t most_power_passes = 50'000;

/// The job with as many micro-batches as may be played: whole rounds of the pipeline.
Job shorter(Job job) {
  const std::int64_t each = std::int64_t{2} * job.parallel.pipeline * job.parallel.virtual_stages;
  const std::int64_t count = job.microbatches();
  if (each * count <= most_power_passes) return job;
  const std::int64_t round = std::max(job.parallel.pipeline, job.parallel.microbatch_group);
  const std::int64_t kept = std::max(std::int64_t{2}, most_power_passes / each / round) * round;
  if (kept < count)
    job.training.global_batch = static_cast<int>(job.training.global_batch / count * kept);
  return job;
}

GpuCourse gpus_of(const Job& job, const StepPath& path) {
  const Seconds time = with_input(job, path.stretch() * path.timeline.makespan);
  return gpu_course(path.graph, path.timeline, path.release, time, gpu_power(job), 1.0 * ms);
}

}  // namespace

PowerCourse step_power(const Job& job, const StepPath& path) {
  return power_course(job, gpus_of(job, path));
}

std::optional<GpuCourse> add_power(const Job& job, const StepPath* played, Prediction& prediction) {
  if (!prediction.step || !(gpu_power(job).busy > Watts{})) return std::nullopt;
  const Job shown = played == nullptr ? shorter(job) : job;
  GpuCourse gpus = played == nullptr
                       ? gpus_of(shown, step_path(shown, stage_layout(shown.model, shown.parallel)))
                       : gpus_of(shown, *played);
  prediction.power = power_forecast(job, *prediction.step, power_course(shown, gpus));
  return gpus;
}

std::string power_csv(const PowerCourse& course) {
  std::string text = "time_s,gpu_w,host_w,rack_w,site_w\n";
  for (std::size_t i = 0; i < course.site.size(); ++i)
    text += fmt::format("{:.6f},{:.2f},{:.1f},{},{:.0f}\n",
                        static_cast<double>(i) * course.sample.value(), course.gpu[i].value(),
                        course.host[i].value(),
                        course.rack.empty() ? "" : fmt::format("{:.0f}", course.rack[i].value()),
                        course.site[i].value());
  return text;
}

}  // namespace foretrain
