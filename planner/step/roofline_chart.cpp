// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "planner/scene/scene.hpp"
#include "planner/scene/scene_parts.hpp"
#include "planner/step/roofline.hpp"

namespace foretrain {
namespace {

bool on_plot(const RooflineKernel& kernel) {
  return kernel.flop > Flop{} && kernel.bytes > Bytes{} && kernel.time > Seconds{};
}

std::string flop_rate(FlopPerSecond rate) {
  return rate.value() >= 1e12 ? significant_text(rate.value() / 1e12) + " TFLOP/s"
                              : significant_text(rate.value() / 1e9) + " GFLOP/s";
}

const Paint& paint_of(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::attention:
    case OperatorKind::scan:
      return palette::orange;
    case OperatorKind::streaming:
      return palette::sky;
    default:
      return palette::blue;
  }
}

class RooflineChart {
 public:
  RooflineChart(const Roofline& roofline, const std::string& device, const SceneSpace& space)
      : roofline_{roofline},
        bandwidth_{roofline.bandwidth.value()},
        peak_{roofline.ceilings.front().peak.value()},
        scene_{space},
        area_{scene_.headline(headline(device))},
        labels_{{}} {}

  Scene drawn() {
    const bool list = area_.width >= wide_enough;
    plot_ =
        plot_inside(scene_, area_.inside(0.0, 0.0, list ? list_width + 24.0 : 0.0, 0.0), "1,000");
    labels_ = PointLabels{plot_};
    fit_scales();
    add_x_axis(scene_, plot_,
               log_axis(x_, static_cast<int>(plot_.width / 70.0),
                        [](double v) { return significant_text(v); }),
               "FLOPs per byte of memory traffic");
    add_y_axis(scene_, plot_,
               log_axis(y_, static_cast<int>(plot_.height / 64.0),
                        [](double v) { return significant_text(v / 1e12); }),
               "TFLOP/s per GPU");
    add_roofs();
    add_points();
    if (list) add_list({area_.right() - list_width, area_.top, list_width, area_.height});
    return std::move(scene_);
  }

 private:
  using enum Scene::Across;

  static constexpr double list_width = 330.0;
  static constexpr double wide_enough = 720.0;

  /// Share of its roof that a kernel reaches: of FLOPs or, where none are counted, of bandwidth.
  [[nodiscard]] double reached(const RooflineKernel& kernel) const {
    return on_plot(kernel) ? kernel.rate() / roofline_.bound(kernel)
                           : kernel.traffic() / roofline_.bandwidth;
  }

  [[nodiscard]] SceneHeadline headline(const std::string& device) const {
    double limited = 0.0;
    double products = 0.0;
    double plotted = 0.0;
    for (const RooflineKernel& kernel : roofline_.kernels) {
      if (kernel.kind == OperatorKind::streaming) limited += kernel.share;
      if (!on_plot(kernel)) continue;
      products += kernel.share * reached(kernel);
      plotted += kernel.share;
    }
    return {fmt::format("GEMMs and attention reach {} of the roofline",
                        percent_text(plotted > 0.0 ? products / plotted : 0.0)),
            fmt::format("{} of the kernels' time goes to kernels that only move memory; {} at {} "
                        "peak, {} TB/s",
                        percent_text(limited), device, rate_text(roofline_.ceilings.front().peak),
                        fixed_text(roofline_.bandwidth.in(TBps), 2))};
  }

  void fit_scales() {
    double low = peak_ / bandwidth_;
    double high = low;
    double slowest = peak_;
    for (const RooflineKernel& kernel : roofline_.kernels) {
      if (!on_plot(kernel)) continue;
      low = std::min(low, kernel.intensity());
      high = std::max(high, kernel.intensity());
      slowest = std::min(slowest, kernel.rate().value());
    }
    low /= 4.0;
    slowest = std::min(slowest, low * bandwidth_) / 1.6;
    x_ = {low, high * 3.0, plot_.left, plot_.right(), true};
    y_ = {slowest, peak_ * 1.35, plot_.bottom(), plot_.top, true};
  }

  void add_roofs() {
    const double ridge = peak_ / bandwidth_;
    const ScenePoint from{plot_.left, y_.at(x_.low() * bandwidth_)};
    const ScenePoint bend{x_.at(ridge), y_.at(peak_)};
    // Below the roofs is what can be reached.
    scene_.add(ScenePath{{{plot_.left, plot_.bottom()},
                          from,
                          bend,
                          {plot_.right(), bend.y},
                          {plot_.right(), plot_.bottom()}},
                         SceneColour{Ink::accent, 0.08}});
    scene_.line(from, bend, Ink::text, 2.0);
    for (const RooflineCeiling& ceiling : roofline_.ceilings) {
      const double y = std::round(y_.at(ceiling.peak.value()));
      const double left = x_.at(ceiling.peak.value() / bandwidth_);
      scene_.line({left, y}, {plot_.right(), y}, Ink::text, 2.0, ceiling.peak.value() != peak_);
      labels_.keep_clear(scene_.text(
          {plot_.right() - 4.0, y - 3.0}, end, Scene::Down::bottom,
          fmt::format("{} peak {}", name_of(ceiling.precision), rate_text(ceiling.peak)), {},
          plot_.right() - left));
    }
    const double at = 0.7 * ridge;
    const ScenePoint point{x_.at(at), y_.at(at * bandwidth_)};
    const std::string words =
        fmt::format("memory {} TB/s", fixed_text(roofline_.bandwidth.in(TBps), 2));
    // Left of the slope, or right of it where there is more room.
    const bool fits = scene_.text_width(words) < point.x - plot_.left - 12.0;
    labels_.keep_clear(
        fits ? scene_.text({point.x - 8.0, point.y - 2.0}, end, Scene::Down::bottom, words, {})
             : scene_.text({point.x + 8.0, point.y + 2.0}, start, Scene::Down::top, words, {},
                           plot_.right() - point.x - 8.0));
  }

  void add_points() {
    struct Spot {
      const RooflineKernel* kernel;
      ScenePoint at;
      double radius;
      [[nodiscard]] SceneArea area() const {
        return {at.x - radius, at.y - radius, 2.0 * radius, 2.0 * radius};
      }
    };
    std::vector<Spot> spots;
    for (const RooflineKernel& kernel : roofline_.kernels) {
      if (!on_plot(kernel)) continue;
      const double most = std::min(34.0, plot_.width / 16.0);
      spots.push_back({&kernel,
                       {x_.at(kernel.intensity()), y_.at(kernel.rate().value())},
                       std::max(4.0, most * std::sqrt(kernel.share))});
      labels_.keep_clear(spots.back().area());
    }
    for (const Spot& spot : spots) {
      scene_.add(SceneDot{spot.at, spot.radius, {paint_of(spot.kernel->kind), 0.72}, Ink::surface});
      scene_.marks.push_back(mark_of(*spot.kernel, spot.area()));
    }
    for (const Spot& spot : spots) labels_.place(scene_, spot.at, spot.radius, spot.kernel->name);
  }

  void add_list(const SceneArea& area) {
    const double high = scene_.line_height();
    const double row = high + 9.0;
    const double share_right = area.right() - scene_.text_width("of roofline") - 18.0;
    double y = area.top;
    scene_.text({area.left, y}, start, Scene::Down::top, "kernel");
    scene_.text({share_right, y}, end, Scene::Down::top, "time");
    scene_.text({area.right(), y}, end, Scene::Down::top, "of roofline");
    y += row - 2.0;
    scene_.line({area.left, std::round(y) - 3.5}, {area.right(), std::round(y) - 3.5}, Ink::border);
    const double room = share_right - area.left - 26.0 - scene_.text_width("100.0 %");
    for (const RooflineKernel& kernel : roofline_.kernels) {
      if (y + row > area.bottom()) break;
      scene_.box({area.left, y + (high - 10.0) / 2.0, 10.0, 10.0}, paint_of(kernel.kind), 5.0);
      scene_.text({area.left + 18.0, y}, start, Scene::Down::top, kernel.name, {}, room);
      scene_.text({share_right, y}, end, Scene::Down::top, percent_text(kernel.share), {});
      scene_.text({area.right(), y}, end, Scene::Down::top, percent_text(reached(kernel)));
      scene_.marks.push_back(mark_of(kernel, {area.left - 4.0, y - 3.0, area.width + 8.0, row}));
      y += row;
    }
    if (y + 3.0 * high + 8.0 < area.bottom())
      scene_.paragraph({area.left, y + 8.0}, area.width,
                       "Light blue kernels have no FLOPs that are counted: their bound is memory "
                       "bandwidth, and they are not in the plot.");
  }

  [[nodiscard]] SceneMark mark_of(const RooflineKernel& kernel, const SceneArea& area) const {
    const NumberUnits& units = scene_.space.units;
    SceneMark mark{area,
                   kernel.name,
                   {"of the kernels' time\t" + percent_text(kernel.share),
                    "per step and GPU\t" + seconds_text(kernel.total, units)}};
    auto& lines = mark.lines;
    if (kernel.time > Seconds{})
      lines.push_back("one forward run\t" + seconds_text(kernel.time, units));
    if (on_plot(kernel)) {
      lines.push_back("reaches\t" + flop_rate(kernel.rate()));
      lines.push_back("roofline\t" + flop_rate(roofline_.bound(kernel)));
      lines.push_back("FLOPs per byte\t" + significant_text(kernel.intensity()));
    } else if (kernel.time > Seconds{}) {
      lines.push_back("moves\t" + significant_text(kernel.traffic().in(GBps)) + " GB/s");
    }
    mark.target.kind = SceneTarget::Kind::part;
    mark.target.name = kernel.name;
    return mark;
  }

  const Roofline& roofline_;
  const double bandwidth_;
  const double peak_;
  Scene scene_;
  const SceneArea area_;
  SceneArea plot_;
  AxisScale x_;  ///< FLOPs per byte
  AxisScale y_;  ///< FLOP/s
  PointLabels labels_;
};

}  // namespace

Scene roofline_chart(const Roofline& roofline, const std::string& device, const SceneSpace& space) {
  FORETRAIN_REQUIRE(!roofline.kernels.empty());
  return RooflineChart(roofline, device, space).drawn();
}

std::string roofline_csv(const Roofline& roofline) {
  std::string text = "kernel,kind,flop,bytes,forward_s,per_step_s,share\n";
  for (const RooflineKernel& kernel : roofline.kernels)
    text += fmt::format("\"{}\",{},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g}\n", kernel.name,
                        name_of(kernel.kind), kernel.flop.value(), kernel.bytes.value(),
                        kernel.time.value(), kernel.total.value(), kernel.share);
  return text;
}

}  // namespace foretrain
