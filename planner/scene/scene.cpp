// SPDX-License-Identifier: Apache-2.0
#include "planner/scene/scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <utility>

#include "planner/text/text_layout.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

constexpr double margin_x = 16.0;
constexpr double margin_y = 12.0;

/// Advance widths of the printable ASCII characters of DejaVu Sans, in hundredths of an em, from
/// its table hmtx.
constexpr std::array<int, 95> advances{
    32, 40, 46, 84, 64, 95, 78, 27, 39,  39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
    60, 79, 69, 63, 61, 73, 68, 99, 69,  61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63,  63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84};

class PictureMetrics : public TextMetrics {
 public:
  [[nodiscard]] double width(const std::string& text, const SceneLetters& letters) const override {
    double sum = 0.0;
    for (std::size_t at = 0; at < text.size();) {
      const auto c = static_cast<unsigned char>(text[at]);
      const std::size_t length = std::max<std::size_t>(1, utf8_length(text, at));
      sum += c >= 32 && c < 127 ? advances.at(c - 32) : length < 3 ? 64 : 90;
      at += length;
    }
    return sum / 100.0 * picture_letters(letters.size) *
           (letters.bold || letters.size == LetterSize::title ? 1.1 : 1.0);
  }
  [[nodiscard]] double height(LetterSize size) const override {
    return 1.17 * picture_letters(size);
  }
};

}  // namespace

double picture_letters(LetterSize size) {
  return size == LetterSize::title ? 16.0 : size == LetterSize::body ? 13.0 : 12.0;
}

const TextMetrics& picture_metrics() {
  static const PictureMetrics metrics;
  return metrics;
}

SceneSpace picture_space(std::string subject, double width, double height) {
  SceneSpace space{width, height};
  space.subject = std::move(subject);
  return space;
}

std::string hex_of(Heat heat, bool dark) {
  using Stop = std::array<double, 3>;
  // From pale blue over yellow to red; on dark ground, where pale is loud, from blue to yellow.
  static constexpr std::array<Stop, 5> light{{{0x9c, 0xb8, 0xd6},
                                              {0xc7, 0xb8, 0x6e},
                                              {0xf2, 0xb7, 0x05},
                                              {0xdd, 0x63, 0x0a},
                                              {0xc8, 0x10, 0x10}}};
  static constexpr std::array<Stop, 5> night{{{0x2b, 0x3a, 0x8c},
                                              {0x7b, 0x2f, 0xa0},
                                              {0xc6, 0x4c, 0x7b},
                                              {0xf0, 0x87, 0x4f},
                                              {0xf7, 0xd7, 0x4a}}};
  const auto& stops = dark ? night : light;
  const double place = std::clamp(heat.share, 0.0, 1.0) * static_cast<double>(stops.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), stops.size() - 2);
  const auto part = [&](std::size_t at) {
    const double from = stops.at(below).at(at);
    return std::lround(from +
                       (stops.at(below + 1).at(at) - from) * (place - static_cast<double>(below)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", part(0), part(1), part(2));
}

Paint ink_on(Heat heat) {
  // WCAG 2.1: the luminance that has the same contrast to black as to white.
  constexpr double even = 0.179;
  const auto ink = [&](bool dark) {
    const std::string hex = hex_of(heat, dark);
    double luminance = 0.0;
    for (const auto& [at, weight] : {std::pair{1, 0.2126}, {3, 0.7152}, {5, 0.0722}}) {
      const double c = std::stoi(hex.substr(static_cast<std::size_t>(at), 2), nullptr, 16) / 255.0;
      luminance += weight * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
    }
    return luminance > even ? "#000000" : "#ffffff";
  };
  return {ink(false), ink(true), "15"};
}

std::string SceneColour::hex(bool dark) const {
  if (const Heat* heat = std::get_if<Heat>(&of)) return hex_of(*heat, dark);
  const Ink* ink = std::get_if<Ink>(&of);
  const Paint& paint = ink != nullptr ? look_of(*ink).paint : std::get<Paint>(of);
  return dark ? paint.dark : paint.light;
}

SceneArea SceneArea::inside(double from_left, double from_top, double from_right,
                            double from_bottom) const {
  return {left + from_left, top + from_top, width - from_left - from_right,
          height - from_top - from_bottom};
}

bool SceneArea::contains(const SceneArea& other) const {
  return other.left >= left && other.right() <= right() && other.top >= top &&
         other.bottom() <= bottom();
}

bool SceneArea::meets(const SceneArea& other) const {
  return other.left < right() && left < other.right() && other.top < bottom() &&
         top < other.bottom();
}

std::vector<ScenePoint> SceneDot::corners() const {
  const double r = radius;
  switch (shape) {
    case DotShape::circle:
      break;
    case DotShape::diamond:
      return {{at.x, at.y - 1.2 * r},
              {at.x + 1.2 * r, at.y},
              {at.x, at.y + 1.2 * r},
              {at.x - 1.2 * r, at.y}};
    case DotShape::triangle:
      return {{at.x, at.y - 1.15 * r},
              {at.x + 1.1 * r, at.y + 0.75 * r},
              {at.x - 1.1 * r, at.y + 0.75 * r}};
    case DotShape::square:
      return {
          {at.x - r, at.y - r}, {at.x + r, at.y - r}, {at.x + r, at.y + r}, {at.x - r, at.y + r}};
  }
  return {};
}

Scene::Scene(const SceneSpace& in) : space{in}, chart{0.0, 0.0, in.width, in.height} {}

SceneArea Scene::headline(SceneHeadline line) {
  SceneArea area =
      SceneArea{0.0, 0.0, space.width, space.height}.inside(margin_x, margin_y, margin_x, margin_y);
  LetterSize size = LetterSize::title;
  if (!space.subject.empty()) {
    text({area.left, area.top}, Across::start, Down::top, space.subject, {Ink::text, size},
         area.width);
    area = area.inside(0.0, line_height(size) + 4.0, 0.0, 0.0);
    size = LetterSize::body;
  }
  if (line.text.empty()) return chart = area;
  const double high = line_height(size);
  double x = area.left;
  if (line.tone) {
    constexpr double radius = 4.5;
    add(SceneDot{{x + radius, area.top + high / 2.0}, radius, *line.tone});
    x += 2.0 * radius + 8.0;
  }
  text({x, area.top}, Across::start, Down::top, line.text, {Ink::text, size}, area.right() - x);
  double used = high + 10.0;
  if (!line.detail.empty()) {
    text({area.left, area.top + high + 2.0}, Across::start, Down::top, line.detail, {Ink::muted},
         area.width);
    used += line_height() + 2.0;
  }
  return chart = area.inside(0.0, used, 0.0, 0.0);
}

SceneArea Scene::text(ScenePoint at, Across across, Down down, const std::string& words,
                      const SceneLetters& letters, double room) {
  std::string shown = words;
  const bool is_cut = text_width(words, letters) > room + 0.5;
  for (int columns = display_width(words); is_cut && text_width(shown, letters) > room; --columns)
    shown = columns < 5 ? std::string{} : cut(words, columns);
  if (shown.empty()) return {at.x, at.y, 0.0, 0.0};
  const double wide = std::ceil(text_width(shown, letters));
  const double high = line_height(letters.size);
  const double left = at.x - (across == Across::end      ? wide
                              : across == Across::middle ? wide / 2.0
                                                         : 0.0);
  const double top = at.y - (down == Down::bottom ? high : down == Down::middle ? high / 2.0 : 0.0);
  // Whole pixels keep the letters of neighbouring labels alike.
  const SceneArea area{std::round(left), std::round(top), wide, high};
  add(SceneText{area, shown, letters, false, is_cut});
  return area;
}

SceneArea Scene::paragraph(ScenePoint corner, double width, const std::string& words,
                           const SceneLetters& letters) {
  SceneArea area{corner.x, corner.y, width, 0.0};
  std::string row;
  const auto end_row = [&] {
    text({area.left, area.bottom()}, Across::start, Down::top, row, letters, width);
    area.height += line_height(letters.size);
    row.clear();
  };
  std::istringstream rest{words};
  for (std::string word; rest >> word;) {
    const std::string longer = row.empty() ? word : row + " " + word;
    if (!row.empty() && text_width(longer, letters) > width) {
      end_row();
      row = word;
    } else {
      row = longer;
    }
  }
  if (!row.empty()) end_row();
  return area;
}

void Scene::upright(ScenePoint centre, const std::string& words, const SceneLetters& letters) {
  const double wide = std::ceil(text_width(words, letters));
  const double high = line_height(letters.size);
  add(SceneText{{centre.x - high / 2.0, centre.y - wide / 2.0, high, wide}, words, letters, true});
}

void Scene::plate(const SceneArea& area, double opacity) {
  box(area, {Ink::surface, opacity}, 3.0);
}

void Scene::line(ScenePoint from, ScenePoint to, const SceneColour& ink, double width,
                 bool dashed) {
  add(SceneLine{from, to, ink, width, dashed});
}

void Scene::box(const SceneArea& area, const SceneColour& fill, double radius) {
  add(SceneBox{area, fill, radius});
}

}  // namespace foretrain
