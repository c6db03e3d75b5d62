// SPDX-License-Identifier: Apache-2.0
#include "gui/views/course_view.hpp"

#include <QKeyEvent>

#include "planner/scene/scene.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

CourseView::CourseView(QWidget* parent) : ComputedView{parent} {}

bool CourseView::settled() const { return !computing() && !(study() && study()->path_due); }

void CourseView::renew() {
  const bool known = study() && study()->report && study()->report->prediction.memory;
  if (!known) return start(-1);
  const int stages = static_cast<int>(memory().stages.size());
  const bool picked = selection().stage >= 0 && selection().stage < stages;
  start(picked ? selection().stage : memory().peak_stage);
}

void CourseView::start(int stage) {
  stop_computing();
  course_ = nullptr;
  stage_ = stage;
  const StudyPointer now = study();
  if (stage < 0 || !now || !now->runs() || !now->path) return;
  compute([this, now, stage](const std::stop_token&, std::uint64_t) -> Background::Deliver {
    auto course =
        std::make_shared<const MemoryCourse>(stage_memory_course(*now->report, *now->path, stage));
    return [this, course] { course_ = course; };
  });
}

void CourseView::select(const Selection& selection) {
  ChartView::select(selection);
  const bool known = study() && study()->report && study()->report->prediction.memory;
  // A hidden view follows once it is shown: renew() looks at the selection.
  if (waiting() || !known || selection.stage < 0 || selection.stage == stage_) return;
  if (selection.stage < static_cast<int>(memory().stages.size())) start(selection.stage);
}

QString CourseView::missing() const {
  if (QString why = missing_step(study()); !why.isEmpty()) return why;
  if (waiting()) return u"The memory timeline is computed when this view is shown."_s;
  if (!failure().isEmpty()) return failure();
  if (study()->path_due || computing()) return u"Computing the memory timeline…"_s;
  if (!study()->path_note.empty()) return qt_text(study()->path_note);
  if (!course_ || course_->points.size() < 2) return u"There is no task graph of this step."_s;
  return {};
}

Scene CourseView::scene(const SceneSpace& space) {
  return course_chart(*course_, memory().usable, space);
}

void CourseView::keyPressEvent(QKeyEvent* event) {
  const bool next = event->key() == Qt::Key_PageDown;
  if (!next && event->key() != Qt::Key_PageUp) return ChartView::keyPressEvent(event);
  if (!study() || !study()->runs()) return;
  const int stages = static_cast<int>(memory().stages.size());
  Selection stage;
  stage.kind = Selection::Kind::stage;
  stage.stage = (stage_ + (next ? 1 : stages - 1)) % stages;
  select(stage);
  Q_EMIT selected(stage);
}

QString CourseView::csv() const {
  return missing().isEmpty() ? qt_text(course_csv(*course_)) : QString{};
}

}  // namespace foretrain::gui
