// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "gui/views/computed_view.hpp"
#include "planner/search/plan_cloud.hpp"

class QPushButton;

namespace foretrain::gui {

/// Every plan that a search finds to fit, by memory and step time, with the front of those that
/// nothing beats in both. A click puts a plan into the scenario. Searches while it is visible.
class ParetoView : public ComputedView {
  Q_OBJECT

 public:
  explicit ParetoView(QWidget* parent = nullptr);

  [[nodiscard]] QString csv() const override;
  /// What the last search found; null before.
  [[nodiscard]] const PlanCloud* cloud() const { return cloud_.get(); }

  Q_SLOT void stop();

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] Scene scene(const SceneSpace& space) override;
  [[nodiscard]] ChartMark told(const ChartMark& mark) const override;
  void pick(const ChartMark& mark) override;
  void renew() override;
  void restyle() override;
  void computed() override;
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void start();
  /// Called on the thread of the search.
  void post_progress(std::uint64_t serial, std::int64_t done, std::int64_t all);
  void place_button();

  QPushButton* stop_button_;
  StudyPointer searched_;  ///< what cloud_ or the running search belongs to
  std::shared_ptr<const PlanCloud> cloud_;
  QString progress_;
  bool stopped_ = false;
};

}  // namespace foretrain::gui
