// SPDX-License-Identifier: Apache-2.0
#include "gui/views/scatter_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "planner/evidence/validate_pictures.hpp"
#include "planner/text/format.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

ScatterView::ScatterView(QWidget* parent) : ComputedView{parent} {}

void ScatterView::showEvent(QShowEvent* event) {
  ComputedView::showEvent(event);
  if (!measured_ && failure().isEmpty() && !computing()) start();
}

void ScatterView::start() {
  compute([this](const std::stop_token&, std::uint64_t) -> Background::Deliver {
    ValidateRequest request;
    request.runs.emplace();
    request.vtrain.emplace();
    request.only = ValidateOnly::time;
    auto measured = std::make_shared<const Measured>(
        Measured{validate(request), shipped_left_out({}), fit_date({})});
    return [this, measured] { measured_ = measured; };
  });
}

QString ScatterView::missing() const {
  if (!failure().isEmpty()) return failure();
  if (!measured_) return u"Forecasting the measured runs…"_s;
  if (!has_step_times(measured_->validation))
    return u"No step time of the measured records can be compared."_s;
  return {};
}

Scene ScatterView::scene(const SceneSpace& space) {
  SceneHeadline line;
  const auto left_out = std::find_if(measured_->left_out.begin(), measured_->left_out.end(),
                                     [](const LeftOutError& error) { return error.total(); });
  if (left_out != measured_->left_out.end()) {
    line.text = fmt::format("Sources left out of the fit: half within {}, mean {}",
                            percent_text(left_out->median), percent_text(left_out->mape));
    line.detail = fmt::format(
        "{}, {} folds, profiles of {}; drawn: steps by profiles that were "
        "fitted on them",
        left_out_label(*left_out), fold_count(measured_->left_out, left_out->axis),
        measured_->fitted);
  }
  return scatter_chart(measured_->validation, space, line);
}

QString ScatterView::csv() const {
  return measured_ ? qt_text(validation_csv(measured_->validation)) : QString{};
}

}  // namespace foretrain::gui
