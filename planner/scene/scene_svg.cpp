// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/scene/scene.hpp"
#include "planner/text/svg_text.hpp"

namespace foretrain {
namespace {

const char* hex_of(const SceneColour& colour) {
  const Ink* ink = std::get_if<Ink>(&colour.of);
  return ink != nullptr ? look_of(*ink).paint.light : std::get<Paint>(colour.of).light;
}

/// fill="..." or stroke="..." and how opaque it is.
std::string painted(const char* what, const SceneColour& colour) {
  std::string text = fmt::format(" {}=\"{}\"", what, hex_of(colour));
  if (colour.opacity < 1.0) text += fmt::format(" {}-opacity=\"{:.3g}\"", what, colour.opacity);
  return text;
}

std::string stroked(const SceneColour& ink, double width, bool dashed) {
  return painted("stroke", ink) + fmt::format(" stroke-width=\"{:.3g}\"", width) +
         (dashed ? " stroke-dasharray=\"6 4\"" : "");
}

std::string area_of(const SceneArea& area) {
  return fmt::format("x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"", area.left,
                     area.top, area.width, area.height);
}

struct SvgOf {
  std::string operator()(const SceneText& text) const {
    const double size = picture_letters(text.letters.size);
    std::string more = fmt::format(" fill=\"{}\"", look_of(text.letters.ink).paint.light);
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
                       stroked(line.ink, line.width, line.dashed));
  }
  std::string operator()(const SceneBox& box) const {
    return fmt::format("<rect {}{}{}/>\n", area_of(box.area),
                       box.radius > 0.0 ? fmt::format(" rx=\"{:.3g}\"", box.radius) : std::string{},
                       painted("fill", box.fill));
  }
  std::string operator()(const ScenePath& path) const {
    std::string points;
    for (const ScenePoint& point : path.points)
      points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", point.x, point.y);
    return fmt::format("<{} points=\"{}\"{}{}/>\n", path.fill ? "polygon" : "polyline", points,
                       path.fill ? painted("fill", *path.fill) : std::string(" fill=\"none\""),
                       path.ink ? stroked(*path.ink, path.width, path.dashed) : std::string{});
  }
  std::string operator()(const SceneDot& dot) const {
    if (dot.shape != DotShape::circle)
      return (*this)(ScenePath{dot.corners(), dot.fill, dot.ink, dot.width});
    return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.3g}\"{}{}/>\n", dot.at.x,
                       dot.at.y, dot.radius, painted("fill", dot.fill),
                       dot.ink ? stroked(*dot.ink, dot.width, false) : std::string{});
  }
};

/// What the pointer finds: invisible, on top of everything.
std::string tip_of(const SceneMark& mark) {
  std::string words = mark.title;
  for (std::string line : mark.lines) {
    if (const std::size_t tab = line.find('\t'); tab != std::string::npos)
      line.replace(tab, 1, ": ");
    words += "\n" + line;
  }
  return fmt::format("<rect {} fill=\"none\" pointer-events=\"all\"><title>{}</title></rect>\n",
                     area_of(mark.area), xml_text(words));
}

}  // namespace

std::string scene_svg(const Scene& scene, const std::string& label) {
  std::string svg = svg_start(scene.space.width, scene.space.height);
  if (!label.empty()) svg += "<title>" + xml_text(label) + "</title>\n";
  for (const SceneItem& item : scene.items) svg += std::visit(SvgOf{}, item);
  for (const SceneMark& mark : scene.marks) svg += tip_of(mark);
  return svg + "</svg>\n";
}

}  // namespace foretrain
