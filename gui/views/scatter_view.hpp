// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "gui/views/computed_view.hpp"
#include "planner/evidence/accuracy.hpp"
#include "planner/evidence/validate.hpp"

namespace foretrain::gui {

/// Predicted against measured step times of the records that ship with the program: how far to
/// trust a forecast. Needs no scenario. Reads the records when it is first shown.
class ScatterView : public ComputedView {
  Q_OBJECT

 public:
  explicit ScatterView(QWidget* parent = nullptr);

  [[nodiscard]] QString csv() const override;

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] Scene scene(const SceneSpace& space) override;
  void showEvent(QShowEvent* event) override;

 private:
  void start();
  struct Measured {
    Validation validation;
    std::vector<LeftOutError> left_out;  ///< of the same runs, by profiles without their source
    std::string fitted;                  ///< date of the profiles
  };

  std::shared_ptr<const Measured> measured_;
};

}  // namespace foretrain::gui
