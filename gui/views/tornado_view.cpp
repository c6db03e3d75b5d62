// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "gui/views/computed_view.hpp"
#include "gui/views/registry.hpp"
#include "planner/scene/scene.hpp"
#include "planner/solve/sensitivity.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

/// What moving one input at a time down and up by a tenth does to the time.
class TornadoView : public ComputedView {
 public:
  using ComputedView::ComputedView;

  [[nodiscard]] QString csv() const override {
    return missing().isEmpty() ? qt_text(tornado_csv(*result_)) : QString{};
  }

 protected:
  [[nodiscard]] QString missing() const override {
    if (QString why = missing_step(study()); !why.isEmpty()) return why;
    if (waiting()) return u"Inputs are moved when this view is shown."_s;
    if (!failure().isEmpty()) return failure();
    if (!result_) return u"Moving one input after the other…"_s;
    if (result_->levers.empty()) return u"No input of this scenario can be moved."_s;
    return {};
  }
  [[nodiscard]] Scene scene(const SceneSpace& space) override {
    return tornado_chart(*result_, space);
  }
  void renew() override {
    stop_computing();
    result_ = nullptr;
    const StudyPointer now = study();
    if (!now || !now->runs()) return;
    compute([this, now](const std::stop_token&, std::uint64_t) -> Background::Deliver {
      auto made = std::make_shared<const Sensitivity>(
          sensitivity(now->report->scenario, SensitivityMetric::time, 0.1));
      return [this, made] { result_ = made; };
    });
  }
  [[nodiscard]] bool waits_to_be_shown() const override { return true; }

 private:
  std::shared_ptr<const Sensitivity> result_;
};

}  // namespace

View* make_tornado_view(QWidget* parent) { return new TornadoView{parent}; }

}  // namespace foretrain::gui
