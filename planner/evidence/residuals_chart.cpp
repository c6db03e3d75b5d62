// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/evidence/validate_pictures.hpp"
#include "planner/scene/scene_parts.hpp"

namespace foretrain {
namespace {

/// The records of one source and group.
struct Strip {
  std::string label;
  const GroupLook* look;
  std::vector<const RecordCheck*> checks;
  std::vector<double> errors;  ///< ascending

  [[nodiscard]] double at_share(double q) const {
    return errors[static_cast<std::size_t>(
        std::lround(q * static_cast<double>(errors.size() - 1)))];
  }
};

/// Group by group, sources in order of first appearance.
std::vector<Strip> strips_of(const Validation& validation) {
  const auto checks = compared_steps(validation);
  std::vector<Strip> strips;
  for (const GroupLook& look : group_looks)
    for (const RecordCheck* check : checks) {
      if (&look_of_group(check->group) != &look) continue;
      const std::string label = source_label(check->source, check->group);
      auto found = std::find_if(strips.begin(), strips.end(),
                                [&](const Strip& one) { return one.label == label; });
      if (found == strips.end()) found = strips.insert(strips.end(), {label, &look, {}, {}});
      found->checks.push_back(check);
      found->errors.push_back(check->error());
    }
  for (Strip& one : strips) std::sort(one.errors.begin(), one.errors.end());
  return strips;
}

class ResidualsChart {
 public:
  ResidualsChart(const Validation& validation, SceneSpace space)
      : strips_{strips_of(validation)}, scene_{sized(std::move(space), strips_.size())} {
    FORETRAIN_REQUIRE(!strips_.empty());
  }

  Scene drawn() {
    const SceneArea area = scene_.headline({"Error of predicted step times, by source", details()});
    std::vector<LegendEntry> legend;
    for (const Strip& one : strips_)
      if (legend.empty() || legend.back().text != one.look->name)
        legend.push_back({one.look->paint, one.look->name});
    const double used = add_legend(scene_, area, legend) + scene_.line_height() + 12.0;
    plot_ = {area.left + name_width, area.top + used, area.width - name_width - numbers_width,
             row * static_cast<double>(strips_.size())};
    x_ = {-reach, reach, plot_.left, plot_.right()};
    add_ground();
    for (std::size_t i = 0; i < strips_.size(); ++i) {
      const double y = plot_.top + row * (static_cast<double>(i) + 0.5);
      if (i > 0 && strips_[i].look != strips_[i - 1].look)
        scene_.line({area.left, y - row / 2.0}, {area.right(), y - row / 2.0}, Ink::border);
      add_marks(strips_[i], y);
      add_box(strips_[i], y);
      add_numbers(strips_[i], y);
    }
    return std::move(scene_);
  }

 private:
  using enum Scene::Across;
  static constexpr double row = 24.0;
  static constexpr double name_width = 190.0;
  static constexpr double numbers_width = 270.0;
  static constexpr double half_box = 8.5;
  static constexpr double half_fan = 7.0;  ///< marks of a strip lie this far apart at most
  static constexpr double reach = 0.4;     ///< error at the ends of the axis
  static constexpr double notable = 0.1;   ///< a median further off is set in bold
  static constexpr std::size_t least_of_box = 3;
  static constexpr std::size_t few = 20;  ///< marks of a strip

  static SceneSpace sized(SceneSpace space, std::size_t strips) {
    space.height = 176.0 + row * static_cast<double>(strips);
    return space;
  }

  [[nodiscard]] std::string details() const {
    std::ptrdiff_t runs = 0;
    std::ptrdiff_t outside = 0;
    for (const Strip& one : strips_) {
      runs += std::ssize(one.errors);
      outside += std::count_if(one.errors.begin(), one.errors.end(),
                               [](double error) { return std::abs(error) > reach; });
    }
    std::string text = fmt::format(
        "{} measured runs; shaded: within 5 and 10 %; boxes: median, P10 to P90; bold: median more "
        "than 10 % off",
        with_thousands(runs));
    if (outside > 0)
      text += fmt::format("; {} beyond 40 % stand at the ends", with_thousands(outside));
    return text;
  }

  void add_ground() {
    for (const double error : {0.10, 0.05})
      scene_.box({x_.at(-error), plot_.top, x_.at(error) - x_.at(-error), plot_.height},
                 {Ink::muted, 0.10});
    std::vector<AxisTick> ticks;
    for (int percent = -40; percent <= 40; percent += 10)
      ticks.push_back({x_.at(percent / 100.0), fmt::format("{:+d} %", percent)});
    ticks[ticks.size() / 2].text = "0 %";
    add_x_axis(scene_, plot_, ticks,
               "predicted / measured - 1: right of zero the forecast is too slow");
    scene_.line({x_.at(0.0), plot_.top}, {x_.at(0.0), plot_.bottom()}, Ink::muted);
    const double y = plot_.top - 5.0;
    scene_.text({plot_.right() + 66.0, y}, end, Scene::Down::bottom, "runs");
    scene_.text({plot_.right() + 144.0, y}, end, Scene::Down::bottom, "median, %");
    scene_.text({plot_.right() + 262.0, y}, end, Scene::Down::bottom, "P10 / P90, %");
  }

  /// A mark per record. They are spread over the height of the strip by the golden ratio, which
  /// keeps neighbours in the file apart.
  void add_marks(const Strip& one, double y) {
    double fan = 0.5;
    for (const RecordCheck* check : one.checks) {
      const double at = one.checks.size() == 1 ? y : y + half_fan * (2.0 * fan - 1.0);
      fan = std::fmod(fan + 0.6180339887498949, 1.0);
      add_record(scene_, *check,
                 {{x_.at(std::clamp(check->error(), -reach, reach)), at},
                  one.checks.size() < few ? 2.8 : 1.9,
                  {one.look->paint, one.checks.size() > 100 ? 0.4 : 0.75},
                  {},
                  1.0,
                  one.look->shape});
    }
  }

  /// What one or two runs have in common is no distribution: their marks stand alone.
  void add_box(const Strip& one, double y) {
    if (one.errors.size() < least_of_box) return;
    const auto at = [&](double share) {
      return x_.at(std::clamp(one.at_share(share), -reach, reach));
    };
    const double from = at(0.1);
    const double to = at(0.9);
    scene_.add(ScenePath{{{from, y - half_box},
                          {to, y - half_box},
                          {to, y + half_box},
                          {from, y + half_box},
                          {from, y - half_box}},
                         std::nullopt,
                         SceneColour{Ink::text}});
    scene_.line({at(0.5), y - half_box - 1.5}, {at(0.5), y + half_box + 1.5}, Ink::text, 3.0);
  }

  void add_numbers(const Strip& one, double y) {
    const bool off = std::abs(one.at_share(0.5)) > notable;
    const SceneLetters letters{Ink::text, LetterSize::small, off};
    scene_.text({plot_.left - 12.0, y}, end, Scene::Down::middle, one.label, letters,
                name_width - 14.0);
    scene_.text({plot_.right() + 66.0, y}, end, Scene::Down::middle,
                with_thousands(static_cast<std::int64_t>(one.errors.size())), {});
    scene_.text({plot_.right() + 144.0, y}, end, Scene::Down::middle,
                signed_percent_text(one.at_share(0.5), 1), letters);
    if (one.errors.size() >= least_of_box)
      scene_.text({plot_.right() + 262.0, y}, end, Scene::Down::middle,
                  signed_percent_text(one.at_share(0.1), 1) + " / " +
                      signed_percent_text(one.at_share(0.9), 1),
                  {});
  }

  const std::vector<Strip> strips_;
  Scene scene_;
  SceneArea plot_;
  AxisScale x_;
};

}  // namespace

Scene residuals_chart(const Validation& validation, const SceneSpace& space) {
  return ResidualsChart(validation, space).drawn();
}

}  // namespace foretrain
