// SPDX-License-Identifier: Apache-2.0
// Menus and keys; the rest of the window is in main_window.cpp.
#include <QAction>
#include <QActionGroup>
#include <QMenu>
#include <QMenuBar>
#include <QSettings>
#include <QTabWidget>

#include <functional>

#include "gui/document.hpp"
#include "gui/field_pane.hpp"
#include "gui/main_window.hpp"
#include "gui/yaml_pane.hpp"

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
  build_help_menu();
}

void MainWindow::build_file_menu() {
  QMenu& menu = *menuBar()->addMenu(tr("&File"));
  add_action(menu, tr("&Open…"), QKeySequence::Open, [this] { choose_file(); });
  recent_ = menu.addMenu(tr("&Recent"));
  examples_ = menu.addMenu(tr("&Examples"));
  menu.addSeparator();
  add_action(menu, tr("&Save"), QKeySequence::Save, [this] { save(); });
  add_action(menu, tr("Save &as…"), QKeySequence{tr("Ctrl+Shift+S")}, [this] { save_as(); });
  menu.addSeparator();
  add_action(menu, tr("&Import a Hugging Face config.json…"), QKeySequence{tr("Ctrl+I")},
             [this] { import_model(); });
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
  menu.addSeparator();
  int number = 1;
  for (int tab = 0; tab < tabs_->count(); ++tab)
    add_action(menu, tabs_->tabText(tab),
               number < 10 ? QKeySequence{tr("Ctrl+%1").arg(number++)} : QKeySequence{},
               [this, tab] { tabs_->setCurrentIndex(tab); });
}

void MainWindow::build_help_menu() { menuBar()->addMenu(tr("&Help")); }

}  // namespace foretrain::gui
