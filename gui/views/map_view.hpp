// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gui/views/computed_view.hpp"
#include "planner/sweep/sweep_choices.hpp"

class QComboBox;
class QLabel;

namespace foretrain::gui {

/// A number of the forecast over two keys: a cell per combination, the best one outlined, what
/// cannot run hatched with its reason. A click puts a combination into the scenario.
class MapView : public ComputedView {
  Q_OBJECT

 public:
  explicit MapView(QWidget* parent = nullptr);

  [[nodiscard]] QString csv() const override;
  /// Keys of the columns and rows, as in sweep_choices(). @return false where one is not there
  bool set_axes(const QString& columns, const QString& rows);

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] Scene scene(const SceneSpace& space) override;
  void renew() override;
  void pick(const ChartMark& mark) override;
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void start();
  void fill_choosers();
  void choose_default();
  void place_choosers();
  [[nodiscard]] std::optional<MapQuestion> asked() const;

  QComboBox* columns_;
  QComboBox* rows_;
  QComboBox* metric_;
  std::vector<QLabel*> names_;  ///< of the choosers
  std::vector<SweepChoice> choices_;
  StudyPointer asked_for_;  ///< what map_ or the running sweep belongs to
  std::shared_ptr<const SweepMap> map_;
};

}  // namespace foretrain::gui
