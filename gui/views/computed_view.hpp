// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

#include "gui/views/chart_view.hpp"

namespace foretrain::gui {

/// Work of a view that takes long, on a thread of its own. Only what was started last is delivered;
/// everything before it is asked to stop. Destruction waits for what still runs.
class Background : public QObject {
  Q_OBJECT

 public:
  using Deliver = std::function<void()>;
  /// Runs on the thread; what it returns runs on this object's thread afterwards. `serial` is for
  /// post().
  using Work = std::function<Deliver(const std::stop_token& stop, std::uint64_t serial)>;
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

 Q_SIGNALS:
  /// The work has ended and what it found was delivered; not after cancel().
  void finished();

 private:
  std::vector<std::jthread> threads_;
  std::uint64_t serial_ = 0;
  bool running_ = false;
};

/// A chart of something that takes long to compute, on a thread of its own: what was asked for last
/// is drawn, and the picture is final when that is through.
class ComputedView : public ChartView {
  Q_OBJECT

 public:
  explicit ComputedView(QWidget* parent = nullptr);

  [[nodiscard]] bool settled() const override { return !computing(); }

 protected:
  /// Asks what is computed to stop; it is not delivered, and why the last one failed is forgotten.
  void stop_computing();
  /// Runs `work` on the thread, and computed() when what it found was delivered.
  void compute(Background::Work work);
  [[nodiscard]] bool computing() const { return background_->running(); }
  /// Why the last work gave nothing; empty where it did not fail.
  [[nodiscard]] const QString& failure() const { return failure_; }
  /// For progress; see Background::post().
  void post(std::uint64_t serial, Background::Deliver deliver);
  /// The default paints anew.
  virtual void computed() { update(); }

 private:
  Background* background_;
  QString failure_;
};

}  // namespace foretrain::gui
