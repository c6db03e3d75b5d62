// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/views/background.hpp"
#include "gui/views/chart_view.hpp"

namespace foretrain::gui {

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
