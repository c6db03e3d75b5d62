// SPDX-License-Identifier: Apache-2.0
#include "gui/views/gantt_canvas.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QStyleOptionGraphicsItem>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

#include "gui/views/chart_text.hpp"

namespace foretrain::gui {
namespace {

constexpr double micro = 1e-6;
constexpr double least_lane = 15.0;
constexpr double most_pixels = 4e7;      ///< of the whole axis: scroll bars count in int
constexpr double closest = 400.0;        ///< pixels per microsecond
constexpr double narrowest_slice = 3.0;  ///< pixels; of narrower ones, bins of whole rounds

double seconds_to_x(Seconds time) { return time.value() / micro; }

/// Bands of a lane from its top, as shares of its height.
struct BandPlace {
  double top = 0.0;
  double height = 1.0;
};
constexpr BandPlace work_place{0.08, 0.58};
constexpr BandPlace exchange_place{0.69, 0.11};
constexpr BandPlace data_place{0.82, 0.11};

}  // namespace

/// One stage. Draws only what is exposed.
class GanttCanvas::Lane : public QGraphicsItem {
 public:
  Lane(const GanttCanvas& canvas, const GanttPicture::Row& row, double height)
      : canvas_{canvas}, row_{row}, height_{height} {
    setFlag(QGraphicsItem::ItemUsesExtendedStyleOption);
  }

  [[nodiscard]] QRectF boundingRect() const override {
    return {0.0, 0.0, seconds_to_x(canvas_.picture_->makespan), height_};
  }

  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option,
             QWidget* /*widget*/) override {
    painter->setRenderHint(QPainter::Antialiasing, false);
    const QRectF exposed = option->exposedRect;
    const QRectF ground{exposed.left(), work_place.top * height_, exposed.width(),
                        work_place.height * height_};
    painter->fillRect(ground, canvas_.ground());
    draw_band(*painter, row_.work, work_place, exposed, true);
    draw_band(*painter, row_.exchange, exchange_place, exposed, false);
    draw_band(*painter, row_.data, data_place, exposed, false);
  }

 private:
  struct Window {
    Seconds from;
    Seconds to;
    double pixel = 1.0;  ///< microseconds
  };

  void draw_band(QPainter& painter, const GanttBand& band, BandPlace place, const QRectF& exposed,
                 bool numbered) const {
    const double pixel = 1.0 / canvas_.scale_;
    const Window window{Seconds{exposed.left() * micro}, Seconds{exposed.right() * micro}, pixel};
    const auto [first, last] = band.within(window.from, window.to);
    if (first == last) return;
    const double pixels = exposed.width() * canvas_.scale_;
    if (narrowest_slice * static_cast<double>(last - first) > pixels)
      draw_bins(painter, band, place, window);
    else
      draw_slices(painter, band, {first, last}, place, numbered);
  }

  /// A column per bin: what fills it from the bottom up, idle time on top.
  void draw_bins(QPainter& painter, const GanttBand& band, BandPlace place,
                 const Window& window) const {
    const Seconds length = band.bin_length(Seconds{narrowest_slice * window.pixel * micro});
    const Seconds end = canvas_.picture_->makespan;
    for (double bin = std::max(0.0, std::floor(window.from / length));
         bin * length < min(window.to, end); bin += 1.0) {
      const Seconds from = bin * length;
      const Seconds to = min(from + length, end);
      if (to <= from) break;
      const GanttCell cell = band.mean(from, to);
      std::array<std::size_t, 3> order{0, 1, 2};
      std::sort(order.begin(), order.end(),
                [&](std::size_t a, std::size_t b) { return cell.role[a] > cell.role[b]; });
      double bottom = (place.top + place.height) * height_;
      for (const std::size_t part : order) {
        if (cell.share[part] <= 0.0F) continue;
        const double height = place.height * height_ * static_cast<double>(cell.share[part]);
        painter.fillRect(
            QRectF{seconds_to_x(from), bottom - height, seconds_to_x(to - from), height},
            slice_colour(*canvas_.theme_, cell.role[part], 0, 1));
        bottom -= height;
      }
    }
  }

  void draw_slices(QPainter& painter, const GanttBand& band,
                   std::pair<std::size_t, std::size_t> range, BandPlace place,
                   bool numbered) const {
    struct Number {
      QRectF box;
      QString text;
      QColor ink;
    };
    std::vector<Number> numbers;
    const Theme& theme = *canvas_.theme_;
    const double pixel = 1.0 / canvas_.scale_;
    const QFont font = small_font();
    const QTransform to_view = painter.worldTransform();
    const bool tall = place.height * height_ >= line_height(font) - 2.0;
    for (std::size_t i = range.first; i < range.second; ++i) {
      const StepSlice& slice = band.slices()[i];
      const double width = seconds_to_x(slice.to - slice.from);
      const double pixels = width * canvas_.scale_;
      QRectF box{seconds_to_x(slice.from), place.top * height_, width, place.height * height_};
      // A hair of ground tells neighbours apart; what is shorter than a pixel still shows.
      if (pixels > 3.0) box.setWidth(width - pixel);
      if (pixels < 1.0) box.setWidth(pixel);
      const QColor paint = slice_colour(theme, slice.role, slice.chunk, canvas_.picture_->chunks);
      painter.fillRect(box, paint);
      const bool critical = canvas_.picture_->critical[slice.task];
      if (numbered && critical && pixels > 2.0) {
        const double height = std::max(2.0, 0.05 * height_);
        painter.fillRect(QRectF{box.left(), box.bottom() - height, box.width(), height},
                         theme.text);
      }
      if (slice.task == canvas_.picked_task_) mark_picked(painter, box);
      if (!numbered || !tall || slice.micro < 0) continue;
      const QString text = QString::number(slice.micro);
      if (text_width(text, font) + 4.0 < pixels)
        numbers.push_back({to_view.mapRect(box), text, ink_on(paint)});
    }
    if (numbers.empty()) return;
    painter.save();
    painter.resetTransform();
    painter.setFont(font);
    for (const Number& number : numbers) {
      painter.setPen(number.ink);
      painter.drawText(number.box, Qt::AlignCenter, number.text);
    }
    painter.restore();
  }

  void mark_picked(QPainter& painter, const QRectF& box) const {
    QPen pen{canvas_.theme_->accent, 3.0};
    pen.setCosmetic(true);
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box);
  }

  const GanttCanvas& canvas_;
  const GanttPicture::Row& row_;
  double height_;
};

GanttCanvas::GanttCanvas(QWidget* parent)
    : QGraphicsView{parent}, scene_{new QGraphicsScene{this}}, theme_{&theme_of(ThemeKind::light)} {
  setScene(scene_);
  setFrameShape(QFrame::NoFrame);
  setAlignment(Qt::AlignLeft | Qt::AlignTop);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setViewportUpdateMode(QGraphicsView::FullViewportUpdate);
  setTransformationAnchor(QGraphicsView::NoAnchor);
  setResizeAnchor(QGraphicsView::NoAnchor);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Stages over time"));
  scene_->setItemIndexMethod(QGraphicsScene::NoIndex);
}

void GanttCanvas::set_picture(std::shared_ptr<const GanttPicture> picture) {
  const bool same_span = picture && picture_ && picture->makespan == picture_->makespan;
  lanes_.clear();
  scene_->clear();
  picture_ = std::move(picture);
  if (!same_span) fits_ = true;
  lay_out();
}

void GanttCanvas::set_theme(const Theme& theme) {
  theme_ = &theme;
  setBackgroundBrush(theme.surface);
  viewport()->update();
}

void GanttCanvas::set_picked(int stage, std::int64_t task) {
  picked_stage_ = stage;
  picked_task_ = task;
  viewport()->update();
}

void GanttCanvas::set_bubbles_lit(bool lit) {
  bubbles_lit_ = lit;
  viewport()->update();
}

QColor GanttCanvas::ground() const {
  return bubbles_lit_ ? blend(theme_->idle, theme_->accent, 0.55) : theme_->idle;
}

void GanttCanvas::lay_out() {
  lanes_.clear();
  scene_->clear();
  if (!picture_ || viewport()->width() < 2) return;
  const auto count = static_cast<double>(picture_->rows.size());
  lane_ = std::clamp(std::floor(viewport()->height() / count), least_lane, most_lane);
  for (std::size_t stage = 0; stage < picture_->rows.size(); ++stage) {
    auto* lane = new Lane{*this, picture_->rows[stage], lane_};
    lane->setPos(0.0, lane_ * static_cast<double>(stage));
    scene_->addItem(lane);
    lanes_.push_back(lane);
  }
  scene_->setSceneRect(0.0, 0.0, seconds_to_x(picture_->makespan), lane_ * count);
  if (fits_) scale_ = fitting_scale();
  apply_scale();
}

double GanttCanvas::fitting_scale() const {
  return viewport()->width() / seconds_to_x(picture_->makespan);
}

void GanttCanvas::apply_scale() {
  setTransform(QTransform::fromScale(scale_, 1.0));
  viewport()->update();
  Q_EMIT moved();
}

void GanttCanvas::show_all() {
  if (!picture_) return;
  fits_ = true;
  scale_ = fitting_scale();
  apply_scale();
  horizontalScrollBar()->setValue(horizontalScrollBar()->minimum());
}

void GanttCanvas::zoom(double factor, double x) {
  if (!picture_) return;
  const double least = fitting_scale();
  const double most =
      std::max(least, std::min(closest, most_pixels / seconds_to_x(picture_->makespan)));
  const double before = mapToScene(QPoint{0, 0}).x() + x / scale_;
  scale_ = std::clamp(scale_ * factor, least, most);
  fits_ = scale_ <= least;
  apply_scale();
  horizontalScrollBar()->setValue(static_cast<int>(std::lround(before * scale_ - x)));
  Q_EMIT moved();
}

void GanttCanvas::pan(double pixels) {
  horizontalScrollBar()->setValue(horizontalScrollBar()->value() +
                                  static_cast<int>(std::lround(pixels)));
}

std::pair<Seconds, Seconds> GanttCanvas::visible() const {
  const double left = mapToScene(QPoint{0, 0}).x();
  return {Seconds{left * micro}, Seconds{(left + viewport()->width() / scale_) * micro}};
}

double GanttCanvas::pixels_per_second() const { return scale_ / micro; }

double GanttCanvas::x_of(Seconds time) const {
  return (time - visible().first).value() * pixels_per_second();
}

double GanttCanvas::lane_y(int stage) const {
  const QPoint top = mapFromScene(QPointF{0.0, lane_ * stage});
  return top.y() + lane_ * (work_place.top + work_place.height / 2.0);
}

GanttHit GanttCanvas::hit(QPointF point) const {
  GanttHit result;
  if (!picture_) return result;
  const double y = mapToScene(QPoint{0, 0}).y() + point.y();
  const double x = mapToScene(QPoint{0, 0}).x() + point.x() / scale_;
  result.time = Seconds{x * micro};
  const auto stage = static_cast<int>(std::floor(y / lane_));
  if (stage < 0 || stage >= static_cast<int>(picture_->rows.size()) || x < 0.0) return result;
  result.stage = stage;
  const GanttPicture::Row& row = picture_->rows[static_cast<std::size_t>(stage)];
  const double inside = y / lane_ - stage;
  const GanttBand& band = inside < exchange_place.top - 0.015 ? row.work
                          : inside < data_place.top - 0.01    ? row.exchange
                                                              : row.data;
  const std::int64_t slice = band.at(result.time);
  if (slice >= 0) result.task = band.slices()[static_cast<std::size_t>(slice)].task;
  return result;
}

void GanttCanvas::wheelEvent(QWheelEvent* event) {
  const QPoint delta = event->angleDelta();
  const bool sideways =
      event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(delta.x()) > std::abs(delta.y());
  if (sideways)
    pan(-(delta.x() != 0 ? delta.x() : delta.y()));
  else
    zoom(std::pow(1.0015, delta.y()), event->position().x());
  event->accept();
}

void GanttCanvas::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->position();
  dragging_ = false;
}

void GanttCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (!event->buttons().testFlag(Qt::LeftButton)) {
    Q_EMIT pointed(hit(event->position()), event->position());
    return;
  }
  const QPointF by = event->position() - pressed_;
  if (!dragging_ && by.manhattanLength() < 4.0) return;
  dragging_ = true;
  setCursor(Qt::ClosedHandCursor);
  pressed_ = event->position();
  pan(-by.x());
  verticalScrollBar()->setValue(verticalScrollBar()->value() -
                                static_cast<int>(std::lround(by.y())));
}

void GanttCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (!dragging_ && event->button() == Qt::LeftButton) Q_EMIT clicked(hit(event->position()));
  dragging_ = false;
  unsetCursor();
}

void GanttCanvas::mouseDoubleClickEvent(QMouseEvent* /*event*/) { show_all(); }

void GanttCanvas::keyPressEvent(QKeyEvent* event) {
  const double middle = viewport()->width() / 2.0;
  const double step = viewport()->width() / 8.0;
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoom(1.5, middle);
    case Qt::Key_Minus:
      return zoom(1.0 / 1.5, middle);
    case Qt::Key_Left:
      return pan(-step);
    case Qt::Key_Right:
      return pan(step);
    case Qt::Key_0:
    case Qt::Key_Home:
      return show_all();
    default:
      QGraphicsView::keyPressEvent(event);
  }
}

void GanttCanvas::leaveEvent(QEvent* event) {
  Q_EMIT left();
  QGraphicsView::leaveEvent(event);
}

void GanttCanvas::resizeEvent(QResizeEvent* event) {
  QGraphicsView::resizeEvent(event);
  lay_out();
}

void GanttCanvas::scrollContentsBy(int dx, int dy) {
  QGraphicsView::scrollContentsBy(dx, dy);
  viewport()->update();
  Q_EMIT moved();
}

}  // namespace foretrain::gui
