// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "gui/views/computed_view.hpp"
#include "planner/step/step_slices.hpp"

namespace foretrain::gui {

/// Device memory of one stage over the step, category by category: of the picked stage, of the
/// heaviest where none is picked. Page keys go to the next and the previous stage.
class CourseView : public ComputedView {
  Q_OBJECT

 public:
  explicit CourseView(QWidget* parent = nullptr);

  [[nodiscard]] QString csv() const override;
  [[nodiscard]] bool settled() const override;
  void select(const foretrain::gui::Selection& selection) override;
  [[nodiscard]] const MemoryCourse* course() const { return course_.get(); }

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] Scene scene(const SceneSpace& space) override;
  void renew() override;
  [[nodiscard]] bool waits_to_be_shown() const override { return true; }
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void start(int stage);
  [[nodiscard]] const MemoryForecast& memory() const { return *report().prediction.memory; }

  std::shared_ptr<const MemoryCourse> course_;
  int stage_ = 0;
};

}  // namespace foretrain::gui
