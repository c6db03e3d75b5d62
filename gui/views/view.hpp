// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QMetaType>
#include <QString>
#include <QStringList>
#include <QWidget>

#include "gui/looks/theme.hpp"
#include "gui/looks/units.hpp"
#include "gui/process/study.hpp"
#include "planner/scene/scene.hpp"

namespace foretrain::gui {

/// What is picked in one view and shown in all others: a task by its id in Study::path->graph, a
/// link by its name in Prediction::links, a part by its key of the waterfall or its category of
/// memory.
using Selection = SceneTarget;

/// One picture of a study. Draws itself with theme() and units() only, and holds no numbers of its
/// own; everything that takes long runs on a thread of the view's own.
class View : public QWidget {
  Q_OBJECT

 public:
  explicit View(QWidget* parent = nullptr);

  /// Of its entry in the registry, which made it; else empty.
  [[nodiscard]] QString id() const { return objectName(); }

  /// A new forecast; never null. A study without report, path or step is shown as a sentence that
  /// says what is missing.
  virtual void show_study(StudyPointer study) = 0;
  /// The tab-separated or comma-separated table behind the picture; empty where there is none.
  [[nodiscard]] virtual QString csv() const { return {}; }
  /// Whether the picture is final: false while a thread of the view still works. `--render` waits.
  [[nodiscard]] virtual bool settled() const { return true; }

  void set_theme(const Theme& theme);
  void set_units(const Units& units);
  [[nodiscard]] const Theme& theme() const { return *theme_; }
  [[nodiscard]] const Units& units() const { return units_; }

  /// Something was picked in another view. The default ignores it.
  Q_SLOT virtual void select(const foretrain::gui::Selection& selection);

  /// Something was picked here.
  Q_SIGNAL void selected(const foretrain::gui::Selection& selection);
  /// Please put these settings ("parallel.tensor=4") into the scenario; `why` names the undo step.
  Q_SIGNAL void settings_wanted(const QStringList& settings, const QString& why);
  /// settled() has become true.
  Q_SIGNAL void became_settled();

 protected:
  /// Theme or units have changed: redraw everything. The default calls update().
  virtual void restyle();

 private:
  const Theme* theme_;
  Units units_;
};

}  // namespace foretrain::gui

Q_DECLARE_METATYPE(foretrain::SceneTarget)
