// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "planner/scene/scene.hpp"
#include "planner/text/svg_text.hpp"

namespace foretrain {
namespace {

/// Attributes of colours, by what they are called where the elements stand.
struct Looks {
  const ColourName& name;

  /// fill="..." or stroke="..." and how opaque it is.
  [[nodiscard]] std::string painted(const char* what, const SceneColour& colour) const {
    std::string text = fmt::format(" {}=\"{}\"", what, name(colour));
    if (colour.opacity < 1.0) text += fmt::format(" {}-opacity=\"{:.3g}\"", what, colour.opacity);
    return text;
  }
  [[nodiscard]] std::string stroked(const SceneColour& ink, double width, bool dashed) const {
    return painted("stroke", ink) + fmt::format(" stroke-width=\"{:.3g}\"", width) +
           (dashed ? " stroke-dasharray=\"6 4\"" : "");
  }
  [[nodiscard]] std::string of(const SceneDot& dot) const {
    return painted("fill", dot.fill) +
           (dot.ink ? stroked(*dot.ink, dot.width, false) : std::string{});
  }
};

std::string area_of(const SceneArea& area) {
  return fmt::format("x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"", area.left,
                     area.top, area.width, area.height);
}

std::string title_of(const SceneMark& mark) {
  std::string words = mark.title;
  for (std::string line : mark.lines) {
    if (const std::size_t tab = line.find('\t'); tab != std::string::npos)
      line.replace(tab, 1, ": ");
    words += "\n" + line;
  }
  return "<title>" + xml_text(words) + "</title>";
}

/// Marks by their middles: one that lies on a dot or a box is the tip of that.
class Tips {
 public:
  explicit Tips(const std::vector<SceneMark>& marks) {
    for (const SceneMark& mark : marks) marks_.emplace(key(mark.area.centre()), &mark);
  }

  /// `element` without its end; with the tip of the mark there, if it is on it alone.
  std::string told(std::string element, const char* name, ScenePoint middle,
                   const SceneArea* area = nullptr) {
    const auto found = marks_.find(key(middle));
    if (found == marks_.end() || (area != nullptr && !area->contains(found->second->area)))
      return element + "/>\n";
    element += ">" + title_of(*found->second) + "</" + name + ">\n";
    marks_.erase(found);
    return element;
  }

  [[nodiscard]] bool has(ScenePoint middle) const { return marks_.contains(key(middle)); }

  /// Of marks that are on nothing: invisible, on top of everything.
  [[nodiscard]] std::string rest(const std::vector<SceneMark>& marks) const {
    std::string svg;
    for (const SceneMark& mark : marks) {
      const auto [first, last] = marks_.equal_range(key(mark.area.centre()));
      if (std::any_of(first, last, [&](const auto& entry) { return entry.second == &mark; }))
        svg +=
            fmt::format("<rect {} fill=\"none\">{}</rect>\n", area_of(mark.area), title_of(mark));
    }
    return svg.empty() ? svg : "<g pointer-events=\"all\">\n" + svg + "</g>\n";
  }

 private:
  using Key = std::pair<long, long>;
  static Key key(ScenePoint at) { return {std::lround(20.0 * at.x), std::lround(20.0 * at.y)}; }

  std::multimap<Key, const SceneMark*> marks_;
};

struct SvgOf {
  Looks looks;
  Tips& tips;

  std::string operator()(const SceneText& text) const {
    const double size = picture_letters(text.letters.size);
    std::string more = looks.painted("fill", text.letters.ink);
    if (text.letters.size != LetterSize::small) more += fmt::format(" font-size=\"{}\"", size);
    if (text.letters.bold || text.letters.size == LetterSize::title)
      more += " font-weight=\"bold\"";
    const ScenePoint centre = text.box.centre();
    if (!text.upright)
      return svg_label(text.box.left, text.box.top + 0.93 * size, "start", text.text, more);
    more += fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", centre.x, centre.y);
    return svg_label(centre.x, centre.y + 0.35 * size, "middle", text.text, more);
  }
  std::string operator()(const SceneLine& line) const {
    return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"{}/>\n",
                       line.from.x, line.from.y, line.to.x, line.to.y,
                       looks.stroked(line.ink, line.width, line.dashed));
  }
  std::string operator()(const SceneBox& box) const {
    const std::string rounded =
        box.radius > 0.0 ? fmt::format(" rx=\"{:.3g}\"", box.radius) : std::string{};
    return tips.told("<rect " + area_of(box.area) + rounded + looks.painted("fill", box.fill) +
                         (box.ink ? looks.stroked(*box.ink, box.width, false) : std::string{}),
                     "rect", box.area.centre(), &box.area);
  }
  std::string operator()(const ScenePath& path) const { return told(path, std::nullopt); }
  std::string operator()(const SceneDot& dot) const {
    if (dot.shape != DotShape::circle)
      return told({dot.corners(), std::nullopt, std::nullopt}, dot.at);
    return tips.told(fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.3g}\"", dot.at.x,
                                 dot.at.y, dot.radius),
                     "circle", dot.at);
  }

  /// @param middle of a dot, whose looks stand in the group around it
  [[nodiscard]] std::string told(const ScenePath& path, std::optional<ScenePoint> middle) const {
    std::string points;
    for (const ScenePoint& point : path.points)
      points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", point.x, point.y);
    if (middle) return tips.told(fmt::format("<polygon points=\"{}\"", points), "polygon", *middle);
    return fmt::format(
        "<{} points=\"{}\"{}{}/>\n", path.fill ? "polygon" : "polyline", points,
        path.fill ? looks.painted("fill", *path.fill) : std::string(" fill=\"none\""),
        path.ink ? looks.stroked(*path.ink, path.width, path.dashed) : std::string{});
  }
};

/// Boxes or lines of one look, one after the other and without tips: where they are many, one
/// element.
class ShapeRun {
 public:
  /// Whether it takes the item; else it has ended.
  bool takes(const SceneItem& item, const SvgOf& svg) {
    const Shape shape = shape_of_item(item, svg);
    if (shape.path.empty() || (count_ > 0 && shape.look != look_)) return false;
    look_ = shape.look;
    ++count_;
    each_ += std::visit(svg, item);
    path_ += shape.path;
    return true;
  }
  /// What was taken since the last end.
  std::string ended() {
    constexpr int few = 8;
    std::string svg = count_ < few ? each_ : "<path d=\"" + path_ + "\"" + look_ + "/>\n";
    *this = {};
    return svg;
  }

 private:
  struct Shape {
    std::string look;
    std::string path;  ///< empty: it stands alone
  };

  static Shape shape_of_item(const SceneItem& item, const SvgOf& svg) {
    if (const auto* box = std::get_if<SceneBox>(&item)) {
      const SceneArea& area = box->area;
      if (box->ink || box->radius > 0.0 || svg.tips.has(area.centre())) return {};
      return {svg.looks.painted("fill", box->fill),
              fmt::format("M{:.1f} {:.1f}h{:.1f}v{:.1f}h-{:.1f}z", area.left, area.top, area.width,
                          area.height, area.width)};
    }
    const auto* line = std::get_if<ScenePath>(&item);
    if (line == nullptr || line->fill || !line->ink || line->dashed) return {};
    Shape shape{" fill=\"none\"" + svg.looks.stroked(*line->ink, line->width, false), ""};
    for (const ScenePoint& point : line->points)
      shape.path +=
          fmt::format("{}{:.1f} {:.1f}", shape.path.empty() ? "M" : "L", point.x, point.y);
    return shape;
  }

  int count_ = 0;
  std::string look_;
  std::string each_;
  std::string path_;
};

}  // namespace

std::string scene_elements(const Scene& scene, const ColourName& name) {
  std::string svg;
  Tips tips(scene.marks);
  const SvgOf item_svg{{name}, tips};
  ShapeRun shapes;
  std::string shared;  // of the dots in the group that is open
  for (const SceneItem& item : scene.items) {
    if (shared.empty() && shapes.takes(item, item_svg)) continue;
    svg += shapes.ended();
    const auto* dot = std::get_if<SceneDot>(&item);
    const std::string own = dot != nullptr ? item_svg.looks.of(*dot) : std::string{};
    if (own != shared) {
      svg += shared.empty() ? "" : "</g>\n";
      svg += own.empty() ? "" : "<g" + own + ">\n";
      shared = own;
    }
    if (!shapes.takes(item, item_svg)) svg += std::visit(item_svg, item);
  }
  svg += shapes.ended() + (shared.empty() ? "" : "</g>\n");
  return svg + tips.rest(scene.marks);
}

std::string scene_svg(const Scene& scene, const std::string& label) {
  std::string svg = svg_start(scene.space.width, scene.space.height);
  if (!label.empty()) svg += "<title>" + xml_text(label) + "</title>\n";
  return svg + scene_elements(scene, [](const SceneColour& colour) { return colour.hex(false); }) +
         "</svg>\n";
}

}  // namespace foretrain
