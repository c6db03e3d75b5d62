// SPDX-License-Identifier: Apache-2.0

#include "planner/evidence/validate_pictures.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>

#include "models/base/require.hpp"
#include "planner/evidence/accuracy.hpp"
#include "planner/evidence/internal/validate_report.hpp"
#include "planner/scene/scene_parts.hpp"

namespace foretrain {
namespace {

class ScatterChart {
 public:
  ScatterChart(const Validation& validation, SceneHeadline line, const SceneSpace& space)
      : checks_{compared_steps(validation)}, scene_{space} {
    FORETRAIN_REQUIRE(!checks_.empty());
    if (line.text.empty())
      line = {"Step time, predicted against measured", scatter_details(validation)};
    area_ = scene_.headline(std::move(line));
  }

  Scene drawn() {
    const bool list = area_.width >= wide_enough;
    plot_ =
        plot_inside(scene_, area_.inside(0.0, 0.0, list ? list_width + 20.0 : 0.0, 0.0), "100 ms");
    double low = checks_.front()->measured;
    double high = low;
    for (const RecordCheck* check : checks_) {
      low = std::min({low, check->measured, check->predicted});
      high = std::max({high, check->measured, check->predicted});
    }
    x_ = {low / 1.25, high * 1.25, plot_.left, plot_.right(), true};
    y_ = {low / 1.25, high * 1.25, plot_.bottom(), plot_.top, true};
    add_x_axis(scene_, plot_, log_axis(x_, static_cast<int>(plot_.width / 80.0), seconds_tick),
               "measured step time");
    add_y_axis(scene_, plot_, log_axis(y_, static_cast<int>(plot_.height / 50.0), seconds_tick),
               "predicted step time");
    add_points();
    for (const Bound& bound : bounds)
      for (const double factor : {1.0 + bound.error, 1.0 / (1.0 + bound.error)})
        add_ratio(factor, bound);
    if (list) add_list({area_.right() - list_width, plot_.top, list_width, plot_.height});
    return std::move(scene_);
  }

 private:
  using Checks = std::vector<const RecordCheck*>;
  struct Bound {
    double error;
    const char* words;
    double width;
    bool dashed;
  };
  static constexpr double list_width = 260.0;
  static constexpr double wide_enough = 640.0;
  static constexpr std::size_t many = 200;  ///< records of a group
  static constexpr std::array<Bound, 3> bounds{{{0.0, "predicted = measured", 1.4, false},
                                                {0.05, "5 % off", 1.0, true},
                                                {0.10, "10 % off", 0.6, true}}};

  static std::string seconds_tick(double seconds) {
    if (seconds < 0.9e-3) return tick_text(seconds * 1e6) + " us";
    return seconds < 0.9 ? tick_text(seconds * 1e3) + " ms" : tick_text(seconds) + " s";
  }

  [[nodiscard]] Checks of(const GroupLook& look) const {
    Checks own;
    for (const RecordCheck* check : checks_)
      if (&look_of_group(check->group) == &look) own.push_back(check);
    return own;
  }

  /// The group with the most records first: those with few lie on top.
  void add_points() {
    std::vector<std::pair<const GroupLook*, Checks>> groups;
    for (const GroupLook& look : group_looks) groups.emplace_back(&look, of(look));
    std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
      return a.second.size() > b.second.size();
    });
    const double radius = plot_.height < 300.0 ? 2.2 : 3.0;
    for (const auto& [look, own] : groups)
      for (const RecordCheck* check : own)
        add_record(scene_, *check,
                   {{x_.at(check->measured), y_.at(check->predicted)},
                    own.size() < many ? radius + 0.5 : radius,
                    {look->paint, own.size() < many ? 0.85 : 0.5},
                    {},
                    1.0,
                    look->shape});
  }

  /// Predicted = factor x measured, as far as the plot goes.
  void add_ratio(double factor, const Bound& bound) {
    const double from = std::max(x_.low(), x_.low() / factor);
    const double to = std::min(x_.high(), x_.high() / factor);
    scene_.line({x_.at(from), y_.at(from * factor)}, {x_.at(to), y_.at(to * factor)}, Ink::text,
                bound.width, bound.dashed);
  }

  void add_list(const SceneArea& area) {
    using enum Scene::Across;
    const double high = scene_.line_height();
    const double row = high + 4.0;
    double y = area.top;
    for (const GroupLook& look : group_looks) {
      const Checks own = of(look);
      if (own.empty() || y + 2.0 * row > area.bottom() - 4.0 * row) continue;
      scene_.add(SceneDot{{area.left + 6.0, y + high / 2.0}, 5.0, look.paint, {}, 1.0, look.shape});
      scene_.text({area.left + 20.0, y}, start, Scene::Down::top, look.name,
                  {Ink::text, LetterSize::small, true}, area.width - 20.0);
      scene_.text({area.left + 20.0, y + row}, start, Scene::Down::top,
                  fmt::format("{} runs, median error {}",
                              with_thousands(static_cast<std::int64_t>(own.size())),
                              percent_text(median_error(own))),
                  {Ink::muted}, area.width - 20.0);
      y += 2.0 * row + 8.0;
    }
    y += 6.0;
    for (const Bound& bound : bounds) {
      if (y + row > area.bottom()) return;
      const double middle_y = std::round(y + high / 2.0);
      scene_.line({area.left - 4.0, middle_y}, {area.left + 14.0, middle_y}, Ink::text, bound.width,
                  bound.dashed);
      scene_.text({area.left + 20.0, y}, start, Scene::Down::top, bound.words);
      y += row;
    }
    add_errors_of({area.left, y + 14.0, area.width, area.bottom() - y - 14.0});
  }

  /// How often each error occurs, in steps of 2.5 %; the outermost bars hold all beyond.
  void add_errors_of(const SceneArea& area) {
    using enum Scene::Across;
    constexpr int half = 12;
    constexpr double width = 0.025;
    const double line = scene_.line_height();
    if (area.height < 130.0) return;
    std::array<int, std::size_t{2} * half> bars{};
    for (const RecordCheck* check : checks_) {
      const int bar = static_cast<int>(std::floor(check->error() / width)) + half;
      ++bars.at(static_cast<std::size_t>(std::clamp(bar, 0, 2 * half - 1)));
    }
    scene_.text({area.left, area.top}, start, Scene::Down::top, "errors, predicted over measured",
                {Ink::muted}, area.width);
    const SceneArea plot{area.left + 14.0, area.top + line + 8.0, area.width - 30.0,
                         std::min(220.0, area.height - 2.0 * line - 20.0)};
    const AxisScale x{-half * width, half * width, plot.left, plot.right()};
    const double most = *std::max_element(bars.begin(), bars.end());
    for (const double at : {-0.2, 0.0, 0.2}) {
      const double pixel = std::round(x.at(at)) + 0.5;
      scene_.line({pixel, plot.top}, {pixel, plot.bottom()});
      scene_.text({pixel, plot.bottom() + 4.0}, middle, Scene::Down::top,
                  at == 0.0 ? "0" : fmt::format("{:+.0f} %", 100.0 * at));
    }
    for (std::size_t i = 0; i < bars.size(); ++i) {
      const double from = x.at((static_cast<double>(i) - half) * width);
      const double to = x.at((static_cast<double>(i) - half + 1.0) * width);
      const double high = plot.height * bars.at(i) / most;
      const bool near = i + 4 >= half && i < half + 4;
      scene_.box({from + 0.5, plot.bottom() - high, to - from - 1.0, high},
                 {Ink::accent, near ? 1.0 : 0.5});
    }
    scene_.line({plot.left, plot.bottom() + 0.5}, {plot.right(), plot.bottom() + 0.5}, Ink::border);
  }

  static std::string scatter_details(const Validation& validation) {
    const Checks checks = compared_steps(validation);
    const auto within = [&](double bound) {
      const auto close = std::count_if(checks.begin(), checks.end(), [&](const RecordCheck* check) {
        return std::abs(check->error()) <= bound;
      });
      return fixed_text(100.0 * static_cast<double>(close) / static_cast<double>(checks.size()), 0);
    };
    return fmt::format(
        "{} measured runs: {} % within 5 %, {} % within 10 %, {} % within 20 %; median |error| {}",
        with_thousands(static_cast<std::int64_t>(checks.size())), within(0.05), within(0.10),
        within(0.20), percent_text(median_error(checks)));
  }

  const Checks checks_;
  Scene scene_;
  SceneArea area_;
  SceneArea plot_;
  AxisScale x_;
  AxisScale y_;
};

}  // namespace

bool has_step_times(const Validation& validation) { return !compared_steps(validation).empty(); }

Scene scatter_chart(const Validation& validation, const SceneSpace& space, SceneHeadline line) {
  return ScatterChart(validation, std::move(line), space).drawn();
}

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
