// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRectF>
#include <QString>
#include <QStringList>

#include <optional>
#include <vector>

#include "gui/views/chart_text.hpp"
#include "gui/views/scene_painter.hpp"
#include "gui/views/tip_box.hpp"
#include "gui/views/view.hpp"

namespace foretrain::gui {

/// Something in a chart that can be pointed at and picked.
struct ChartMark {
  QRectF area;
  QString title;      ///< of the tip
  QStringList lines;  ///< of the tip, see TipBox
  Selection selection;
};

/// A view that paints itself: headline, chart, and what the pointer is over. Where there is nothing
/// to draw it says why in a sentence.
class ChartView : public View {
  Q_OBJECT

 public:
  explicit ChartView(QWidget* parent = nullptr);

  void show_study(StudyPointer study) override;
  void select(const foretrain::gui::Selection& selection) override;

  /// Every label of the picture as it was painted last.
  [[nodiscard]] const std::vector<DrawnLabel>& labels() const { return labels_; }
  [[nodiscard]] const std::vector<ChartMark>& marks() const { return marks_; }
  /// Where the chart was painted last, without its headline.
  [[nodiscard]] QRectF chart_area() const { return area_; }
  /// The sentence that stands in place of the chart, or empty.
  [[nodiscard]] QString message() const { return missing(); }
  [[nodiscard]] QSize sizeHint() const override { return {720, 420}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {260, 170}; }

 protected:
  /// Why there is nothing to draw, or empty. The default asks for a step forecast.
  [[nodiscard]] virtual QString missing() const;
  /// The picture. Called only while missing() is empty.
  [[nodiscard]] virtual Scene scene(const SceneSpace& space) = 0;
  /// The whole view, in its units and fonts.
  [[nodiscard]] SceneSpace scene_space() const;
  /// A new study has come.
  virtual void renew() {}
  /// Whether renew() is put off while the view is hidden: for what takes a while to make.
  [[nodiscard]] virtual bool waits_to_be_shown() const { return false; }
  /// The study has not been looked at yet, as nobody can see the view.
  [[nodiscard]] bool waiting() const { return waiting_; }
  /// What the pointer is told of a mark, for what takes a while to say of all.
  [[nodiscard]] virtual ChartMark told(const ChartMark& mark) const { return mark; }
  /// A mark was clicked. The default emits selected() with what it selects.
  virtual void pick(const ChartMark& mark);

  [[nodiscard]] const StudyPointer& study() const { return study_; }
  [[nodiscard]] const Selection& selection() const { return selection_; }
  /// Report of a study that has one.
  [[nodiscard]] const Report& report() const { return *study_->report; }
  TipBox& tip() { return *tip_; }

  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void showEvent(QShowEvent* event) override;
  /// The smallest mark there, of equal ones the nearest, then the topmost; or -1.
  [[nodiscard]] int mark_at(QPointF point) const;

 private:
  void hover(int mark, QPointF point);
  [[nodiscard]] Scene message_scene(const QString& why) const;

  StudyPointer study_;
  Selection selection_;
  std::vector<DrawnLabel> labels_;
  std::vector<ChartMark> marks_;
  QRectF area_;
  std::optional<Scene> scene_;  ///< as painted last
  bool only_hovered_ = false;   ///< since then
  int hovered_ = -1;
  bool waiting_ = false;
  TipBox* tip_;
};

/// Why a study has nothing to show, as a sentence; empty where it has a step forecast.
[[nodiscard]] QString missing_step(const StudyPointer& study);

}  // namespace foretrain::gui
