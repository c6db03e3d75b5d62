// SPDX-License-Identifier: Apache-2.0
#include "gui/process/forecaster.hpp"

#include <QMetaObject>

#include <utility>

namespace foretrain::gui {

Forecaster::Forecaster(QObject* parent) : QObject{parent}, worker_{[this] { work(); }} {}

Forecaster::~Forecaster() {
  {
    const std::lock_guard lock{mutex_};
    ending_ = true;
    stop_ = true;
  }
  wake_.notify_one();
  worker_.join();
}

std::uint64_t Forecaster::ask(Question question) {
  question.serial = ++serial_;
  busy_ = true;
  {
    const std::lock_guard lock{mutex_};
    next_ = std::move(question);
    latest_ = serial_;
    stop_ = true;  // what still runs answers an older question
  }
  wake_.notify_one();
  return serial_;
}

void Forecaster::work() {
  for (;;) {
    Question question;
    {
      std::unique_lock lock{mutex_};
      wake_.wait(lock, [this] { return ending_ || next_.has_value(); });
      if (ending_) return;
      question = std::move(*next_);
      next_.reset();
      stop_ = false;
    }
    Study study = study_of(question, &stop_);
    if (outdated(question.serial)) continue;
    if (!study.path_due) {
      hand_out(std::move(study));
      continue;
    }
    hand_out(study);
    Study complete = with_path(std::move(study));
    if (!outdated(question.serial)) hand_out(std::move(complete));
  }
}

bool Forecaster::outdated(std::uint64_t serial) {
  const std::lock_guard lock{mutex_};
  return ending_ || serial != latest_;
}

void Forecaster::hand_out(Study study) {
  auto shared = std::make_shared<const Study>(std::move(study));
  QMetaObject::invokeMethod(
      this, [this, shared = std::move(shared)] { deliver(shared); }, Qt::QueuedConnection);
}

void Forecaster::deliver(const StudyPointer& study) {
  // A later question may have come while this answer was on its way.
  if (study->question.serial != serial_) return;
  busy_ = study->path_due;
  Q_EMIT answered(study);
}

}  // namespace foretrain::gui
