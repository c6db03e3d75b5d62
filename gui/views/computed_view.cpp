// SPDX-License-Identifier: Apache-2.0
#include "gui/views/computed_view.hpp"

#include <utility>

namespace foretrain::gui {

ComputedView::ComputedView(QWidget* parent) : ChartView{parent}, background_{new Background{this}} {
  connect(background_, &Background::finished, this, [this] {
    computed();
    Q_EMIT became_settled();
  });
}

void ComputedView::stop_computing() {
  background_->cancel();
  failure_.clear();
}

void ComputedView::compute(Background::Work work) {
  background_->start(std::move(work), [this](const QString& why) { failure_ = why; });
}

void ComputedView::post(std::uint64_t serial, Background::Deliver deliver) {
  background_->post(serial, std::move(deliver));
}

}  // namespace foretrain::gui
