// SPDX-License-Identifier: Apache-2.0
#include "gui/views/registry.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gui/views/chart_scale.hpp"
#include "gui/views/chart_view.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/text/format.hpp"
#include "planner/text/ticks.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

/// Keys of selections are those of the breakdown without their unit.
QString plain_key(const WaterfallPart& part) {
  QString key = to_text(part.key);
  if (key.endsWith(u"_s"_s)) key.chop(2);
  return key;
}

QColor paint_of(const Theme& theme, const WaterfallPart& part) {
  return colour_of(theme, part_paint(part.key));
}

/// The way from the model's FLOPs at peak rate to the step that is forecast: a bar per loss, each
/// beginning where the one above it ends.
class WaterfallView : public ChartView {
 public:
  using ChartView::ChartView;

  [[nodiscard]] QString csv() const override;

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] ChartHeadline headline() const override;
  void draw(Canvas& canvas, const QRectF& area) override;
  void renew() override;

 private:
  struct Frame;

  void draw_axis(Canvas& canvas, const Frame& frame) const;
  void draw_row(Canvas& canvas, const Frame& frame, std::size_t row, Seconds before);
  [[nodiscard]] QStringList cause_of(const WaterfallPart& part) const;
  void draw_total(Canvas& canvas, const Frame& frame);

  std::vector<WaterfallPart> parts_;
  Seconds step_;
};

}  // namespace

/// Where things lie.
struct WaterfallView::Frame {
  QRectF plot;
  AxisScale x;  ///< seconds
  AxisUnit unit;
  double row = 0.0;
  double label = 0.0;   ///< width of the names
  double number = 0.0;  ///< width of the times behind the bars

  [[nodiscard]] QRectF bar(std::size_t row_number, Seconds from, Seconds to) const {
    const double height = std::round(std::min(38.0, row * 0.64));
    const double y = plot.top() + row * (static_cast<double>(row_number) + 0.5) - height / 2.0;
    const double left = x.at(std::min(from.value(), to.value()));
    const double right = x.at(std::max(from.value(), to.value()));
    return {left, y, std::max(right - left, 1.5), height};
  }
};

void WaterfallView::renew() {
  parts_.clear();
  if (!study() || study()->step() == nullptr || !report().prediction.flops) return;
  parts_ = waterfall(report().scenario.job, as_if_it_fit(report().prediction));
  step_ = study()->step()->time;
}

QString WaterfallView::missing() const {
  if (!parts_.empty()) return {};
  const QString why = missing_step(study());
  return why.isEmpty() ? u"There is no count of FLOPs to compare the step with."_s : why;
}

ChartHeadline WaterfallView::headline() const {
  ChartHeadline line;
  const Seconds ideal = parts_.empty() ? Seconds{} : parts_.front().time;
  const QString share = to_text(percent_text(ideal / step_));
  line.text = study()->runs() ? u"MFU %1: the rest of the step goes elsewhere"_s.arg(share)
                              : u"If the plan fit, MFU %1"_s.arg(share);
  line.detail = u"the model's FLOPs would take %1 at peak; the step takes %2"_s.arg(
      time_label(ideal, units()), time_label(step_, units()));
  return line;
}

void WaterfallView::draw(Canvas& canvas, const QRectF& area) {
  Frame frame;
  for (const WaterfallPart& part : parts_)
    frame.label = std::max(frame.label, text_width(to_text(part.label), small_font()));
  frame.label = std::min(frame.label, area.width() * 0.34);
  for (const WaterfallPart& part : parts_)
    frame.number = std::max(frame.number, text_width(time_label(part.time, units()), small_font()));
  const double percent = text_width(u"100.0 %"_s, small_font()) + 14.0;
  frame.number = std::max(frame.number, text_width(time_label(step_, units()), bold(small_font())));
  frame.plot = area.adjusted(frame.label + 14.0, 0.0, -frame.number - percent - 12.0,
                             -line_height(small_font()) - 8.0);
  if (frame.plot.width() < 40.0) return;
  frame.unit = time_axis(step_, units());
  frame.x = AxisScale{0.0, 1.02 * std::max(step_, study()->step()->high).value(), frame.plot.left(),
                      frame.plot.right()};
  frame.row = std::min(72.0, frame.plot.height() / static_cast<double>(parts_.size() + 1));
  frame.plot.setHeight(frame.row * static_cast<double>(parts_.size() + 1));
  draw_axis(canvas, frame);
  Seconds before;
  for (std::size_t row = 0; row < parts_.size(); ++row) {
    draw_row(canvas, frame, row, before);
    before += parts_[row].time;
  }
  draw_total(canvas, frame);
}

void WaterfallView::draw_axis(Canvas& canvas, const Frame& frame) const {
  const int most = std::max(2, static_cast<int>(frame.plot.width() / 90.0));
  for (const double tick : round_ticks(0.0, frame.x.high() / frame.unit.size, most)) {
    const double x = std::round(frame.x.at(tick * frame.unit.size)) + 0.5;
    canvas.line({x, frame.plot.top()}, {x, frame.plot.bottom()}, theme().grid);
    canvas.text({x, frame.plot.bottom() + 4.0}, Qt::AlignHCenter | Qt::AlignTop,
                QString::number(tick) + u" "_s + frame.unit.name, {small_font(), theme().muted});
  }
}

/// Why the part is there, and the setting that makes it smaller.
QStringList WaterfallView::cause_of(const WaterfallPart& part) const {
  QStringList lines;
  if (!study()->losses) return lines;
  if (part.key == "ideal") {
    lines << to_text(study()->losses->ideal_cause);
    return lines;
  }
  QString key = plain_key(part);
  for (const StepLoss& loss : study()->losses->losses) {
    if (to_text(loss.key) != key && to_text(loss.key) != to_text(part.key)) continue;
    lines << to_text(loss.cause);
    if (!loss.lever) continue;
    QStringList settings;
    for (const std::string& setting : loss.lever->settings) settings << to_text(setting);
    lines << u"%1: step %2 in place of %3"_s.arg(settings.join(u' '),
                                                 time_label(loss.lever->step_after, units()),
                                                 time_label(loss.lever->step_before, units()));
  }
  return lines;
}

void WaterfallView::draw_row(Canvas& canvas, const Frame& frame, std::size_t row, Seconds before) {
  const WaterfallPart& part = parts_[row];
  const QString key = plain_key(part);
  const QRectF bar = frame.bar(row, before, before + part.time);
  const double middle = bar.center().y();
  const bool picked = selection().kind == Selection::Kind::part && selection().part == key;
  const bool over = hovered() == static_cast<int>(marks().size());
  const QRectF whole{frame.plot.left() - frame.label - 14.0,
                     frame.plot.top() + frame.row * static_cast<double>(row),
                     frame.plot.right() - frame.plot.left() + frame.label + 14.0, frame.row};
  if (picked || over)
    canvas.box(whole, picked ? veiled(theme().accent, 0.14) : theme().hover, theme().radius);
  canvas.text({frame.plot.left() - 10.0, middle}, Qt::AlignRight | Qt::AlignVCenter,
              to_text(part.label), {small_font(), row == 0 ? theme().text : theme().muted},
              frame.label);
  // A thread from where the row above ended.
  if (row > 0) {
    const double x = std::round(frame.x.at(before.value())) + 0.5;
    canvas.line({x, middle - frame.row + bar.height() / 2.0}, {x, bar.top()}, theme().muted);
  }
  canvas.box(bar, paint_of(theme(), part), std::min(3.0, bar.width() / 2.0));
  const double right = frame.plot.right() + 10.0 + frame.number;
  canvas.text({right, middle}, Qt::AlignRight | Qt::AlignVCenter, time_label(part.time, units()),
              {small_font(), theme().text});
  canvas.text({right + 14.0 + text_width(u"100.0 %"_s, small_font()), middle},
              Qt::AlignRight | Qt::AlignVCenter, to_text(percent_text(part.time / step_)),
              {small_font(), theme().muted});
  ChartMark mark{whole, to_text(part.label), {}, {}};
  mark.lines << u"time\t"_s + time_label(part.time, units())
             << u"of the step\t"_s + to_text(percent_text(part.time / step_));
  if (row > 0) {
    const Seconds ideal = parts_.front().time;
    mark.lines << u"MFU so far\t"_s + to_text(percent_text(ideal / (before + part.time)));
  }
  mark.lines << cause_of(part);
  mark.selection.kind = Selection::Kind::part;
  mark.selection.part = key;
  add_mark(std::move(mark));
}

void WaterfallView::draw_total(Canvas& canvas, const Frame& frame) {
  const QRectF bar = frame.bar(parts_.size(), Seconds{}, step_);
  const double middle = bar.center().y();
  const double line = frame.plot.top() + frame.row * static_cast<double>(parts_.size());
  canvas.line({frame.plot.left() - frame.label - 10.0, std::round(line) + 0.5},
              {frame.plot.right(), std::round(line) + 0.5}, theme().border);
  canvas.text({frame.plot.left() - 10.0, middle}, Qt::AlignRight | Qt::AlignVCenter, u"step"_s,
              {bold(small_font()), theme().text}, frame.label);
  // The band of the forecast lies over the end of its bar.
  canvas.box(bar, blend(theme().muted, theme().surface, 0.45), 3.0);
  const StepForecast& step = *study()->step();
  if (step.high > step.low) {
    const double low = frame.x.at(std::max(0.0, step.low.value()));
    const double high = std::min(frame.x.at(step.high.value()), frame.plot.right());
    canvas.line({low, middle}, {high, middle}, theme().text, 2.0);
    for (const double x : {low, high})
      canvas.line({x, middle - 5.0}, {x, middle + 5.0}, theme().text, 2.0);
  }
  const double right = frame.plot.right() + 10.0 + frame.number;
  canvas.text({right, middle}, Qt::AlignRight | Qt::AlignVCenter, time_label(step_, units()),
              {bold(small_font()), theme().text});
  ChartMark mark{bar, u"Step"_s, {}, {}};
  mark.lines << u"time\t"_s + time_label(step_, units())
             << u"10th percentile\t"_s + time_label(step.low, units())
             << u"90th percentile\t"_s + time_label(step.high, units());
  add_mark(std::move(mark));
}

QString WaterfallView::csv() const {
  if (!missing().isEmpty()) return {};
  QString text = u"part,label,time_s\n"_s;
  for (const WaterfallPart& part : parts_)
    text += u"%1,\"%2\",%3\n"_s.arg(to_text(part.key), to_text(part.label))
                .arg(part.time.value(), 0, 'g', 17);
  return text;
}

View* make_waterfall_view(QWidget* parent) { return new WaterfallView{parent}; }

}  // namespace foretrain::gui
