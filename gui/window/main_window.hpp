// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QKeySequence>
#include <QMainWindow>

#include <functional>
#include <vector>

#include "gui/looks/theme.hpp"
#include "gui/looks/units.hpp"
#include "gui/process/study.hpp"
#include "gui/views/view.hpp"

class QAction;
class QLabel;
class QMenu;
class QSplitter;
class QTabWidget;
class QTimer;

namespace foretrain {
struct ImportedRun;
}

namespace foretrain::gui {

class AdvicePane;
class CardRow;
class ComparePane;
class Document;
struct Fix;
class EventPlayer;
class FieldPane;
class ForecastBar;
class Forecaster;
class HistoryModel;
class HistoryStrip;
class KnobPane;
class NoticeBar;
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

  /// Compares a training log with the forecast; null: none.
  void compare_with(std::shared_ptr<const TrainingLog> log);
  /// The same of a file. @return the problem, empty on success
  [[nodiscard]] QString open_log(const QString& file);
  /// Whatever a file is: a scenario, a cluster file, a model, a framework's configuration or a log.
  void open_any(const QString& file);

  /// Shows what is where, in a few cards.
  void take_tour();

  /// Plays the present text with the event engine in the background.
  void play();
  /// Holds what follows against the present forecast.
  void pin();

  [[nodiscard]] Document& document() { return *document_; }
  [[nodiscard]] EventPlayer& player() { return *player_; }
  [[nodiscard]] HistoryModel& history() { return *history_; }
  [[nodiscard]] ComparePane& comparison() { return *compare_; }
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
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void build_editor();
  void build_forecast();
  void build_views();
  void build_actions();
  void build_file_menu();
  void build_edit_menu();
  void build_view_menu();
  void build_export_menu(QMenu& menu);
  void build_forecast_menu();
  void build_help_menu();
  void connect_editor();
  void connect_forecast();
  QAction* add_action(QMenu& menu, const QString& text, const QKeySequence& keys,
                      std::function<void()> what);

  void text_changed();
  /// What is on the screen stands; the next change is held against it.
  void settle();
  void ask();
  [[nodiscard]] Question question_now() const;
  void show_study(StudyPointer study);
  void show_everywhere();
  /// Only what the kind of the text has.
  void show_parts();
  void event_finished(const std::shared_ptr<const EventAnswer>& answer);
  void restore_text(const QString& text, const QString& name);
  void apply(const QStringList& settings, const QString& why);
  void use(const Fix& fix);
  void tell(const QString& problem);
  void update_title();
  void spread(const Selection& selection, View* from);

  [[nodiscard]] View* present_view() const;
  [[nodiscard]] QString ask_where(const QString& title, const QString& name, const QString& filter);
  void export_picture(QWidget& widget, const QString& name);
  void export_text(const std::string& text, const QString& name, const QString& filter);
  void export_view_table();
  void export_forecast();
  void copy_command();
  void show_palette();
  void show_shortcuts();

  void choose_file();
  /// A file that somebody picks; empty: none.
  [[nodiscard]] QString choose(const QString& title, const QString& filter = {});
  void save();
  void save_as();
  void choose_log();
  void import_model(const QString& file);
  void import_run(const QString& framework, const QString& title, const QString& file);
  /// Opens what `made` gives as an unsaved scenario of this name, with its notes; what it throws
  /// is told.
  void start_run(const QString& title, const QString& name, const QString& folder,
                 const std::function<ImportedRun()>& made);
  void ask_own_gpus();
  [[nodiscard]] bool may_discard();
  void add_recent(const QString& file);
  void fill_recent();
  void fill_examples();
  void restore_layout();

  Document* document_;
  Forecaster* forecaster_;
  EventPlayer* player_;
  HistoryModel* history_;
  QTimer* quiet_;  ///< since the last forecast; then it becomes a step of the history
  QSplitter* halves_ = nullptr;
  QSplitter* left_ = nullptr;
  QSplitter* right_ = nullptr;
  KnobPane* knobs_ = nullptr;
  FieldPane* fields_ = nullptr;
  YamlPane* yaml_ = nullptr;
  QTabWidget* editors_ = nullptr;
  CardRow* cards_ = nullptr;
  NoticeBar* notice_ = nullptr;
  QWidget* veil_ = nullptr;  ///< over views of an older text
  QTabWidget* tabs_ = nullptr;
  QWidget* beside_ = nullptr;  ///< the views under the cards
  AdvicePane* advice_ = nullptr;
  ForecastBar* bar_ = nullptr;
  ComparePane* compare_ = nullptr;
  HistoryStrip* strip_ = nullptr;
  QLabel* status_ = nullptr;
  QMenu* recent_ = nullptr;
  QMenu* examples_ = nullptr;
  std::vector<View*> views_;

  std::shared_ptr<const TrainingLog> log_;
  StudyPointer study_;      ///< of the present text
  StudyPointer shown_;      ///< the last one with a forecast, else the present one
  StudyPointer settled_;    ///< that stood for a moment
  StudyPointer reference_;  ///< that stood before the present one
  ThemeKind theme_ = ThemeKind::light;
  Units units_;
  EngineKind engine_ = EngineKind::closed_form;
};

/// Draws a widget as it is into a .png, at twice its size, or .svg. @return false where the file
/// cannot be written
[[nodiscard]] bool draw_picture(QWidget& widget, const QString& file);

/// Writes a forecast as .html (beside the pinned one, if any), .json, .csv or .md.
/// @return the problem, empty on success. @pre both have a report
[[nodiscard]] QString write_forecast(const QString& file, const Study& study, const Study* pinned);

/// Fusion, palette and style sheet for the whole program.
void apply_theme(ThemeKind kind);

}  // namespace foretrain::gui
