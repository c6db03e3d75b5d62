// SPDX-License-Identifier: Apache-2.0
#include "gui/views/map_view.hpp"

#include <QComboBox>
#include <QLabel>
#include <QSignalBlocker>

#include <algorithm>

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

constexpr double chooser_height = 30.0;

}  // namespace

MapView::MapView(QWidget* parent)
    : ComputedView{parent},
      columns_{new QComboBox{this}},
      rows_{new QComboBox{this}},
      metric_{new QComboBox{this}} {
  for (const MapMetric& metric : map_metrics())
    metric_->addItem(QLatin1String(metric.name), QLatin1String(metric.path));
  for (const QString& name : {u"columns"_s, u"rows"_s, u"value"_s})
    names_.push_back(new QLabel{name, this});
  for (QComboBox* chooser : {columns_, rows_, metric_})
    connect(chooser, &QComboBox::currentIndexChanged, this, [this] { start(); });
}

void MapView::renew() {
  if (study() == asked_for_) return;
  fill_choosers();
  if (isVisible()) start();
}

void MapView::showEvent(QShowEvent* event) {
  ComputedView::showEvent(event);
  if (study() != asked_for_) start();
}

void MapView::fill_choosers() {
  choices_.clear();
  const bool valid = study() && study()->report;
  if (valid) choices_ = sweep_choices(study()->report->scenario);
  for (QComboBox* chooser : {columns_, rows_}) {
    const QSignalBlocker quiet{chooser};
    const QVariant kept = chooser->currentData();
    chooser->clear();
    for (const SweepChoice& choice : choices_)
      chooser->addItem(qt_text(choice.key), qt_text(choice.key));
    chooser->setCurrentIndex(kept.isValid() ? chooser->findData(kept) : -1);
  }
  choose_default();
}

void MapView::choose_default() {
  const auto fall_back = [](QComboBox* chooser, const QString& key, int other) {
    if (chooser->currentIndex() >= 0) return;
    const QSignalBlocker quiet{chooser};
    const int wanted = chooser->findData(key);
    chooser->setCurrentIndex(wanted >= 0 ? wanted : std::min(other, chooser->count() - 1));
  };
  fall_back(columns_, u"parallel.pipeline"_s, 0);
  fall_back(rows_, u"parallel.tensor"_s, 1);
}

bool MapView::set_axes(const QString& columns, const QString& rows) {
  const int column = columns_->findData(columns);
  const int row = rows_->findData(rows);
  if (column < 0 || row < 0 || column == row) return false;
  {
    const QSignalBlocker first{columns_};
    const QSignalBlocker second{rows_};
    columns_->setCurrentIndex(column);
    rows_->setCurrentIndex(row);
  }
  start();
  return true;
}

std::optional<MapQuestion> MapView::asked() const {
  const int column = columns_->currentIndex();
  const int row = rows_->currentIndex();
  if (column < 0 || row < 0 || column == row) return std::nullopt;
  return MapQuestion{choices_[static_cast<std::size_t>(column)],
                     choices_[static_cast<std::size_t>(row)],
                     metric_->currentData().toString().toStdString()};
}

void MapView::start() {
  stop_computing();
  map_ = nullptr;
  asked_for_ = study();
  place_choosers();
  update();
  const auto question = asked();
  if (!asked_for_ || !asked_for_->report || !question) return;
  compute([this, study = asked_for_, question = *question](const std::stop_token& stop,
                                                           std::uint64_t) -> Background::Deliver {
    auto map = std::make_shared<const SweepMap>(sweep_map(study->report->scenario, question, stop));
    return [this, map] { map_ = map; };
  });
}

QString MapView::missing() const {
  if (!study() || !study()->report) return missing_step(study());
  if (!failure().isEmpty()) return failure();
  if (columns_->currentIndex() == rows_->currentIndex())
    return u"Columns and rows need keys of their own."_s;
  if (computing()) return u"Forecasting every combination…"_s;
  if (!map_) return u"The sweep starts when this view is shown."_s;
  return {};
}

Scene MapView::scene(const SceneSpace& space) {
  SceneSpace above = space;
  above.height -= chooser_height;
  return map_chart(*map_, asked_for_->report->scenario, above);
}

void MapView::pick(const ChartMark& mark) {
  ChartView::pick(mark);
  if (mark.selection.kind == Selection::Kind::plan)
    Q_EMIT settings_wanted(qt_list(mark.selection.settings), mark.title);
}

void MapView::place_choosers() {
  const bool shown = study() && study()->report;
  int x = 16;
  const int y = height() - static_cast<int>(chooser_height) - 8;
  std::size_t i = 0;
  for (QComboBox* chooser : {columns_, rows_, metric_}) {
    QLabel* name = names_[i++];
    name->setFont(small_font());
    name->setVisible(shown);
    chooser->setVisible(shown);
    chooser->setFont(small_font());
    name->adjustSize();
    const int room = (width() - 32) / 3 - name->width() - 18;
    const int wide = std::clamp(chooser->sizeHint().width(), 60, std::max(60, room));
    name->move(x, y + (static_cast<int>(chooser_height) - name->height()) / 2);
    x += name->width() + 6;
    chooser->setGeometry(x, y, wide, static_cast<int>(chooser_height));
    x += wide + 12;
  }
}

void MapView::resizeEvent(QResizeEvent* event) {
  ComputedView::resizeEvent(event);
  place_choosers();
}

QString MapView::csv() const { return missing().isEmpty() ? qt_text(map_csv(*map_)) : QString{}; }

}  // namespace foretrain::gui
