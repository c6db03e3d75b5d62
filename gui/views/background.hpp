// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

namespace foretrain::gui {

/// Work of a view that takes long, on a thread of its own. Only what was started last is delivered;
/// everything before it is asked to stop. Destruction waits for what still runs.
class Background : public QObject {
  Q_OBJECT

 public:
  using Deliver = std::function<void()>;
  /// Runs on the thread; what it returns runs on this object's thread afterwards.
  using Work = std::function<Deliver(const std::stop_token& stop)>;
  using Fail = std::function<void(const QString& why)>;

  explicit Background(QObject* parent);
  ~Background() override;

  /// `fail` gets the message of an exception of `work`.
  void start(Work work, Fail fail);
  /// Asks to stop; nothing is delivered any more.
  void cancel();
  [[nodiscard]] bool running() const { return running_; }
  /// Runs on this object's thread soon, unless the work that asks for it is no longer the last:
  /// for progress. Called on the thread of the work.
  void post(std::uint64_t serial, Deliver deliver);
  /// Of the work that was started last.
  [[nodiscard]] std::uint64_t serial() const { return serial_; }

 Q_SIGNALS:
  /// The work has ended and what it found was delivered; not after cancel().
  void finished();

 private:
  std::vector<std::jthread> threads_;
  std::uint64_t serial_ = 0;
  bool running_ = false;
};

}  // namespace foretrain::gui
