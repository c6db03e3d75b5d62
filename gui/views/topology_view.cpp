// SPDX-License-Identifier: Apache-2.0
#include "gui/views/topology_view.hpp"

#include "planner/network/fabric_chart.hpp"
#include "planner/network/fabric_picture.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

void TopologyView::renew() {
  stop_computing();
  fabric_ = nullptr;
  const StudyPointer now = study();
  if (!now || !now->report) return;
  compute([this, now](const std::stop_token&, std::uint64_t) -> Background::Deliver {
    auto report = std::make_shared<FabricReport>(judge_fabric(now->report->scenario, {}));
    if (now->event && !now->event->links.empty()) {
      report->use = link_shares(report->fabric, now->event->links);
      report->least_use = now->event->links.back().utilisation;
    }
    const bool cabled = !fabric_picture(report->fabric, report->down, {}, 1).lines.empty();
    return [this, report, cabled] {
      fabric_ = report;
      cabled_ = cabled;
    };
  });
}

QString TopologyView::missing() const {
  if (!study() || !study()->report) return missing_step(study());
  if (waiting()) return u"The network is laid out when this view is shown."_s;
  if (!failure().isEmpty()) return failure();
  if (!fabric_) return u"Laying out the network…"_s;
  if (!cabled_) return u"One host: there is no network between hosts."_s;
  return {};
}

Scene TopologyView::scene(const SceneSpace& space) { return fabric_chart(*fabric_, space); }

QString TopologyView::csv() const {
  return missing().isEmpty() ? qt_text(fabric_csv(*fabric_)) : QString{};
}

}  // namespace foretrain::gui
