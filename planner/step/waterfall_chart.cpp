// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "planner/answer/prediction_parts.hpp"
#include "planner/forecast/report.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/scene/scene.hpp"
#include "planner/scene/scene_parts.hpp"
#include "planner/step/step_losses.hpp"

namespace foretrain {
namespace {

constexpr SceneLetters strong{Ink::text, LetterSize::small, true};

/// Names of targets are those of the breakdown without their unit.
std::string plain_key(const WaterfallPart& part) {
  return part.key.ends_with("_s") ? part.key.substr(0, part.key.size() - 2) : part.key;
}

class WaterfallChart {
 public:
  WaterfallChart(const Report& report, const StepLosses* losses, const SceneSpace& space)
      : shown_{as_if_it_fit(report.prediction)},
        parts_{waterfall(report.scenario.job, shown_)},
        step_{*shown_.step},
        losses_{losses},
        scene_{space} {
    const std::string share = percent_text(parts_.front().time / step_.time);
    area_ = scene_.headline(
        {report.prediction.step ? fmt::format("MFU {}: the rest of the step goes elsewhere", share)
                                : fmt::format("If the plan fit, MFU {}", share),
         fmt::format("the model's FLOPs would take {} at peak; the step takes {}",
                     time(parts_.front().time), time(step_.time))});
  }

  Scene drawn() {
    for (const WaterfallPart& part : parts_) {
      label_ = std::max(label_, scene_.text_width(part.label));
      number_ = std::max(number_, scene_.text_width(time(part.time)));
    }
    label_ = std::min(label_, area_.width * 0.34);
    number_ = std::max(number_, scene_.text_width(time(step_.time), strong));
    percent_ = scene_.text_width("100.0 %");
    plot_ = area_.inside(label_ + 14.0, 0.0, number_ + percent_ + 26.0, scene_.line_height() + 8.0);
    if (plot_.width < 40.0) return std::move(scene_);
    const double rows = static_cast<double>(parts_.size() + 1);
    row_ = std::min(72.0, plot_.height / rows);
    plot_.height = row_ * rows;
    x_ = {0.0, 1.02 * max(step_.time, step_.high).value(), plot_.left, plot_.right()};
    const AxisUnit unit = seconds_axis(step_.time, scene_.space.units);
    add_x_axis(scene_, plot_,
               even_axis(x_.in(unit.size), static_cast<int>(plot_.width / 90.0),
                         [&](double v) { return tick_text(v) + " " + unit.name; }));
    Seconds before;
    for (std::size_t row = 0; row < parts_.size(); ++row) {
      add_row(row, before);
      before += parts_[row].time;
    }
    add_total();
    return std::move(scene_);
  }

 private:
  using enum Scene::Across;

  [[nodiscard]] std::string time(Seconds value) const {
    return seconds_text(value, scene_.space.units);
  }

  [[nodiscard]] SceneArea bar(std::size_t row, Seconds from, Seconds to) const {
    const double height = std::round(std::min(38.0, row_ * 0.64));
    const double y = plot_.top + row_ * (static_cast<double>(row) + 0.5) - height / 2.0;
    const double left = x_.at(min(from, to).value());
    return {left, y, std::max(x_.at(max(from, to).value()) - left, 1.5), height};
  }

  /// Why the part is there, and the setting that makes it smaller.
  [[nodiscard]] std::vector<std::string> cause_of(const WaterfallPart& part) const {
    if (losses_ == nullptr) return {};
    if (part.key == ideal_key) return {losses_->ideal_cause};
    std::vector<std::string> lines;
    for (const StepLoss& loss : losses_->losses) {
      if (loss.key != plain_key(part) && loss.key != part.key) continue;
      lines.push_back(loss.cause);
      if (loss.lever)
        lines.push_back(fmt::format("{}: step {} in place of {}",
                                    fmt::join(loss.lever->settings, " "),
                                    time(loss.lever->step_after), time(loss.lever->step_before)));
    }
    return lines;
  }

  void add_number(double y, const std::string& words, const SceneLetters& letters) {
    scene_.text({plot_.right() + 10.0 + number_, y}, end, Scene::Down::middle, words, letters);
  }

  void add_row(std::size_t row, Seconds before) {
    const WaterfallPart& part = parts_[row];
    const SceneArea area = bar(row, before, before + part.time);
    const double y = area.centre().y;
    scene_.text({plot_.left - 10.0, y}, end, Scene::Down::middle, part.label,
                {row == 0 ? Ink::text : Ink::muted}, label_);
    // A thread from where the row above ended.
    if (row > 0) {
      const double x = std::round(x_.at(before.value())) + 0.5;
      scene_.line({x, y - row_ + area.height / 2.0}, {x, area.top}, Ink::muted);
    }
    scene_.box(area, part_paint(part.key), std::min(3.0, area.width / 2.0));
    add_number(y, time(part.time), {});
    scene_.text({plot_.right() + 24.0 + number_ + percent_, y}, end, Scene::Down::middle,
                percent_text(part.time / step_.time));
    SceneMark mark{
        {plot_.left - label_ - 14.0, plot_.top + row_ * static_cast<double>(row),
         plot_.width + label_ + 14.0, row_},
        part.label,
        {"time\t" + time(part.time), "of the step\t" + percent_text(part.time / step_.time)}};
    if (row > 0)
      mark.lines.push_back("MFU so far\t" +
                           percent_text(parts_.front().time / (before + part.time)));
    for (std::string& line : cause_of(part)) mark.lines.push_back(std::move(line));
    mark.target.kind = SceneTarget::Kind::part;
    mark.target.name = plain_key(part);
    scene_.marks.push_back(std::move(mark));
  }

  /// The band of the forecast lies over the end of its bar.
  void add_total() {
    const SceneArea area = bar(parts_.size(), Seconds{}, step_.time);
    const double y = area.centre().y;
    const double line = std::round(plot_.top + row_ * static_cast<double>(parts_.size())) + 0.5;
    scene_.line({plot_.left - label_ - 10.0, line}, {plot_.right(), line}, Ink::border);
    scene_.text({plot_.left - 10.0, y}, end, Scene::Down::middle, "step", strong, label_);
    scene_.box(area, {Ink::muted, 0.55}, 3.0);
    if (step_.high > step_.low) {
      const double low = x_.at(std::max(0.0, step_.low.value()));
      const double high = std::min(x_.at(step_.high.value()), plot_.right());
      scene_.line({low, y}, {high, y}, Ink::text, 2.0);
      for (const double x : {low, high}) scene_.line({x, y - 5.0}, {x, y + 5.0}, Ink::text, 2.0);
    }
    add_number(y, time(step_.time), strong);
    scene_.marks.push_back({area,
                            "Step",
                            {"time\t" + time(step_.time), "10th percentile\t" + time(step_.low),
                             "90th percentile\t" + time(step_.high)}});
  }

  const Prediction shown_;
  const std::vector<WaterfallPart> parts_;
  const StepForecast& step_;
  const StepLosses* losses_;
  Scene scene_;
  SceneArea area_;
  SceneArea plot_;
  AxisScale x_;  ///< seconds
  double row_ = 0.0;
  double label_ = 0.0;    ///< width of the names
  double number_ = 0.0;   ///< width of the times behind the bars
  double percent_ = 0.0;  ///< width of the shares behind these
};

}  // namespace

Scene waterfall_chart(const Report& report, const StepLosses* losses, const SceneSpace& space) {
  return WaterfallChart(report, losses, space).drawn();
}

std::string waterfall_csv(const Report& report) {
  std::string text = "part,label,time_s\n";
  for (const WaterfallPart& part : waterfall(report.scenario.job, as_if_it_fit(report.prediction)))
    text += fmt::format("{},\"{}\",{:.17g}\n", part.key, part.label, part.time.value());
  return text;
}

}  // namespace foretrain
