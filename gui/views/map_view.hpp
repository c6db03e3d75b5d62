// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gui/views/computed_view.hpp"
#include "planner/sweep/sweep_choices.hpp"

class QComboBox;
class QLabel;

namespace foretrain::gui {

/// A number of the forecast over two keys: a cell per combination, the best one outlined, what
/// cannot run hatched with its reason. A click puts a combination into the scenario.
class MapView : public ComputedView {
  Q_OBJECT

 public:
  explicit MapView(QWidget* parent = nullptr);

  [[nodiscard]] QString csv() const override;
  /// Keys of the columns and rows, as in sweep_choices(). @return false where one is not there
  bool set_axes(const QString& columns, const QString& rows);

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] ChartHeadline headline() const override;
  void draw(Canvas& canvas, const QRectF& area) override;
  void renew() override;
  void pick(const ChartMark& mark) override;
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  /// A finished map.
  struct Map {
    MapQuestion question;
    std::vector<SweepRow> cells;  ///< row by row
    std::size_t columns = 0;
    std::size_t rows = 0;
    std::optional<std::size_t> best;
    double least = 0.0;
    double most = 0.0;
  };
  struct Frame;

  void start();
  void fill_choosers();
  void choose_default();
  void place_choosers();
  [[nodiscard]] double heat(double value) const;
  void draw_cell(Canvas& canvas, const Frame& frame, std::size_t cell);
  void draw_value(Canvas& canvas, const Frame& frame, std::size_t cell) const;
  void draw_refusal(Canvas& canvas, const QRectF& area, const QString& rules) const;
  void draw_names(Canvas& canvas, const Frame& frame) const;
  [[nodiscard]] static Map map_of(const Study& study, const MapQuestion& question,
                                  const std::stop_token& stop);
  [[nodiscard]] std::optional<MapQuestion> asked() const;
  [[nodiscard]] QString value_text(double value) const;
  [[nodiscard]] bool less_is_better() const;
  [[nodiscard]] QString metric_name() const;

  QComboBox* columns_;
  QComboBox* rows_;
  QComboBox* metric_;
  std::vector<QLabel*> names_;  ///< of the choosers
  std::vector<SweepChoice> choices_;
  StudyPointer asked_for_;  ///< what map_ or the running sweep belongs to
  std::shared_ptr<const Map> map_;
};

}  // namespace foretrain::gui
