// SPDX-License-Identifier: Apache-2.0
#include "gui/views/topology_view.hpp"

#include <algorithm>
#include <cmath>

#include "planner/network/fabric_text.hpp"
#include "planner/text/format.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

constexpr int most_boxes = 32;
constexpr double box_height = 40.0;
constexpr double domain_gap = 32.0;  ///< between hosts and the NVSwitch of their domain
constexpr double frame_room = 10.0;  ///< between a domain's frame and what is inside

QString rate_label(BytesPerSecond rate) {
  const bool large = rate.in(TBps) >= 1.0;
  return to_text(significant_text(large ? rate.in(TBps) : rate.in(GBps))) +
         (large ? u" TB/s"_s : u" GB/s"_s);
}

}  // namespace

/// Where things lie.
struct TopologyView::Frame {
  const FabricPicture& picture;
  QRectF plot;
  double step = 0.0;  ///< from tier to tier

  [[nodiscard]] QRectF box(std::size_t number, int at) const {
    const FabricTier& tier = picture.tiers[number];
    if (tier.kind == NodeKind::host_switch) return domain(at);
    const double slot = plot.width() / tier.boxes;
    const double width = std::min(120.0, slot * 0.86);
    const double x = plot.left() + slot * (at + 0.5);
    return {std::round(x - width / 2.0),
            std::round(plot.top() + step * static_cast<double>(number)), std::round(width),
            box_height};
  }
  /// The NVSwitch of a domain, below its hosts and as wide as they are.
  [[nodiscard]] QRectF domain(int at) const {
    const FabricDomain& one = picture.domains[static_cast<std::size_t>(at)];
    const QRectF first = box(picture.hosts(), one.first_box);
    const QRectF last = box(picture.hosts(), one.last_box);
    return {first.left(), first.bottom() + domain_gap, last.right() - first.left(), box_height};
  }
};

TopologyView::TopologyView(QWidget* parent) : ComputedView{parent} {}

TopologyView::Drawn TopologyView::make(const Study& study) {
  const Fabric fabric = fabric_of(study.report->scenario);
  Drawn drawn;
  std::vector<double> use;
  if (study.event) {
    use = link_shares(fabric, study.event->links);
    drawn.played = !use.empty();
    drawn.least = study.event->links.empty() ? 0.0 : study.event->links.back().utilisation;
  }
  const LinkSet down(static_cast<std::size_t>(fabric.links()), false);
  drawn.picture = fabric_picture(fabric, down, use, most_boxes);
  drawn.bisection = fabric_bisection(fabric);
  drawn.gpus_per_host = fabric.spec.host.gpus;
  drawn.gpu_link = fabric.spec.host.gpu_link;
  for (const FabricLine& line : drawn.picture.lines)
    drawn.busiest = std::max(drawn.busiest, line.use);
  return drawn;
}

void TopologyView::renew() {
  stop_computing();
  drawn_ = nullptr;
  const StudyPointer now = study();
  if (!now || !now->report) return;
  compute([this, now](const std::stop_token&, std::uint64_t) -> Background::Deliver {
    auto made = std::make_shared<const Drawn>(make(*now));
    return [this, made] { drawn_ = made; };
  });
}

QString TopologyView::missing() const {
  if (!study() || !study()->report) return missing_step(study());
  if (waiting()) return u"The network is laid out when this view is shown."_s;
  if (!failure().isEmpty()) return failure();
  if (!drawn_) return u"Laying out the network…"_s;
  if (drawn_->picture.lines.empty()) return u"One host: there is no network between hosts."_s;
  return {};
}

ChartHeadline TopologyView::headline() const {
  ChartHeadline line;
  if (!drawn_) return line;
  const Network& network = report().scenario.job.cluster.network;
  if (drawn_->played)
    line.text = u"The busiest link is in use for %1 of the step"_s.arg(
        to_text(percent_text(drawn_->busiest)));
  else if (drawn_->picture.domains.size() == 1 && drawn_->picture.tiers.back().per_box == 1)
    line.text = to_text("One " + domain_labels(drawn_->picture, 0).front());
  else if (drawn_->bisection)
    line.text = u"Bisection bandwidth: %1"_s.arg(rate_label(*drawn_->bisection));
  else
    line.text = to_text(network.title);
  line.detail = u"%1, %2, oversubscription %3"_s.arg(to_text(network.title),
                                                     to_text(std::string{name_of(network.kind)}),
                                                     QString::number(network.oversubscription));
  if (!drawn_->played)
    line.detail += u"; simulate the step with the event engine to see which links are hot"_s;
  return line;
}

QColor TopologyView::paint_of(NodeKind kind) const {
  switch (kind) {
    case NodeKind::core:
      return theme().series[5];
    case NodeKind::spine:
      return theme().series[0];
    case NodeKind::leaf:
      return theme().series[2];
    case NodeKind::host_switch:
      return theme().series[3];
    default:
      return theme().series[1];
  }
}

void TopologyView::draw(Canvas& canvas, const QRectF& area) {
  Frame frame{drawn_->picture, {}, 0.0};
  const double names = std::max(text_width(u"00,000 leaves"_s, bold(small_font())),
                                text_width(u"000 per box, 16 GPUs"_s, small_font())) +
                       16.0;
  const double scale = drawn_->played ? line_height(small_font()) + 26.0 : 0.0;
  const bool racks = !drawn_->picture.domains.empty();
  const double below = racks ? domain_gap + box_height + frame_room : 0.0;
  frame.plot = area.adjusted(names, 8.0, 0.0, -scale - below - 8.0);
  const auto tiers = static_cast<double>(drawn_->picture.hosts() + 1);
  const double spread = (frame.plot.height() - box_height) / std::max(1.0, tiers - 1.0);
  frame.step = std::min(spread, 300.0);
  frame.plot.translate(0.0, std::max(0.0, (spread - frame.step) * (tiers - 1.0) / 2.0));
  // Boxes keep their numbers from picture to picture.
  hovering_.reset();
  if (hovered() >= 0 && static_cast<std::size_t>(hovered()) < places_.size())
    hovering_ = places_[static_cast<std::size_t>(hovered())];
  places_.clear();
  draw_domains(canvas, frame);
  draw_lines(canvas, frame);
  for (std::size_t tier = 0; tier < drawn_->picture.tiers.size(); ++tier)
    draw_tier(canvas, frame, tier);
  if (drawn_->played)
    draw_scale(canvas, {area.left(), area.bottom() - scale + 12.0, area.width(), scale - 12.0});
}

/// How the lines of each tier to the one below are drawn.
struct TopologyView::TierLines {
  double widest = 0.0;  ///< bytes per second
  int count = 0;

  /// Share of the widest line; many lines are pale.
  [[nodiscard]] double share(double capacity) const {
    return widest > 0.0 ? capacity / widest : 0.0;
  }
  [[nodiscard]] double pale() const { return std::clamp(70.0 / count, 0.14, 0.6); }
};

QPen TopologyView::pen_of(const FabricLine& line, const TierLines& tier, bool lit) const {
  double width = 0.7 + 2.2 * tier.share(line.capacity().value());
  QColor paint = veiled(theme().muted, hovering_ ? tier.pale() * 0.5 : tier.pale());
  if (drawn_->played && line.use > 0.0) {
    paint = veiled(heat_colour(theme(), line.use / std::max(drawn_->busiest, 1e-12)),
                   lit || !hovering_ ? 0.95 : 0.45);
    width = std::max(width, 1.8);
  } else if (lit) {
    paint = theme().muted;
  }
  if (line.down > 0) paint = theme().bad;
  if (lit && !drawn_->played) paint = theme().accent;
  return {paint, lit ? width + 0.8 : width};
}

void TopologyView::draw_lines(Canvas& canvas, const Frame& frame) {
  const FabricPicture& picture = drawn_->picture;
  std::vector<TierLines> tiers(picture.tiers.size());
  for (const FabricLine& line : picture.lines) {
    TierLines& tier = tiers[line.above.tier];
    tier.widest = std::max(tier.widest, line.capacity().value());
    ++tier.count;
  }
  for (const bool lit : {false, true})
    for (const FabricLine& line : picture.lines) {
      const bool touched = hovering_ && (line.above == *hovering_ || line.below == *hovering_);
      if (touched != lit) continue;
      const QRectF above = frame.box(line.above.tier, line.above.box);
      const QRectF below = frame.box(line.below.tier, line.below.box);
      const bool scale_up = picture.tiers[line.below.tier].kind == NodeKind::host_switch;
      const double to = scale_up ? above.center().x() : below.center().x();
      const QPen pen = pen_of(line, tiers[line.above.tier], lit);
      canvas.line({above.center().x(), above.bottom()}, {to, below.top()}, pen.color(),
                  pen.widthF());
    }
}

/// A frame round the hosts of every domain and their NVSwitch.
void TopologyView::draw_domains(Canvas& canvas, const Frame& frame) const {
  const FabricPicture& picture = drawn_->picture;
  for (int at = 0; at < static_cast<int>(picture.domains.size()); ++at) {
    const QRectF below = frame.domain(at);
    const double slot = frame.plot.width() / picture.tiers[picture.hosts()].boxes;
    const double room = std::min(frame_room, 0.04 * slot);
    const QRectF round{below.left() - room, below.top() - domain_gap - box_height - frame_room,
                       below.width() + 2.0 * room, domain_gap + 2.0 * (box_height + frame_room)};
    const QColor paint = paint_of(NodeKind::host_switch);
    canvas.box(round, blend(theme().surface, paint, 0.08), 7.0);
    canvas.frame(round, paint, 1.2, 7.0);
  }
}

/// The name of a tier, left of it.
void TopologyView::draw_names(Canvas& canvas, const Frame& frame, std::size_t number) const {
  const FabricTier& tier = drawn_->picture.tiers[number];
  const bool domains = tier.kind == NodeKind::host_switch;
  const double middle = frame.box(number, 0).center().y();
  const double left = frame.plot.left() - 16.0;
  const QString words = domains ? (tier.count == 1 ? u"domain"_s : u"domains"_s)
                                : QString{QLatin1String(tier.count == 1 ? tier.word : tier.words)};
  canvas.text({left, middle - 1.0}, Qt::AlignRight | Qt::AlignBottom,
              to_text(with_thousands(tier.count)) + u" "_s + words,
              {bold(small_font()), theme().text});
  QStringList notes;
  if (tier.per_box > 1) notes << u"%1 per box"_s.arg(tier.per_box);
  if (tier.first == 0) notes << u"%1 GPUs"_s.arg(drawn_->gpus_per_host);
  if (domains && notes.isEmpty()) notes << rate_label(drawn_->gpu_link) + u" per GPU"_s;
  canvas.text({left, middle + 1.0}, Qt::AlignRight | Qt::AlignTop, notes.join(u", "_s),
              {small_font(), theme().muted}, left);
}

std::vector<QString> TopologyView::box_texts(const Frame& frame, std::size_t number) const {
  const FabricTier& tier = drawn_->picture.tiers[number];
  std::vector<QString> texts;
  const auto room = [&](int box) { return frame.box(number, box).width(); };
  if (tier.kind == NodeKind::host_switch) {
    for (const std::string& text :
         domain_texts(drawn_->picture, [&](const std::string&label, int box) {
           return text_width(to_text(label), small_font()) + 8.0 < room(box);
         }))
      texts.push_back(to_text(text));
    return texts;
  }
  const auto range = [&](int box) {
    return u"%1-%2"_s.arg(tier.first_of(box)).arg(tier.last_of(box));
  };
  bool ranges = tier.per_box > 1;
  for (int box = 0; box < tier.boxes; ++box)
    ranges = ranges && text_width(range(box), small_font()) + 6.0 < room(box);
  for (int box = 0; box < tier.boxes; ++box) {
    const QString text = ranges ? range(box) : QString::number(tier.first_of(box));
    texts.push_back(text_width(text, small_font()) + 1.0 < room(box) ? text : QString{});
  }
  return texts;
}

void TopologyView::draw_tier(Canvas& canvas, const Frame& frame, std::size_t number) {
  const FabricPicture& picture = drawn_->picture;
  draw_names(canvas, frame, number);
  const std::vector<QString> texts = box_texts(frame, number);
  for (int box = 0; box < picture.tiers[number].boxes; ++box) {
    const FabricPlace place{number, box};
    const QRectF area = frame.box(number, box);
    const bool over = hovering_ == place;
    const auto at = static_cast<std::size_t>(box);
    const QColor paint =
        picture.cut_off[number][at] > 0 ? theme().bad : paint_of(picture.tiers[number].kind);
    canvas.box(area, blend(theme().surface, paint, over ? 0.55 : 0.28), 5.0);
    canvas.frame(area.adjusted(0.5, 0.5, -0.5, -0.5), paint, over ? 2.0 : 1.0, 5.0);
    if (!texts[at].isEmpty())
      canvas.text(area.center(), Qt::AlignHCenter | Qt::AlignVCenter, texts[at],
                  {small_font(), theme().text});
    add_box(area, place);
  }
}

/// What a box tells under the pointer.
void TopologyView::add_box(const QRectF& area, const FabricPlace& place) {
  const FabricPicture& picture = drawn_->picture;
  const FabricTier& tier = picture.tiers[place.tier];
  const bool domain = tier.kind == NodeKind::host_switch;
  ChartMark mark{
      area,
      to_text(domain ? domain_labels(picture, place.box).front() : box_name(tier, place.box)),
      {},
      {}};
  mark.title[0] = mark.title[0].toUpper();
  BytesPerSecond up;
  BytesPerSecond down;
  BytesPerSecond scale_up;
  int cables = 0;
  double use = 0.0;
  for (const FabricLine& to : picture.lines) {
    if (to.below != place && to.above != place) continue;
    const bool inside = picture.tiers[to.below.tier].kind == NodeKind::host_switch;
    (inside ? scale_up : to.below == place ? up : down) += to.capacity();
    cables += to.cables;
    use = std::max(use, to.use);
  }
  mark.lines << u"cables\t%1"_s.arg(cables);
  if (up > BytesPerSecond{}) mark.lines << u"upwards\t"_s + rate_label(up);
  if (down > BytesPerSecond{}) mark.lines << u"downwards\t"_s + rate_label(down);
  if (scale_up > BytesPerSecond{}) mark.lines << u"NVLink\t"_s + rate_label(scale_up);
  if (drawn_->played)
    mark.lines << (use > 0.0 ? u"busiest cable in use\t"_s + to_text(percent_text(use))
                             : u"cables in use\tbelow "_s + to_text(percent_text(drawn_->least)));
  add_mark(std::move(mark));
  places_.push_back(place);
}

/// From idle to the busiest link.
void TopologyView::draw_scale(Canvas& canvas, const QRectF& area) const {
  const double width = std::min(260.0, area.width() / 3.0);
  const double middle = area.center().y();
  const double from = area.left() + text_width(u"idle"_s, small_font()) + 8.0;
  canvas.text({area.left(), middle}, Qt::AlignLeft | Qt::AlignVCenter, u"idle"_s,
              {small_font(), theme().muted});
  for (int i = 0; i < 64; ++i)
    canvas.box({from + width * i / 64.0, middle - 5.0, width / 64.0 + 1.0, 10.0},
               heat_colour(theme(), i / 63.0));
  const QString end = u"in use %1 of the step"_s.arg(to_text(percent_text(drawn_->busiest)));
  const QRectF box = canvas.text({from + width + 8.0, middle}, Qt::AlignLeft | Qt::AlignVCenter,
                                 end, {small_font(), theme().muted});
  canvas.text({box.right() + 24.0, middle}, Qt::AlignLeft | Qt::AlignVCenter,
              u"grey: below %1"_s.arg(to_text(percent_text(drawn_->least))),
              {small_font(), theme().muted}, area.right() - box.right() - 24.0);
}

QString TopologyView::csv() const {
  if (!missing().isEmpty()) return {};
  QString text = u"above,below,cables,down,capacity_bytes_per_s,use\n"_s;
  const FabricPicture& picture = drawn_->picture;
  for (const FabricLine& line : picture.lines)
    text += u"%1,%2,%3,%4,%5,%6\n"_s
                .arg(to_text(box_name(picture.tiers[line.above.tier], line.above.box)),
                     to_text(box_name(picture.tiers[line.below.tier], line.below.box)))
                .arg(line.cables)
                .arg(line.down)
                .arg(line.capacity().value(), 0, 'g', 17)
                .arg(line.use, 0, 'g', 17);
  return text;
}

}  // namespace foretrain::gui
