// SPDX-License-Identifier: Apache-2.0
#include "gui/views/chart_view.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <utility>

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

void stand_out(QPainter& painter, const QRectF& area, const QColor& ink, double opacity) {
  painter.setPen(QPen{ink, 1.5});
  painter.setBrush(veiled(ink, opacity));
  painter.drawRoundedRect(area, 3.0, 3.0);
  painter.setBrush(Qt::NoBrush);
}

}  // namespace

QString missing_step(const StudyPointer& study) {
  if (!study) return u"No scenario is open."_s;
  if (!study->diagnostics.empty())
    return u"The scenario has errors: "_s + qt_text(study->diagnostics.front().text());
  if (!study->failure.empty()) return qt_text(study->failure);
  if (study->answer)
    return u"This text is no training run: its answer is in the view %1."_s.arg(
        study->kind == TextKind::served ? u"Serving"_s : u"Queue"_s);
  if (!study->report) return u"There is no forecast yet."_s;
  const auto& reasons = study->report->prediction.reasons;
  if (study->runs()) return {};
  if (reasons.empty()) return u"There is no forecast of the step."_s;
  QString text = u"This plan cannot run: "_s + qt_text(reasons.front().message);
  if (!reasons.front().remedy.empty())
    text += u"; what helps: "_s + qt_text(reasons.front().remedy);
  return text;
}

ChartView::ChartView(QWidget* parent) : View{parent}, tip_{new TipBox{this}} {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
}

void ChartView::show_study(StudyPointer study) {
  study_ = std::move(study);
  hovered_ = -1;
  tip_->hide();
  waiting_ = waits_to_be_shown() && !isVisible();
  if (!waiting_) renew();
  update();
}

void ChartView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  if (!std::exchange(waiting_, false)) return;
  renew();
  update();
}

void ChartView::select(const Selection& selection) {
  if (selection == selection_) return;
  selection_ = selection;
  update();
}

QString ChartView::missing() const { return missing_step(study_); }

void ChartView::pick(const ChartMark& mark) {
  if (mark.selection.kind == Selection::Kind::none) return;
  selection_ = mark.selection;
  update();
  Q_EMIT selected(mark.selection);
}

SceneSpace ChartView::scene_space() const {
  return {static_cast<double>(width()), static_cast<double>(height()), &window_metrics(), units(),
          selection_};
}

void ChartView::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter{this};
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setRenderHint(QPainter::TextAntialiasing);
  painter.fillRect(rect(), theme().surface);
  labels_.clear();
  marks_.clear();
  const QString why = missing();
  if (!why.isEmpty()) {
    scene_.reset();
    area_ = QRectF{};
    return paint_scene(painter, theme(), message_scene(why), labels_);
  }
  if (!std::exchange(only_hovered_, false) || !scene_) scene_ = scene(scene_space());
  area_ = to_rect(scene_->chart);
  paint_scene(painter, theme(), *scene_, labels_);
  for (const SceneMark& mark : scene_->marks)
    marks_.push_back({to_rect(mark.area), qt_text(mark.title), qt_list(mark.lines), mark.target});
  // What is picked or under the pointer stands out.
  for (const ChartMark& mark : marks_)
    if (mark.selection.kind != Selection::Kind::none && mark.selection == selection_)
      stand_out(painter, mark.area, theme().accent, 0.12);
  if (hovered_ < 0 || hovered_ >= static_cast<int>(marks_.size())) return;
  const auto number = static_cast<std::size_t>(hovered_);
  stand_out(painter, marks_[number].area, theme().muted, 0.10);
  for (const std::size_t item : scene_->marks[number].touches)
    if (const auto* line = std::get_if<SceneLine>(&scene_->items[item])) {
      painter.setPen(QPen{theme().accent, line->width + 0.8});
      painter.drawLine(QPointF{line->from.x, line->from.y}, QPointF{line->to.x, line->to.y});
    }
}

/// In the middle.
Scene ChartView::message_scene(const QString& why) const {
  constexpr double margin = 16.0;
  const SceneLetters letters{Ink::muted, LetterSize::body};
  Scene measured{scene_space()};
  const double most = std::min(520.0, width() - 2.0 * margin);
  const std::string words = why.toStdString();
  const double wide = std::min(most, measured.text_width(words, letters));
  const double high = measured.paragraph({}, most, words, letters).height;
  Scene scene{scene_space()};
  scene.paragraph({(width() - wide) / 2.0, std::max(margin, (height() - high) / 2.0)}, most, words,
                  letters);
  return scene;
}

int ChartView::mark_at(QPointF point) const {
  int found = -1;
  std::pair<double, double> least;
  for (std::size_t i = marks_.size(); i-- > 0;) {
    const QRectF& area = marks_[i].area;
    if (!area.contains(point)) continue;
    const std::pair size{std::round(area.width() * area.height()),
                         QLineF{area.center(), point}.length()};
    if (found >= 0 && size >= least) continue;
    found = static_cast<int>(i);
    least = size;
  }
  return found;
}

void ChartView::hover(int mark, QPointF point) {
  if (mark != hovered_) {
    hovered_ = mark;
    setCursor(mark >= 0 &&
                      marks_[static_cast<std::size_t>(mark)].selection.kind != Selection::Kind::none
                  ? Qt::PointingHandCursor
                  : Qt::ArrowCursor);
    only_hovered_ = scene_.has_value();
    update();
  }
  if (mark < 0) return tip_->hide();
  const ChartMark over = told(marks_[static_cast<std::size_t>(mark)]);
  tip_->show_at(point, over.title, over.lines, theme());
}

void ChartView::mouseMoveEvent(QMouseEvent* event) {
  hover(mark_at(event->position()), event->position());
}

void ChartView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return View::mousePressEvent(event);
  const int mark = mark_at(event->position());
  if (mark >= 0) pick(ChartMark{marks_[static_cast<std::size_t>(mark)]});
}

void ChartView::leaveEvent(QEvent* event) {
  hover(-1, {});
  View::leaveEvent(event);
}

/// Arrows go from mark to mark, Enter picks.
void ChartView::keyPressEvent(QKeyEvent* event) {
  const int count = static_cast<int>(marks_.size());
  const bool forward = event->key() == Qt::Key_Right || event->key() == Qt::Key_Down;
  const bool back = event->key() == Qt::Key_Left || event->key() == Qt::Key_Up;
  if (count > 0 && (forward || back)) {
    const int next =
        hovered_ < 0 ? (forward ? 0 : count - 1) : (hovered_ + (forward ? 1 : count - 1)) % count;
    return hover(next, marks_[static_cast<std::size_t>(next)].area.center());
  }
  const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (enter && hovered_ >= 0 && hovered_ < count)
    return pick(ChartMark{marks_[static_cast<std::size_t>(hovered_)]});
  View::keyPressEvent(event);
}

}  // namespace foretrain::gui
