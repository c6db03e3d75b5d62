// SPDX-License-Identifier: Apache-2.0

#include "gui/views/computed_view.hpp"

#include <exception>
#include <utility>

namespace foretrain::gui {

Background::Background(QObject* parent) : QObject{parent} {}

Background::~Background() { cancel(); }

void Background::start(Work work, Fail fail) {
  cancel();
  running_ = true;
  const std::uint64_t serial = ++serial_;
  threads_.emplace_back(
      [this, serial, work = std::move(work), fail = std::move(fail)](const std::stop_token& stop) {
        Deliver deliver;
        try {
          deliver = work(stop, serial);
        } catch (const std::exception& error) {
          deliver = [fail, why = QString::fromUtf8(error.what())] { fail(why); };
        }
        post(serial, [this, deliver = std::move(deliver)] {
          running_ = false;
          deliver();
          Q_EMIT finished();
        });
      });
}

void Background::cancel() {
  for (std::jthread& thread : threads_) thread.request_stop();
  ++serial_;
  running_ = false;
}

void Background::post(std::uint64_t serial, Deliver deliver) {
  QMetaObject::invokeMethod(
      this,
      [this, serial, deliver = std::move(deliver)] {
        if (serial == serial_) deliver();
      },
      Qt::QueuedConnection);
}

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
