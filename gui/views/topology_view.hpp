// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPen>

#include <memory>
#include <optional>
#include <vector>

#include "gui/views/computed_view.hpp"
#include "planner/network/fabric_picture.hpp"

namespace foretrain::gui {

/// The network between the hosts, tier by tier; lines are as wide as what their cables carry. After
/// a run of the event engine the links that it lists are coloured by their use.
class TopologyView : public ComputedView {
  Q_OBJECT

 public:
  explicit TopologyView(QWidget* parent = nullptr);

  [[nodiscard]] QString csv() const override;

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] ChartHeadline headline() const override;
  void draw(Canvas& canvas, const QRectF& area) override;
  void renew() override;
  [[nodiscard]] bool waits_to_be_shown() const override { return true; }

 private:
  /// A fabric as it is drawn.
  struct Drawn {
    FabricPicture picture;
    std::optional<BytesPerSecond> bisection;
    int gpus_per_host = 0;
    BytesPerSecond gpu_link;  ///< of one GPU to the NVSwitches of its domain
    bool played = false;
    double busiest = 0.0;  ///< share of a cable's rate
    double least = 0.0;    ///< smallest share that the event run lists
  };
  struct Frame;

  [[nodiscard]] static Drawn make(const Study& study);
  struct TierLines;
  [[nodiscard]] QPen pen_of(const FabricLine& line, const TierLines& tier, bool lit) const;
  void draw_lines(Canvas& canvas, const Frame& frame);
  void draw_domains(Canvas& canvas, const Frame& frame) const;
  void draw_names(Canvas& canvas, const Frame& frame, std::size_t tier) const;
  void draw_tier(Canvas& canvas, const Frame& frame, std::size_t tier);
  /// What is written on the boxes of a tier; empty where nothing fits.
  [[nodiscard]] std::vector<QString> box_texts(const Frame& frame, std::size_t tier) const;
  void add_box(const QRectF& area, const FabricPlace& place);
  void draw_scale(Canvas& canvas, const QRectF& area) const;
  [[nodiscard]] QColor paint_of(NodeKind kind) const;

  std::shared_ptr<const Drawn> drawn_;
  std::vector<FabricPlace> places_;      ///< by mark: every mark is a box
  std::optional<FabricPlace> hovering_;  ///< box under the pointer
};

}  // namespace foretrain::gui
