// SPDX-License-Identifier: Apache-2.0
#include "gui/views/registry.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "gui/views/chart_axis.hpp"
#include "gui/views/computed_view.hpp"
#include "planner/solve/sensitivity.hpp"
#include "planner/text/format.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

constexpr double moved_by = 0.1;

QString change_label(double share) {
  const double percent = 100.0 * share;
  if (std::abs(percent) < 0.005) return u"0 %"_s;
  const int decimals = std::abs(percent) < 0.995 ? 2 : 1;
  return (percent > 0.0 ? u"+"_s : u"−"_s) + QString::number(std::abs(percent), 'f', decimals) +
         u" %"_s;
}

/// What moving one input at a time down and up by a tenth does to the time, largest first.
class TornadoView : public ComputedView {
 public:
  using ComputedView::ComputedView;

  [[nodiscard]] QString csv() const override;

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] ChartHeadline headline() const override;
  void draw(Canvas& canvas, const QRectF& area) override;
  void renew() override;
  [[nodiscard]] bool waits_to_be_shown() const override { return true; }

 private:
  struct Frame;

  void draw_lever(Canvas& canvas, const Frame& frame, std::size_t row);
  void draw_unmoved(Canvas& canvas, const QRectF& area) const;

  std::shared_ptr<const Sensitivity> result_;
};

}  // namespace

/// Where things lie.
struct TornadoView::Frame {
  QRectF plot;
  AxisScale x;  ///< change as a share
  double row = 0.0;
  double label = 0.0;
};

void TornadoView::renew() {
  stop_computing();
  result_ = nullptr;
  const StudyPointer now = study();
  if (!now || !now->runs()) return;
  compute([this, now](const std::stop_token&, std::uint64_t) -> Background::Deliver {
    auto made = std::make_shared<const Sensitivity>(
        sensitivity(now->report->scenario, SensitivityMetric::time, moved_by));
    return [this, made] { result_ = made; };
  });
}

QString TornadoView::missing() const {
  if (QString why = missing_step(study()); !why.isEmpty()) return why;
  if (waiting()) return u"Inputs are moved when this view is shown."_s;
  if (!failure().isEmpty()) return failure();
  if (!result_) return u"Moving one input after the other…"_s;
  if (result_->levers.empty()) return u"No input of this scenario can be moved."_s;
  return {};
}

ChartHeadline TornadoView::headline() const {
  ChartHeadline line;
  if (!result_ || result_->levers.empty()) return line;
  const SensitivityLever& first = result_->levers.front();
  const double best = std::min(first.low_change, first.high_change);
  QString label = to_text(first.label);
  label[0] = label[0].toUpper();
  line.text = u"%1 matters most: 10 % of it is worth %2 of the time"_s.arg(
      label, to_text(percent_text(std::abs(best))));
  line.detail = u"%1 when one input moves down and up by 10 %, plan and all else equal"_s.arg(
      result_->base.run ? u"duration of the run"_s : u"time per token"_s);
  return line;
}

void TornadoView::draw(Canvas& canvas, const QRectF& area) {
  Frame frame;
  const auto& levers = result_->levers;
  for (const SensitivityLever& lever : levers)
    frame.label = std::max(frame.label, text_width(to_text(lever.label), small_font()));
  frame.label = std::min(frame.label, area.width() * 0.36);
  const double number = text_width(u"−00.00 %"_s, small_font()) + 10.0;
  const double line = line_height(small_font());
  const std::vector<LegendEntry> legend{{theme().series[0], u"input 10 % lower"_s},
                                        {theme().series[1], u"input 10 % higher"_s}};
  const double below = legend_height(area.width(), legend) + 2.0 * line + 14.0 +
                       (result_->unmoved.empty() ? 0.0 : line + 6.0);
  frame.plot = area.adjusted(frame.label + 14.0 + number, 2.0, -number, -below);
  if (frame.plot.width() < 60.0 || frame.plot.height() < 40.0) return;
  frame.row = std::min(84.0, frame.plot.height() / static_cast<double>(levers.size()));
  frame.plot.setHeight(frame.row * static_cast<double>(levers.size()));
  double low = 0.0;
  double high = 0.0;
  for (const SensitivityLever& lever : levers) {
    low = std::min({low, lever.low_change, lever.high_change});
    high = std::max({high, lever.low_change, lever.high_change});
  }
  if (high - low < 1e-6) high = low + 1e-6;
  frame.x = AxisScale{low, high, frame.plot.left(), frame.plot.right()};
  draw_x_axis(canvas, frame.plot,
              even_axis(frame.x, static_cast<int>(frame.plot.width() / 90.0),
                        [](double v) { return change_label(v); }),
              u"change of the time"_s);
  for (std::size_t row = 0; row < levers.size(); ++row) draw_lever(canvas, frame, row);
  const double zero = std::round(frame.x.at(0.0)) + 0.5;
  canvas.line({zero, frame.plot.top()}, {zero, frame.plot.bottom()}, theme().text);
  const double y = frame.plot.bottom() + 2.0 * line + 16.0;
  const double used = draw_legend(canvas, {area.left(), y, area.width(), 0.0}, legend);
  draw_unmoved(canvas, {area.left(), y + used, area.width(), area.bottom() - y - used});
}

void TornadoView::draw_lever(Canvas& canvas, const Frame& frame, std::size_t row) {
  const SensitivityLever& lever = result_->levers[row];
  const double top = frame.plot.top() + frame.row * static_cast<double>(row);
  const double middle = top + frame.row / 2.0;
  const double height = std::max(3.0, std::floor(std::min(24.0, frame.row * 0.36)));
  const QRectF whole{frame.plot.left() - frame.label - 90.0, top,
                     frame.plot.width() + frame.label + 170.0, frame.row};
  if (hovered() == static_cast<int>(marks().size()))
    canvas.box(whole.intersected(QRectF{rect()}).adjusted(4.0, 0.0, -4.0, 0.0), theme().hover,
               theme().radius);
  const double zero = frame.x.at(0.0);
  double least = zero;
  double most = zero;
  const auto bar = [&](double change, double y, const QColor& paint) {
    const double end = frame.x.at(change);
    least = std::min(least, end);
    most = std::max(most, end);
    canvas.box({std::min(zero, end), std::round(y), std::max(1.0, std::abs(end - zero)), height},
               paint, std::min(2.0, height / 2.0));
  };
  bar(lever.low_change, middle - height - 0.5, theme().series[0]);
  bar(lever.high_change, middle + 0.5, theme().series[1]);
  canvas.text({frame.plot.left() - text_width(u"−00.00 %"_s, small_font()) - 18.0, middle},
              Qt::AlignRight | Qt::AlignVCenter, to_text(lever.label), {small_font(), theme().text},
              frame.label);
  const double down = std::min(lever.low_change, lever.high_change);
  const double up = std::max(lever.low_change, lever.high_change);
  constexpr double shown = 5e-5;  // less reads as zero
  if (down < -shown)
    canvas.text({least - 5.0, middle}, Qt::AlignRight | Qt::AlignVCenter, change_label(down),
                {small_font(), theme().muted});
  if (up > shown)
    canvas.text({most + 5.0, middle}, Qt::AlignLeft | Qt::AlignVCenter, change_label(up),
                {small_font(), theme().muted});
  ChartMark mark{whole, to_text(lever.label), {}, {}};
  const auto tell = [&](const SensitivityPoint& point, double change) {
    mark.lines << u"times %1\t%2 per step, %3"_s.arg(QString::number(point.factor, 'g', 4),
                                                     time_label(point.step, units()),
                                                     change_label(change));
  };
  tell(lever.low, lever.low_change);
  tell(lever.high, lever.high_change);
  add_mark(std::move(mark));
}

void TornadoView::draw_unmoved(Canvas& canvas, const QRectF& area) const {
  if (result_->unmoved.empty() || area.height() < line_height(small_font())) return;
  QStringList names;
  for (const UnmovedInput& input : result_->unmoved) names << to_text(input.label);
  canvas.text(area.topLeft(), Qt::AlignLeft | Qt::AlignTop,
              u"Not given or not there: "_s + names.join(u", "_s), {small_font(), theme().muted},
              area.width());
}

QString TornadoView::csv() const {
  if (!missing().isEmpty()) return {};
  QString text = u"input,low_factor,low_change,high_factor,high_change\n"_s;
  for (const SensitivityLever& lever : result_->levers)
    text += u"%1,%2,%3,%4,%5\n"_s.arg(to_text(lever.key))
                .arg(lever.low.factor, 0, 'g', 17)
                .arg(lever.low_change, 0, 'g', 17)
                .arg(lever.high.factor, 0, 'g', 17)
                .arg(lever.high_change, 0, 'g', 17);
  return text;
}

View* make_tornado_view(QWidget* parent) { return new TornadoView{parent}; }

}  // namespace foretrain::gui
