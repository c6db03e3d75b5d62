// SPDX-License-Identifier: Apache-2.0
#include "planner/network/fabric_chart.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "planner/network/fabric_picture.hpp"
#include "planner/network/internal/fabric_cables.hpp"
#include "planner/scene/scene_parts.hpp"

namespace foretrain {
namespace {

constexpr int most_boxes = 32;  ///< in a row; more nodes share boxes

const Paint& paint_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::core:
      return palette::purple;
    case NodeKind::spine:
      return palette::blue;
    case NodeKind::leaf:
      return palette::green;
    case NodeKind::host_switch:
      return palette::vermilion;
    default:
      return palette::orange;
  }
}

class FabricChart {
 public:
  FabricChart(const FabricReport& report, const SceneSpace& space)
      : report_{report},
        picture_{fabric_picture(report.fabric, report.down, report.use, most_boxes)},
        scene_{space} {
    for (const FabricLine& line : picture_.lines) busiest_ = std::max(busiest_, line.use);
    area_ = scene_.headline(headline());
  }

  Scene drawn() {
    const double names =
        std::max(scene_.text_width("00,000 leaves", {Ink::text, LetterSize::small, true}),
                 scene_.text_width("000 per box, 16 GPUs")) +
        16.0;
    const double scale = played() ? scene_.line_height() + 26.0 : 0.0;
    const double below = picture_.domains.empty() ? 0.0 : domain_gap + box_height + frame_room;
    plot_ = area_.inside(names, 8.0, 0.0, scale + below + 8.0);
    const auto tiers = static_cast<double>(picture_.hosts() + 1);
    const double spread = (plot_.height - box_height) / std::max(1.0, tiers - 1.0);
    step_ = std::min(spread, 300.0);
    plot_.top += std::max(0.0, (spread - step_) * (tiers - 1.0) / 2.0);
    add_domains();
    add_lines();
    for (std::size_t tier = 0; tier < picture_.tiers.size(); ++tier) add_tier(tier);
    if (played()) add_scale({area_.left, area_.bottom() - scale + 12.0, area_.width, scale - 12.0});
    return std::move(scene_);
  }

 private:
  using enum Scene::Across;
  static constexpr double box_height = 38.0;
  static constexpr double domain_gap = 32.0;  ///< between hosts and the NVSwitch of their domain
  static constexpr double frame_room = 10.0;  ///< between a domain's frame and what is inside

  [[nodiscard]] bool played() const { return !report_.use.empty(); }

  [[nodiscard]] SceneHeadline headline() const {
    const Fabric& fabric = report_.fabric;
    SceneHeadline line;
    line.detail =
        fmt::format("{}, {}, {}-port switches: {} GPUs on {} {}", report_.title,
                    name_of(report_.kind), report_.switch_radix, with_thousands(fabric.gpus()),
                    with_thousands(fabric.spec.hosts), fabric.spec.hosts == 1 ? "host" : "hosts");
    if (!report_.caption.empty()) {
      line.text = report_.caption;
    } else if (played()) {
      line.text =
          fmt::format("The busiest link is in use for {} of the step", percent_text(busiest_));
    } else if (report_.disconnected) {
      line.text = report_.disconnected->message;
      line.tone = Ink::bad;
    } else if (picture_.domains.size() == 1 && picture_.tiers.back().per_box == 1) {
      const FabricDomain& only = picture_.domains.front();
      line.text = fmt::format("One NVLink domain: {}{} GPUs", with_thousands(only.gpus),
                              only.gpus == only.places ? "" : " of " + with_thousands(only.places));
    } else if (report_.bisection) {
      const std::size_t single = report_.single_points.size();
      line.text = fmt::format("Bisection {}, {} disjoint ways between hosts, {}",
                              bandwidth_text(*report_.bisection), report_.disjoint_paths,
                              single == 0 ? std::string("no single point of failure")
                                          : fmt::format("{} single point{} of failure", single,
                                                        single == 1 ? "" : "s"));
    } else {
      line.text = "One host";
    }
    return line;
  }

  [[nodiscard]] SceneArea box(const FabricPlace& place) const {
    const FabricTier& tier = picture_.tiers[place.tier];
    if (tier.kind == NodeKind::host_switch) return domain(place.box);
    const double slot = plot_.width / tier.boxes;
    const double width = std::round(std::min(120.0, slot * 0.86));
    return {std::round(plot_.left + slot * (place.box + 0.5) - width / 2.0),
            std::round(plot_.top + step_ * static_cast<double>(place.tier)), width, box_height};
  }
  /// The NVSwitch of a domain, below its hosts and as wide as they are.
  [[nodiscard]] SceneArea domain(int at) const {
    const FabricDomain& one = picture_.domains[static_cast<std::size_t>(at)];
    const SceneArea first = box({picture_.hosts(), one.first_box});
    const SceneArea last = box({picture_.hosts(), one.last_box});
    return {first.left, first.bottom() + domain_gap, last.right() - first.left, box_height};
  }

  /// A frame round the hosts of every domain and their NVSwitch.
  void add_domains() {
    for (int at = 0; at < static_cast<int>(picture_.domains.size()); ++at) {
      const SceneArea below = domain(at);
      const double slot = plot_.width / picture_.tiers[picture_.hosts()].boxes;
      const double room = std::min(frame_room, 0.04 * slot);
      const Paint& paint = paint_of(NodeKind::host_switch);
      scene_.add(SceneBox{{below.left - room, below.top - domain_gap - box_height - frame_room,
                           below.width + 2.0 * room, domain_gap + 2.0 * (box_height + frame_room)},
                          {paint, 0.08},
                          7.0,
                          SceneColour{paint},
                          1.2});
    }
  }

  /// How the lines of each tier to the one below are drawn: many of them are pale.
  struct TierLines {
    double widest = 0.0;  ///< bytes per second
    int count = 0;
  };

  [[nodiscard]] SceneLine look_of_line(const FabricLine& line, const TierLines& tier) const {
    const double share = tier.widest > 0.0 ? line.capacity().value() / tier.widest : 0.0;
    SceneLine drawn{
        {}, {}, {Ink::muted, std::clamp(70.0 / tier.count, 0.14, 0.6)}, 0.7 + 2.2 * share};
    if (played() && line.use > 0.0) {
      drawn.ink = {Heat{line.use / std::max(busiest_, 1e-12)}, 0.95};
      drawn.width = std::max(drawn.width, 1.8);
    }
    if (line.down > 0) drawn.ink = Ink::bad;
    return drawn;
  }

  /// Those that lost cables lie on top.
  void add_lines() {
    std::vector<TierLines> tiers(picture_.tiers.size());
    for (const FabricLine& line : picture_.lines) {
      TierLines& tier = tiers[line.above.tier];
      tier.widest = std::max(tier.widest, line.capacity().value());
      ++tier.count;
    }
    places_of_lines_.resize(picture_.lines.size());
    for (const bool hurt : {false, true})
      for (std::size_t i = 0; i < picture_.lines.size(); ++i) {
        const FabricLine& line = picture_.lines[i];
        if ((line.down > 0) != hurt) continue;
        const SceneArea above = box(line.above);
        const SceneArea below = box(line.below);
        const bool scale_up = picture_.tiers[line.below.tier].kind == NodeKind::host_switch;
        SceneLine drawn = look_of_line(line, tiers[line.above.tier]);
        drawn.from = {above.centre().x, above.bottom()};
        drawn.to = {scale_up ? above.centre().x : below.centre().x, below.top};
        places_of_lines_[i] = scene_.items.size();
        scene_.add(drawn);
      }
  }

  void add_tier(std::size_t number) {
    add_names(number);
    const std::vector<std::string> texts = box_texts(number);
    for (int at = 0; at < picture_.tiers[number].boxes; ++at) {
      const FabricPlace place{number, at};
      const SceneArea area = box(place);
      const auto index = static_cast<std::size_t>(at);
      const SceneColour paint = picture_.cut_off[number][index] > 0
                                    ? SceneColour{Ink::bad}
                                    : SceneColour{paint_of(picture_.tiers[number].kind)};
      SceneColour fill = paint;
      fill.opacity = 0.28;
      scene_.add(SceneBox{area, fill, 5.0, paint});
      if (!texts[index].empty())
        scene_.text(area.centre(), middle, Scene::Down::middle, texts[index], {});
      scene_.marks.push_back(mark_of(place, area));
    }
  }

  /// The name of a tier, left of it.
  void add_names(std::size_t number) {
    const FabricTier& tier = picture_.tiers[number];
    const bool domains = tier.kind == NodeKind::host_switch;
    const double level = box({number, 0}).centre().y;
    const double left = plot_.left - 16.0;
    const char* const words = domains ? (tier.count == 1 ? "domain" : "domains")
                                      : (tier.count == 1 ? tier.word : tier.words);
    scene_.text({left, level - 1.0}, end, Scene::Down::bottom,
                with_thousands(tier.count) + " " + words, {Ink::text, LetterSize::small, true});
    std::vector<std::string> notes;
    if (tier.per_box > 1) notes.push_back(fmt::format("{} per box", tier.per_box));
    if (tier.first == 0) notes.push_back(fmt::format("{} GPUs", report_.fabric.spec.host.gpus));
    if (domains && notes.empty())
      notes.push_back(bandwidth_text(report_.fabric.spec.host.gpu_link) + " per GPU");
    scene_.text({left, level + 1.0}, end, Scene::Down::top,
                fmt::format("{}", fmt::join(notes, ", ")), {Ink::muted}, left);
  }

  /// What is written on the boxes of a tier; empty where nothing fits.
  [[nodiscard]] std::vector<std::string> box_texts(std::size_t number) const {
    const FabricTier& tier = picture_.tiers[number];
    const auto fits = [&](const std::string& text, int at) {
      return scene_.text_width(text) + 6.0 < box({number, at}).width;
    };
    if (tier.kind == NodeKind::host_switch) return domain_texts(picture_, fits);
    const auto range = [&](int at) {
      return fmt::format("{}-{}", tier.first_of(at), tier.last_of(at));
    };
    bool ranges = tier.per_box > 1;
    for (int at = 0; at < tier.boxes; ++at) ranges = ranges && fits(range(at), at);
    std::vector<std::string> texts;
    for (int at = 0; at < tier.boxes; ++at) {
      const std::string text = ranges ? range(at) : std::to_string(tier.first_of(at));
      texts.push_back(
          ranges || scene_.text_width(text) + 1.0 < box({number, at}).width ? text : std::string{});
    }
    return texts;
  }

  [[nodiscard]] SceneMark mark_of(const FabricPlace& place, const SceneArea& area) const {
    const FabricTier& tier = picture_.tiers[place.tier];
    const bool is_domain = tier.kind == NodeKind::host_switch;
    SceneMark mark{
        area, is_domain ? domain_labels(picture_, place.box).front() : box_name(tier, place.box)};
    mark.title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(mark.title[0])));
    if (const int lost = picture_.cut_off[place.tier][static_cast<std::size_t>(place.box)])
      mark.title += is_domain ? std::string(", NVSwitch down") : fmt::format(", {} cut off", lost);
    BytesPerSecond up, down, scale_up;
    int cables = 0;
    int lost = 0;
    double use = 0.0;
    for (std::size_t i = 0; i < picture_.lines.size(); ++i) {
      const FabricLine& to = picture_.lines[i];
      if (to.below != place && to.above != place) continue;
      mark.touches.push_back(places_of_lines_[i]);
      const bool inside = picture_.tiers[to.below.tier].kind == NodeKind::host_switch;
      (inside ? scale_up : to.below == place ? up : down) += to.capacity();
      cables += to.cables;
      lost += to.down;
      use = std::max(use, to.use);
    }
    mark.lines.push_back(fmt::format("cables\t{}", cables));
    if (lost > 0) mark.lines.push_back(fmt::format("down\t{}", lost));
    const auto tell = [&](const char* way, BytesPerSecond rate) {
      if (rate > BytesPerSecond{}) mark.lines.push_back(way + ("\t" + bandwidth_text(rate)));
    };
    tell("upwards", up);
    tell("downwards", down);
    tell("NVLink", scale_up);
    if (played())
      mark.lines.push_back(use > 0.0 || !report_.least_use
                               ? "busiest cable in use\t" + percent_text(use)
                               : "cables in use\tbelow " + percent_text(*report_.least_use));
    return mark;
  }

  /// From idle to the busiest link.
  void add_scale(const SceneArea& area) {
    constexpr int steps = 64;
    const double width = std::min(260.0, area.width / 3.0);
    const double level = area.centre().y;
    const double from = area.left + scene_.text_width("idle") + 8.0;
    scene_.text({area.left, level}, start, Scene::Down::middle, "idle");
    for (int i = 0; i < steps; ++i)
      scene_.box({from + width * i / steps, level - 5.0, width / steps + 1.0, 10.0},
                 Heat{static_cast<double>(i) / (steps - 1)});
    const SceneArea box = scene_.text(
        {from + width + 8.0, level}, start, Scene::Down::middle,
        report_.caption.empty() ? fmt::format("a line is its busiest cable: in use {} of the step",
                                              percent_text(busiest_))
                                : "the busiest cable of all");
    if (report_.least_use)
      scene_.text({box.right() + 24.0, level}, start, Scene::Down::middle,
                  "grey: below " + percent_text(*report_.least_use), {Ink::muted},
                  area.right() - box.right() - 24.0);
  }

  const FabricReport& report_;
  const FabricPicture picture_;
  Scene scene_;
  double busiest_ = 0.0;  ///< share of a cable's rate
  SceneArea area_;
  SceneArea plot_;
  double step_ = 0.0;                         ///< from tier to tier
  std::vector<std::size_t> places_of_lines_;  ///< in the scene, by line of the picture
};

}  // namespace

std::vector<double> line_uses(const Fabric& fabric, const std::vector<double>& use) {
  const LinkSet none(use.size());
  std::vector<double> uses;
  for (const FabricLine& line : fabric_picture(fabric, none, use, most_boxes).lines)
    uses.push_back(line.use);
  return uses;
}

Scene fabric_chart(const FabricReport& report, const SceneSpace& space) {
  return FabricChart(report, space).drawn();
}

Scene fabric_sheet(const FabricReport& report) {
  const FabricPicture picture = fabric_picture(report.fabric, report.down, report.use, most_boxes);
  const double height = 110.0 + 140.0 * static_cast<double>(picture.hosts() + 1) +
                        (picture.domains.empty() ? 0.0 : 80.0) + (report.use.empty() ? 0.0 : 40.0);
  return fabric_chart(report, picture_space(report.name, 1400.0, height));
}

std::string fabric_svg(const FabricReport& report) {
  return scene_svg(fabric_sheet(report), report.name);
}

std::string fabric_csv(const FabricReport& report) {
  const FabricPicture picture = fabric_picture(report.fabric, report.down, report.use, most_boxes);
  std::string text = "above,below,cables,down,capacity_bytes_per_s,use\n";
  for (const FabricLine& line : picture.lines)
    text += fmt::format("{},{},{},{},{:.17g},{:.17g}\n",
                        box_name(picture.tiers[line.above.tier], line.above.box),
                        box_name(picture.tiers[line.below.tier], line.below.box), line.cables,
                        line.down, line.capacity().value(), line.use);
  return text;
}

}  // namespace foretrain
