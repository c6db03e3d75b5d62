// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QKeySequence>
#include <QMainWindow>

#include <functional>
#include <vector>

#include "gui/study.hpp"
#include "gui/theme.hpp"
#include "gui/units.hpp"
#include "gui/view.hpp"

class QAction;
class QLabel;
class QMenu;
class QSplitter;
class QTabWidget;
class QTimer;

namespace foretrain::gui {

class AdvicePane;
class CardRow;
class Document;
class FieldPane;
class Forecaster;
class KnobPane;
class YamlPane;

/// The program's window: editor on the left, forecast on the right.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);
  ~MainWindow() override;

  /// Opens a scenario. @return the problem, empty on success
  [[nodiscard]] QString open(const QString& file);
  void set_theme(ThemeKind kind);
  void set_units(const Units& units);
  void set_engine(EngineKind engine);
  /// The view of that id comes to the front. @return false where there is none
  bool show_view(const QString& id);

  [[nodiscard]] Document& document() { return *document_; }
  [[nodiscard]] StudyPointer study() const { return study_; }
  /// Nothing is being computed, and all views have settled.
  [[nodiscard]] bool settled() const;
  [[nodiscard]] const std::vector<View*>& views() const { return views_; }
  [[nodiscard]] ThemeKind theme_kind() const { return theme_; }

 Q_SIGNALS:
  /// A forecast is on the screen.
  void shown(foretrain::gui::StudyPointer study);

 protected:
  void closeEvent(QCloseEvent* event) override;

 private:
  void build_editor();
  void build_forecast();
  void build_views();
  void build_actions();
  void build_file_menu();
  void build_edit_menu();
  void build_view_menu();
  void build_help_menu();
  void connect_editor();
  QAction* add_action(QMenu& menu, const QString& text, const QKeySequence& keys,
                      std::function<void()> what);

  void text_changed();
  void ask();
  void show_study(StudyPointer study);
  void apply(const QStringList& settings, const QString& why);
  void tell(const QString& problem);
  void update_title();
  void spread(const Selection& selection, View* from);

  void choose_file();
  void save();
  void save_as();
  void import_model();
  [[nodiscard]] bool may_discard();
  void add_recent(const QString& file);
  void fill_recent();
  void fill_examples();
  void restore_layout();

  Document* document_;
  Forecaster* forecaster_;
  QSplitter* halves_ = nullptr;
  QSplitter* left_ = nullptr;
  QSplitter* right_ = nullptr;
  KnobPane* knobs_ = nullptr;
  FieldPane* fields_ = nullptr;
  YamlPane* yaml_ = nullptr;
  QTabWidget* editors_ = nullptr;
  CardRow* cards_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  AdvicePane* advice_ = nullptr;
  QLabel* status_ = nullptr;
  QMenu* recent_ = nullptr;
  QMenu* examples_ = nullptr;
  std::vector<View*> views_;

  StudyPointer study_;
  ThemeKind theme_ = ThemeKind::light;
  Units units_;
  EngineKind engine_ = EngineKind::closed_form;
};

/// Fusion, palette and style sheet for the whole program.
void apply_theme(ThemeKind kind);

}  // namespace foretrain::gui
