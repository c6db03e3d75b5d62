// SPDX-License-Identifier: Apache-2.0
#include "gui/views/background.hpp"

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
          deliver = work(stop);
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

}  // namespace foretrain::gui
