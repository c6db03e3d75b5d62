// SPDX-License-Identifier: Apache-2.0
#include "gui/views/map_view.hpp"

#include <QComboBox>
#include <QLabel>
#include <QSignalBlocker>

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/text/format.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

/// A number that a map can show.
struct Metric {
  const char* path;
  const char* name;
  bool less_is_better;
};
constexpr std::array metrics{Metric{"step.time_s", "step time", true}, Metric{"mfu", "MFU", false},
                             Metric{"tokens_per_s", "tokens per second", false},
                             Metric{"memory.peak_bytes", "peak memory", true}};

constexpr double chooser_height = 30.0;

}  // namespace

/// Where things lie.
struct MapView::Frame {
  QRectF plot;
  double width = 0.0;
  double height = 0.0;
  QFont font;

  [[nodiscard]] QRectF cell(std::size_t column, std::size_t row) const {
    return {plot.left() + width * static_cast<double>(column),
            plot.top() + height * static_cast<double>(row), width, height};
  }
  /// What of a cell is painted.
  [[nodiscard]] QRectF inside(std::size_t column, std::size_t row) const {
    return cell(column, row).adjusted(1.0, 1.0, -1.0, -1.0);
  }
};

MapView::MapView(QWidget* parent)
    : ComputedView{parent},
      columns_{new QComboBox{this}},
      rows_{new QComboBox{this}},
      metric_{new QComboBox{this}} {
  for (const Metric& metric : metrics)
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
      chooser->addItem(to_text(choice.key), to_text(choice.key));
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

MapView::Map MapView::map_of(const Study& study, const MapQuestion& question,
                             const std::stop_token& stop) {
  Sweep sweep{sweep_of_map(study.report->scenario, question)};
  Map map{question, {}, question.columns.values.size(), question.rows.values.size(), {}, 0.0, 0.0};
  const auto metric = std::find_if(metrics.begin(), metrics.end(),
                                   [&](const Metric& one) { return question.metric == one.path; });
  for (std::int64_t point = 0; point < sweep.size() && !stop.stop_requested(); ++point) {
    map.cells.push_back(sweep.forecast(point));
    const auto& value = map.cells.back().metrics;
    if (map.cells.back().status != PointStatus::ok || value.empty() || !value.front()) continue;
    const double now = *value.front();
    const bool first = !map.best;
    map.least = first ? now : std::min(map.least, now);
    map.most = first ? now : std::max(map.most, now);
    const double best = first ? now : *map.cells[*map.best].metrics.front();
    if (first || (metric->less_is_better ? now < best : now > best))
      map.best = map.cells.size() - 1;
  }
  return map;
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
    auto map = std::make_shared<const Map>(map_of(*study, question, stop));
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

QString MapView::metric_name() const { return metric_->currentText(); }

bool MapView::less_is_better() const {
  return metrics[static_cast<std::size_t>(std::max(0, metric_->currentIndex()))].less_is_better;
}

QString MapView::value_text(double value) const {
  switch (metric_->currentIndex()) {
    case 1:
      return to_text(percent_text(value));
    case 2:
      return to_text(count_text(value));
    case 3:
      return size_label(Bytes{value}, units());
    default:
      return time_label(Seconds{value}, units());
  }
}

ChartHeadline MapView::headline() const {
  ChartHeadline line;
  if (!map_ || !study() || !study()->report) return line;
  const auto fit = std::count_if(map_->cells.begin(), map_->cells.end(),
                                 [](const SweepRow& row) { return row.status == PointStatus::ok; });
  if (!map_->best) {
    line.text = u"None of the %1 combinations can run"_s.arg(map_->cells.size());
    line.tone = ChartHeadline::Tone::bad;
  } else {
    const std::size_t column = *map_->best % map_->columns;
    const std::size_t row = *map_->best / map_->columns;
    line.text = u"Best %1: %2 with %3 %4 and %5 %6"_s.arg(
        metric_name(), value_text(*map_->cells[*map_->best].metrics.front()),
        to_text(map_->question.rows.key), to_text(map_->question.rows.values[row]),
        to_text(map_->question.columns.key), to_text(map_->question.columns.values[column]));
  }
  line.detail =
      u"%1 of %2 combinations can run; everything else as in the scenario, data-parallel "
      "ranks are what is left; a click loads one"_s.arg(fit)
          .arg(map_->cells.size());
  return line;
}

void MapView::draw(Canvas& canvas, const QRectF& area) {
  Frame frame;
  double names = 0.0;
  for (const std::string& value : map_->question.rows.values)
    names = std::max(names, text_width(to_text(value), small_font()));
  const double line = line_height(small_font());
  frame.plot = area.adjusted(names + line + 18.0, 2.0, 0.0, -2.0 * line - 16.0 - chooser_height);
  frame.width = frame.plot.width() / static_cast<double>(map_->columns);
  frame.height = std::min(frame.plot.height() / static_cast<double>(map_->rows), 220.0);
  frame.plot.setHeight(frame.height * static_cast<double>(map_->rows));
  frame.font = body_font();
  double widest = 0.0;
  for (const SweepRow& cell : map_->cells)
    if (cell.status == PointStatus::ok && cell.metrics.front())
      widest = std::max(widest, text_width(value_text(*cell.metrics.front()), frame.font));
  if (widest + 10.0 > frame.width) frame.font = small_font();
  for (std::size_t cell = 0; cell < map_->cells.size(); ++cell) draw_cell(canvas, frame, cell);
  draw_names(canvas, frame);
}

void MapView::draw_names(Canvas& canvas, const Frame& frame) const {
  const auto& columns = map_->question.columns;
  const auto& rows = map_->question.rows;
  for (std::size_t c = 0; c < map_->columns; ++c) {
    const bool own = columns.values[c] == columns.own;
    canvas.text({frame.cell(c, 0).center().x(), frame.plot.bottom() + 5.0},
                Qt::AlignHCenter | Qt::AlignTop, to_text(columns.values[c]),
                {own ? bold(small_font()) : small_font(), own ? theme().text : theme().muted},
                frame.width - 4.0);
  }
  for (std::size_t r = 0; r < map_->rows; ++r) {
    const bool own = rows.values[r] == rows.own;
    canvas.text({frame.plot.left() - 8.0, frame.cell(0, r).center().y()},
                Qt::AlignRight | Qt::AlignVCenter, to_text(rows.values[r]),
                {own ? bold(small_font()) : small_font(), own ? theme().text : theme().muted});
  }
  canvas.text({frame.plot.center().x(), frame.plot.bottom() + 8.0 + line_height(small_font())},
              Qt::AlignHCenter | Qt::AlignTop, to_text(columns.key), {small_font(), theme().muted},
              frame.plot.width());
  const double x = space().left() + line_height(small_font()) / 2.0;
  if (text_width(to_text(rows.key), small_font()) < frame.plot.height())
    canvas.upright({x, frame.plot.center().y()}, to_text(rows.key), {small_font(), theme().muted});
}

/// The heat of a value: 0 the least of the map, 1 the most, turned where less is better.
double MapView::heat(double value) const {
  const double span = std::log(map_->most / map_->least);
  if (span <= 0.0) return 1.0;
  const double share = std::log(value / map_->least) / span;
  return less_is_better() ? 1.0 - share : share;
}

void MapView::draw_value(Canvas& canvas, const Frame& frame, std::size_t number) const {
  const QRectF area = frame.inside(number % map_->columns, number / map_->columns);
  const double value = *map_->cells[number].metrics.front();
  const QColor paint = heat_colour(theme(), heat(value));
  canvas.box(area, paint, 4.0);
  canvas.text(area.center(), Qt::AlignHCenter | Qt::AlignVCenter, value_text(value),
              {map_->best == number ? bold(frame.font) : frame.font, ink_on(paint)},
              area.width() - 6.0);
}

/// A hatched cell with the first rule that its plan breaks, where there is room for it.
void MapView::draw_refusal(Canvas& canvas, const QRectF& area, const QString& rules) const {
  canvas.box(area, theme().raised, 4.0);
  canvas.painter().setBrush(QBrush{theme().border, Qt::BDiagPattern});
  canvas.painter().setPen(Qt::NoPen);
  canvas.painter().drawRoundedRect(area, 4.0, 4.0);
  canvas.painter().setBrush(Qt::NoBrush);
  QString why = rules.section(u',', 0, 0);
  if (rules.contains(u',')) why += u", …"_s;
  const double high = line_height(small_font());
  const double wide = text_width(why, small_font()) + 8.0;
  if (wide + 4.0 >= area.width() || high + 6.0 >= area.height()) return;
  canvas.box({area.center().x() - wide / 2.0, area.center().y() - high / 2.0, wide, high},
             theme().raised, 3.0);
  canvas.text(area.center(), Qt::AlignHCenter | Qt::AlignVCenter, why,
              {small_font(), theme().muted});
}

void MapView::draw_cell(Canvas& canvas, const Frame& frame, std::size_t number) {
  const SweepRow& cell = map_->cells[number];
  const std::size_t column = number % map_->columns;
  const std::size_t row = number / map_->columns;
  const QRectF area = frame.inside(column, row);
  const auto& columns = map_->question.columns;
  const auto& rows = map_->question.rows;
  ChartMark mark{area,
                 u"%1 %2, %3 %4"_s.arg(to_text(rows.key), to_text(rows.values[row]),
                                       to_text(columns.key), to_text(columns.values[column])),
                 {},
                 {}};
  if (cell.status == PointStatus::ok && cell.metrics.front()) {
    draw_value(canvas, frame, number);
    mark.lines << metric_name() + u"\t"_s + value_text(*cell.metrics.front());
    mark.selection.kind = Selection::Kind::plan;
    mark.selection.settings =
        map_settings(asked_for_->report->scenario, map_->question, column, row);
  } else {
    draw_refusal(canvas, area, to_text(cell.rule));
    mark.lines << to_text(std::string{name_of(cell.status)}) + u"\t"_s + to_text(cell.rule);
    if (!cell.reason.empty()) mark.lines << to_text(cell.reason);
  }
  const bool own = columns.values[column] == columns.own && rows.values[row] == rows.own;
  const bool over = hovered() == static_cast<int>(marks().size());
  if (map_->best == number || own || over)
    canvas.frame(area.adjusted(1.0, 1.0, -1.0, -1.0), own ? theme().accent : theme().text,
                 over ? 3.0 : 2.5, 4.0);
  add_mark(std::move(mark));
}

void MapView::pick(const ChartMark& mark) {
  ChartView::pick(mark);
  if (mark.selection.kind == Selection::Kind::plan)
    Q_EMIT settings_wanted(to_list(mark.selection.settings), mark.title);
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

QString MapView::csv() const {
  if (!missing().isEmpty()) return {};
  QString text = u"%1,%2,status,%3\n"_s.arg(to_text(map_->question.rows.key),
                                            to_text(map_->question.columns.key),
                                            to_text(map_->question.metric));
  for (std::size_t i = 0; i < map_->cells.size(); ++i) {
    const SweepRow& cell = map_->cells[i];
    const bool known = cell.status == PointStatus::ok && cell.metrics.front();
    text +=
        u"%1,%2,%3,%4\n"_s.arg(to_text(map_->question.rows.values[i / map_->columns]),
                               to_text(map_->question.columns.values[i % map_->columns]),
                               to_text(std::string{name_of(cell.status)}),
                               known ? QString::number(*cell.metrics.front(), 'g', 17) : QString{});
  }
  return text;
}

}  // namespace foretrain::gui
