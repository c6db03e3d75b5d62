// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "gui/process/study.hpp"

namespace foretrain::gui {

/// Forecasts on a thread of its own. Whoever asks again before an answer came gets the answer to
/// the last question only: nobody waits for forecasts that nobody wants any more.
class Forecaster : public QObject {
  Q_OBJECT

 public:
  explicit Forecaster(QObject* parent = nullptr);
  ~Forecaster() override;

  /// Returns at once; answered() follows. @return the serial that the study will carry
  std::uint64_t ask(Question question);
  /// True from ask() until the last study of the last question was handed out.
  [[nodiscard]] bool busy() const { return busy_; }

 Q_SIGNALS:
  /// On the thread that the forecaster lives in. Twice for one question where its path takes
  /// longer.
  void answered(foretrain::gui::StudyPointer study);

 private:
  void work();
  [[nodiscard]] bool outdated(std::uint64_t serial);
  void hand_out(Study study);
  void deliver(const StudyPointer& study);

  std::mutex mutex_;  ///< guards next_, ending_ and latest_
  std::condition_variable wake_;
  std::optional<Question> next_;
  std::uint64_t latest_ = 0;
  bool ending_ = false;
  std::atomic<bool> stop_ = false;  ///< for what the worker computes

  std::uint64_t serial_ = 0;  ///< the rest belongs to the thread that the object lives in
  bool busy_ = false;
  std::thread worker_;
};

}  // namespace foretrain::gui
