// SPDX-License-Identifier: Apache-2.0
// Menus and keys; the rest of the window is in main_window.cpp.
#include <QAction>
#include <QActionGroup>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>
#include <QTabWidget>

#include <functional>

#include "gui/panes/card_row.hpp"
#include "gui/panes/command_palette.hpp"
#include "gui/panes/compare_pane.hpp"
#include "gui/panes/field_pane.hpp"
#include "gui/panes/history_strip.hpp"
#include "gui/panes/knob_pane.hpp"
#include "gui/panes/tour.hpp"
#include "gui/panes/yaml_pane.hpp"
#include "gui/process/document.hpp"
#include "gui/process/event_player.hpp"
#include "gui/window/main_window.hpp"
#include "planner/edit/scenario_text.hpp"

namespace foretrain::gui {

QAction* MainWindow::add_action(QMenu& menu, const QString& text, const QKeySequence& keys,
                                std::function<void()> what) {
  QAction* action = menu.addAction(text);
  action->setShortcut(keys);
  connect(action, &QAction::triggered, this, [what = std::move(what)] { what(); });
  return action;
}

void MainWindow::build_actions() {
  build_file_menu();
  build_edit_menu();
  build_view_menu();
  build_forecast_menu();
  build_help_menu();
}

void MainWindow::build_file_menu() {
  QMenu& menu = *menuBar()->addMenu(tr("&File"));
  add_action(menu, tr("&New: I have these GPUs…"), QKeySequence::New, [this] { ask_own_gpus(); });
  add_action(menu, tr("&Open…"), QKeySequence::Open, [this] { choose_file(); });
  recent_ = menu.addMenu(tr("Open &recent"));
  examples_ = menu.addMenu(tr("&Examples"));
  add_action(menu, tr("Compare with a &log…"), QKeySequence{tr("Ctrl+G")},
             [this] { choose_log(); });
  menu.addSeparator();
  add_action(menu, tr("&Save"), QKeySequence::Save, [this] { save(); });
  add_action(menu, tr("Save &as…"), QKeySequence{tr("Ctrl+Shift+S")}, [this] { save_as(); });
  menu.addSeparator();
  QMenu& import = *menu.addMenu(tr("&Import"));
  add_action(import, tr("&Hugging Face config.json, as the model…"), QKeySequence{tr("Ctrl+I")},
             [this] {
               import_model(choose(tr("Import a Hugging Face config.json"),
                                   tr("Hugging Face configurations (*.json);;All files (*)")));
             });
  for (const auto& [name, title] : importable_frameworks()) {
    const QString framework = QString::fromStdString(name);
    const QString shown = QString::fromStdString(title);
    add_action(import, tr("%1 configuration…").arg(shown), {}, [this, framework, shown] {
      import_run(framework, shown, choose(tr("Import a configuration of %1").arg(shown)));
    });
  }
  build_export_menu(*menu.addMenu(tr("&Export")));
  menu.addSeparator();
  add_action(menu, tr("&Quit"), QKeySequence{tr("Ctrl+Q")}, [this] { close(); });
  fill_recent();
  fill_examples();
}

void MainWindow::build_edit_menu() {
  QMenu& menu = *menuBar()->addMenu(tr("&Edit"));
  QAction* undo = document_->undo_stack().createUndoAction(this, tr("Undo"));
  undo->setShortcut(QKeySequence::Undo);
  QAction* redo = document_->undo_stack().createRedoAction(this, tr("Redo"));
  redo->setShortcut(QKeySequence{tr("Ctrl+Shift+Z")});
  menu.addAction(undo);
  menu.addAction(redo);
  menu.addSeparator();
  add_action(menu, tr("&Find a key"), QKeySequence::Find, [this] {
    editors_->setCurrentWidget(fields_);
    fields_->focus_search();
  });
  add_action(menu, tr("Edit as &YAML"), QKeySequence{tr("Ctrl+E")}, [this] {
    editors_->setCurrentWidget(yaml_);
    yaml_->editor().setFocus();
  });
}

void MainWindow::build_view_menu() {
  QMenu& menu = *menuBar()->addMenu(tr("&View"));
  add_action(menu, tr("&Dark or light"), QKeySequence{tr("Ctrl+D")}, [this] {
    set_theme(theme_ == ThemeKind::dark ? ThemeKind::light : ThemeKind::dark);
    QSettings{}.setValue(QStringLiteral("dark"), theme_ == ThemeKind::dark);
  });
  add_action(menu, tr("&GiB or GB"), QKeySequence{tr("Ctrl+U")}, [this] {
    Units units = units_;
    units.bytes = units.bytes == ByteUnits::binary ? ByteUnits::decimal : ByteUnits::binary;
    QSettings{}.setValue(QStringLiteral("decimal bytes"), units.bytes == ByteUnits::decimal);
    set_units(units);
  });
  add_action(menu, tr("&Times in s, ms, or what suits"), QKeySequence{tr("Ctrl+T")}, [this] {
    Units units = units_;
    units.time = units.time == TimeUnits::automatic ? TimeUnits::seconds
                 : units.time == TimeUnits::seconds ? TimeUnits::milliseconds
                                                    : TimeUnits::automatic;
    QSettings{}.setValue(QStringLiteral("time units"), static_cast<int>(units.time));
    set_units(units);
  });
  menu.addSeparator();
  int number = 1;
  for (int tab = 0; tab < tabs_->count(); ++tab)
    add_action(menu, tabs_->tabText(tab),
               number < 10 ? QKeySequence{tr("Ctrl+%1").arg(number++)} : QKeySequence{},
               [this, tab] {
                 if (tabs_->isTabVisible(tab)) tabs_->setCurrentIndex(tab);
               });
}

void MainWindow::build_export_menu(QMenu& menu) {
  add_action(menu, tr("&View as picture…"), QKeySequence{tr("Ctrl+Shift+E")}, [this] {
    QWidget* shown = tabs_->currentWidget();
    const View* view = present_view();
    export_picture(*shown, view ? view->id() : QStringLiteral("view"));
  });
  add_action(menu, tr("&Window as picture…"), {},
             [this] { export_picture(*this, QStringLiteral("foretrain")); });
  add_action(menu, tr("View as &table…"), {}, [this] { export_view_table(); });
  add_action(menu, tr("&Forecast as HTML, JSON, CSV or Markdown…"), {},
             [this] { export_forecast(); });
}

void MainWindow::build_forecast_menu() {
  QMenu& menu = *menuBar()->addMenu(tr("F&orecast"));
  add_action(menu, tr("&Simulate on the fabric (event engine)"), QKeySequence{Qt::Key_F5},
             [this] { play(); });
  add_action(menu, tr("&Cancel the event engine"), QKeySequence{tr("Ctrl+.")},
             [this] { player_->cancel(); });
  add_action(menu, tr("&Critical path or closed form"), QKeySequence{tr("Ctrl+L")}, [this] {
    set_engine(engine_ == EngineKind::path ? EngineKind::closed_form : EngineKind::path);
  });
  menu.addSeparator();
  add_action(menu, tr("P&in this forecast"), QKeySequence{tr("Ctrl+P")}, [this] { pin(); });
  add_action(menu, tr("&Unpin"), QKeySequence{tr("Ctrl+Shift+P")},
             [this] { compare_->pin(nullptr); });
  menu.addSeparator();
  add_action(menu, tr("Copy as c&ommand line"), QKeySequence{tr("Ctrl+Shift+C")},
             [this] { copy_command(); });
}

void MainWindow::build_help_menu() {
  QMenu& menu = *menuBar()->addMenu(tr("&Help"));
  add_action(menu, tr("&Commands…"), QKeySequence{tr("Ctrl+K")}, [this] { show_palette(); });
  add_action(menu, tr("&Tour"), {}, [this] { take_tour(); });
  QAction* keys = add_action(menu, tr("Keyboard &shortcuts"), QKeySequence{Qt::Key_F1},
                             [this] { show_shortcuts(); });
  keys->setShortcuts({QKeySequence{Qt::Key_F1}, QKeySequence{tr("Ctrl+?")}});
}

namespace {

QString plain(QString text) { return text.remove(QLatin1Char('&')); }

/// Every action of a menu and the menus in it, "File: Open…".
void collect(const QMenu& menu, const QString& prefix, std::vector<PaletteEntry>& entries) {
  for (QAction* action : menu.actions()) {
    if (action->isSeparator()) continue;
    const QString text = prefix + plain(action->text());
    if (const QMenu* below = action->menu()) {
      collect(*below, text + QStringLiteral(": "), entries);
      continue;
    }
    const QString keys = action->shortcut().toString(QKeySequence::NativeText);
    const QString help = action->toolTip() == action->iconText() ? QString{} : action->toolTip();
    entries.push_back({text, keys.isEmpty() ? help : keys, [action] { action->trigger(); }});
  }
}

}  // namespace

void MainWindow::take_tour() {
  const QWidget* tour = findChild<QWidget*>(QStringLiteral("tour"));
  if (tour != nullptr) return;
  std::vector<TourStop> stops{
      {knobs_->parentWidget(), tr("Change one thing"),
       tr("Sliders turn what people turn most. Data ranks follow the machine, so that a plan stays "
          "one. Everything can be undone.")},
      {editors_, tr("Every key, or the text itself"),
       tr("All keys with their meaning, and the scenario as YAML. Both are the same text; a file, "
          "a "
          "log or a framework's configuration can be dropped anywhere on the window.")},
      {cards_, tr("See what changed"),
       tr("Memory, step, MFU and money, each with its band and its difference to the state before. "
          "Pin a forecast (Ctrl+P), and differences are to that one.")},
      {beside_, tr("Why"),
       tr("Memory per pipeline stage, and where the time of a step goes. What is pointed at says "
          "its "
          "cause; a click picks it in all views.")},
      {tabs_, tr("Look further"),
       tr("The pipeline over time, the network, plans that fit, sweeps, scaling. Advice has what "
          "would make the step shorter, each with a button.")},
      {strip_, tr("Come back"),
       tr("What you looked at. A click goes back to it, F2 names it. Ctrl+K finds any command or "
          "key.")}};
  new Tour{std::move(stops), theme_of(theme_), this};
}

void MainWindow::show_palette() {
  std::vector<PaletteEntry> entries;
  for (QAction* action : menuBar()->actions())
    collect(*action->menu(), plain(action->text()) + QStringLiteral(": "), entries);
  for (const Field& field : scenario_table().fields()) {
    if (field.kind == FieldKind::group || field.path.find("[]") != std::string::npos) continue;
    const QString path = QString::fromStdString(field.path);
    entries.push_back({tr("Set %1").arg(path), QString::fromStdString(field.help), [this, path] {
                         editors_->setCurrentWidget(fields_);
                         fields_->reveal(path);
                       }});
  }
  auto* palette = new CommandPalette{std::move(entries), this};
  palette->show();
}

void MainWindow::show_shortcuts() {
  QString rows;
  for (const QAction* action : findChildren<QAction*>()) {
    if (action->shortcut().isEmpty()) continue;
    rows += QStringLiteral("<tr><td><b>%1</b></td><td style='padding-left:24px'>%2</td></tr>")
                .arg(action->shortcut().toString(QKeySequence::NativeText).toHtmlEscaped(),
                     plain(action->text()).toHtmlEscaped());
  }
  auto* box =
      new QMessageBox{QMessageBox::NoIcon, tr("Keyboard shortcuts"),
                      QStringLiteral("<table>%1</table>").arg(rows), QMessageBox::Close, this};
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setObjectName(QStringLiteral("shortcuts"));
  box->show();
}

}  // namespace foretrain::gui
