// SPDX-License-Identifier: Apache-2.0
#include "gui/views/memory_view.hpp"

#include <algorithm>
#include <cmath>

#include "gui/views/chart_scale.hpp"
#include "planner/answer/memory_part.hpp"
#include "planner/text/ticks.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

constexpr double side_width = 236.0;
constexpr double wide_enough = 600.0;  ///< for the list beside the bars
constexpr double widest_bar = 110.0;
constexpr double head_room = 1.12;

QString stage_name(const MemoryForecast& memory, int stage) {
  const QString number = u"Stage %1"_s.arg(stage);
  return stage == memory.peak_stage && memory.stages.size() > 1 ? number + u", heaviest"_s : number;
}

}  // namespace

QColor memory_colour(const Theme& theme, const MemoryPart& look) {
  return colour_of(theme, look.paint);
}

/// Where things lie.
struct MemoryView::Frame {
  QRectF plot;
  AxisScale y;  ///< bytes
  AxisUnit unit;
  double slot = 0.0;
  double bar = 0.0;

  [[nodiscard]] double centre(std::size_t stage) const {
    return plot.left() + slot * (static_cast<double>(stage) + 0.5);
  }
};

QString MemoryView::missing() const {
  if (study() && study()->report && study()->report->prediction.memory) return {};
  return missing_step(study());
}

int MemoryView::shown_stage() const {
  const bool picked =
      selection().stage >= 0 && selection().stage < static_cast<int>(memory().stages.size());
  return picked ? selection().stage : memory().peak_stage;
}

ChartHeadline MemoryView::headline() const {
  const Bytes gap = memory().usable - memory().peak;
  const bool fits = memory().fits();
  const bool barely = memory().fits_barely();
  ChartHeadline line;
  line.tone = !fits    ? ChartHeadline::Tone::bad
              : barely ? ChartHeadline::Tone::caution
                       : ChartHeadline::Tone::good;
  line.text = barely ? u"Fits barely, %1 free"_s.arg(size_label(gap, units()))
              : fits ? u"Fits with %1 free"_s.arg(size_label(gap, units()))
                     : u"Does not fit: %1 missing"_s.arg(size_label(Bytes{} - gap, units()));
  line.detail = u"stage %1 needs %2 of %3 usable"_s.arg(memory().peak_stage)
                    .arg(size_label(memory().peak, units()), size_label(memory().usable, units()));
  return line;
}

void MemoryView::draw(Canvas& canvas, const QRectF& area) {
  const bool side = area.width() >= wide_enough;
  Frame frame;
  const Bytes top = max(memory().capacity, memory().peak) * head_room;
  frame.unit = size_axis(top, units());
  const double number = text_width(u"0000"_s, small_font());
  const double label = line_height(small_font());
  frame.plot = area.adjusted(number + label + 12.0, 4.0, side ? -side_width - 20.0 : 0.0,
                             -2.0 * label - 10.0);
  std::vector<LegendEntry> entries;
  if (!side) {
    for (const MemoryPart& look : memory_parts())
      entries.push_back({memory_colour(theme(), look), QLatin1String(look.key)});
    frame.plot.setBottom(frame.plot.bottom() - legend_height(area.width(), entries) - 6.0);
  }
  if (frame.plot.height() < 40.0) return;
  frame.y = AxisScale{0.0, top.value(), frame.plot.bottom(), frame.plot.top()};
  frame.slot = frame.plot.width() / static_cast<double>(memory().stages.size());
  frame.bar = std::max(2.0, std::floor(std::min(widest_bar, frame.slot * 0.74)));
  draw_axis(canvas, frame);
  for (const StageMemory& stage : memory().stages) draw_stack(canvas, frame, stage);
  draw_limits(canvas, frame);
  draw_bar_labels(canvas, frame);
  const double below = frame.plot.bottom() + label + 6.0;
  canvas.text({frame.plot.center().x(), below}, Qt::AlignHCenter | Qt::AlignTop,
              u"pipeline stage"_s, {small_font(), theme().muted});
  if (side)
    draw_side(canvas, {area.right() - side_width, area.top(), side_width, area.height()});
  else
    draw_legend(canvas, {area.left(), below + label + 6.0, area.width(), 0.0}, entries);
}

void MemoryView::draw_axis(Canvas& canvas, const Frame& frame) const {
  const int most = std::max(2, static_cast<int>(frame.plot.height() / 42.0));
  for (const double tick : round_ticks(0.0, frame.y.high() / frame.unit.size, most)) {
    const double y = std::round(frame.y.at(tick * frame.unit.size)) + 0.5;
    canvas.line({frame.plot.left(), y}, {frame.plot.right(), y}, theme().grid);
    canvas.text({frame.plot.left() - 8.0, y}, Qt::AlignRight | Qt::AlignVCenter,
                QString::number(tick), {small_font(), theme().muted});
  }
  const double x = frame.plot.left() - 14.0 - text_width(u"0000"_s, small_font());
  canvas.upright({x, frame.plot.center().y()}, frame.unit.name + u" per GPU"_s,
                 {small_font(), theme().muted});
}

void MemoryView::draw_stack(Canvas& canvas, const Frame& frame, const StageMemory& stage) {
  const auto index = static_cast<std::size_t>(&stage - memory().stages.data());
  const double x = std::round(frame.centre(index) - frame.bar / 2.0);
  const bool picked = selection().kind != Selection::Kind::none && stage.stage == shown_stage();
  if (picked && memory().stages.size() > 1)
    canvas.box(
        {frame.centre(index) - frame.slot / 2.0, frame.plot.top(), frame.slot, frame.plot.height()},
        veiled(theme().accent, 0.12), theme().radius);
  Bytes sum;
  double lower = std::round(frame.y.at(0.0));
  for (const MemoryPart& look : memory_parts()) {
    const Bytes size = stage.*look.size;
    if (size <= Bytes{}) continue;
    sum += size;
    const double upper = std::round(frame.y.at(sum.value()));
    const QRectF area{x, upper, frame.bar, lower - upper};
    const bool over = hovered() == static_cast<int>(marks().size());
    const bool other =
        selection().kind == Selection::Kind::part && selection().part != QLatin1String(look.key) &&
        std::any_of(memory_parts().begin(), memory_parts().end(),
                    [&](const auto& l) { return selection().part == QLatin1String(l.key); });
    const QColor paint = memory_colour(theme(), look);
    canvas.box(area, over ? blend(paint, theme().text, 0.18) : other ? veiled(paint, 0.35) : paint);
    if (area.height() > 3.0)  // a hair of ground tells neighbours apart
      canvas.line({x, upper + 0.5}, {x + frame.bar, upper + 0.5}, theme().surface);
    ChartMark mark{area, u"%1, stage %2"_s.arg(QLatin1String(look.key)).arg(stage.stage), {}, {}};
    mark.lines.push_back(size_label(size, units()) + u"\t"_s +
                         to_text(percent_text(size / stage.peak)));
    for (const MemoryRow& row : stage.rows)
      if (row.category == look.key)
        mark.lines.push_back(to_text(row.name) + u"\t"_s + size_label(row.size, units()));
    mark.selection.kind = Selection::Kind::stage;
    mark.selection.stage = stage.stage;
    mark.selection.part = QLatin1String(look.key);
    add_mark(std::move(mark));
    lower = upper;
  }
}

void MemoryView::draw_limits(Canvas& canvas, const Frame& frame) const {
  const auto draw = [&](Bytes at, const QColor& ink, Qt::PenStyle style) {
    const double y = std::round(frame.y.at(at.value()));
    canvas.line({frame.plot.left(), y}, {frame.plot.right(), y}, ink, 2.0, style);
    return y;
  };
  const double capacity = draw(memory().capacity, theme().muted, Qt::DashLine);
  const double usable = draw(memory().usable, theme().bad, Qt::SolidLine);
  const double right = frame.plot.right();
  const double base = std::min(capacity, usable) - 2.0;
  const QString label = u"device %1, usable %2"_s.arg(size_label(memory().capacity, units()),
                                                      size_label(memory().usable, units()));
  const double wide = std::min(text_width(label, small_font()), frame.plot.width());
  const double height = line_height(small_font());
  if (memory().peak > memory().usable)  // bars may stand behind it
    canvas.box({right - wide - 4.0, base - height, wide + 4.0, height},
               veiled(theme().surface, 0.86), 3.0);
  canvas.text({right, base}, Qt::AlignRight | Qt::AlignBottom, label, {small_font(), theme().muted},
              frame.plot.width());
}

void MemoryView::draw_bar_labels(Canvas& canvas, const Frame& frame) const {
  const auto& stages = memory().stages;
  const double wide = text_width(QString::number(stages.back().stage), small_font()) + 8.0;
  const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil(wide / frame.slot)));
  const auto peak_text = [&](const StageMemory& stage) {
    return QString::number(stage.peak.value() / frame.unit.size, 'f', 1);
  };
  const bool all = text_width(u"000.0"_s, bold(small_font())) + 6.0 <= frame.slot;
  const double height = line_height(small_font());
  const double upper = frame.y.at(max(memory().capacity, memory().usable).value()) - height - 4.0;
  const double lower = frame.y.at(min(memory().capacity, memory().usable).value());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const bool heaviest = stages[s].stage == memory().peak_stage;
    if (s % every == 0)
      canvas.text({frame.centre(s), frame.plot.bottom() + 4.0}, Qt::AlignHCenter | Qt::AlignTop,
                  QString::number(stages[s].stage), {small_font(), theme().muted});
    if (!all && !heaviest) continue;
    // Above its bar; inside it where it would run into the lines of the limits.
    double base = frame.y.at(stages[s].peak.value()) - 3.0;
    const bool crossed = base > upper && base - height < lower + 2.0;
    const QFont font = heaviest ? bold(small_font()) : small_font();
    if (crossed) {
      const double y = frame.y.at(stages[s].peak.value()) + height + 4.0;
      const double half = text_width(peak_text(stages[s]), font) / 2.0 + 4.0;
      canvas.box({frame.centre(s) - half, y - height - 1.0, 2.0 * half, height + 2.0},
                 veiled(theme().surface, 0.86), 3.0);
      base = y;
    }
    canvas.text({frame.centre(s), base}, Qt::AlignHCenter | Qt::AlignBottom, peak_text(stages[s]),
                {font, theme().text});
  }
}

void MemoryView::draw_side(Canvas& canvas, const QRectF& area) {
  const StageMemory& stage = memory().stages[static_cast<std::size_t>(shown_stage())];
  const double row = line_height(small_font()) + 8.0;
  double y = area.top();
  canvas.text({area.left(), y}, Qt::AlignLeft | Qt::AlignTop, stage_name(memory(), stage.stage),
              {title_font(), theme().text}, area.width());
  y += line_height(title_font()) + 6.0;
  const auto entry = [&](const QString& name, Bytes size, const QColor& ink, const QFont& font) {
    canvas.text({area.right(), y}, Qt::AlignRight | Qt::AlignTop, size_label(size, units()),
                {font, theme().text});
    canvas.text({area.left() + 20.0, y}, Qt::AlignLeft | Qt::AlignTop, name, {font, ink},
                area.width() - 104.0);
    y += row;
  };
  // In the order of the stack, seen from above.
  for (std::size_t i = memory_parts().size(); i-- > 0;) {
    const MemoryPart& look = memory_parts()[i];
    if (stage.*look.size <= Bytes{} || y + 3.0 * row > area.bottom()) continue;
    canvas.box({area.left(), y + (line_height(small_font()) - 10.0) / 2.0, 10.0, 10.0},
               memory_colour(theme(), look), 2.0);
    entry(QLatin1String(look.key), stage.*look.size, theme().muted, small_font());
  }
  canvas.line({area.left(), y - 3.0}, {area.right(), y - 3.0}, theme().border);
  y += 3.0;
  entry(u"peak"_s, stage.peak, theme().text, bold(small_font()));
  if (y + row > area.bottom()) return;
  const Bytes gap = memory().usable - stage.peak;
  entry(gap < Bytes{} ? u"missing"_s : u"free"_s, max(gap, Bytes{} - gap), theme().muted,
        small_font());
  const double lines = 2.0 * line_height(small_font());
  if (y + lines + 8.0 < area.bottom())
    canvas.paragraph({area.left(), y + 6.0}, area.width(),
                     u"%1 layers; largest at: %2"_s.arg(stage.layers).arg(to_text(stage.phase)),
                     {small_font(), theme().muted});
}

QString MemoryView::csv() const {
  if (!missing().isEmpty()) return {};
  QString text = u"stage"_s;
  for (const MemoryPart& look : memory_parts()) text += u",%1_bytes"_s.arg(QLatin1String(look.key));
  text += u",peak_bytes\n"_s;
  for (const StageMemory& stage : memory().stages) {
    text += QString::number(stage.stage);
    for (const MemoryPart& look : memory_parts())
      text += u",%1"_s.arg((stage.*look.size).value(), 0, 'f', 0);
    text += u",%1\n"_s.arg(stage.peak.value(), 0, 'f', 0);
  }
  return text;
}

}  // namespace foretrain::gui
