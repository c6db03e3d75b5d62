// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "gui/views/computed_view.hpp"
#include "planner/network/fabric_text.hpp"

namespace foretrain::gui {

/// The network between the hosts, tier by tier; after a run of the event engine the links that it
/// lists are coloured by their use.
class TopologyView : public ComputedView {
  Q_OBJECT

 public:
  using ComputedView::ComputedView;

  [[nodiscard]] QString csv() const override;

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] Scene scene(const SceneSpace& space) override;
  void renew() override;
  [[nodiscard]] bool waits_to_be_shown() const override { return true; }

 private:
  std::shared_ptr<const FabricReport> fabric_;
  bool cabled_ = false;  ///< there is a network between hosts
};

}  // namespace foretrain::gui
