// SPDX-License-Identifier: Apache-2.0
// Opening, saving and importing; the rest of the window is in main_window.cpp.
#include <QDate>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QInputDialog>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QSaveFile>
#include <QSettings>

#include <exception>

#include "gui/panes/own_gpus_dialog.hpp"
#include "gui/process/document.hpp"
#include "gui/window/main_window.hpp"
#include "planner/edit/scenario_text.hpp"

namespace foretrain::gui {
namespace {

constexpr int most_recent = 10;

QString recent_key() { return QStringLiteral("recent"); }
QString scenario_filter() { return MainWindow::tr("Scenarios (*.yaml *.yml);;All files (*)"); }

QStringList catalog_names(const char* kind) {
  QStringList names;
  try {
    for (const CatalogEntry& entry : catalog_entries(kind))
      names << QString::fromStdString(entry.name);
  } catch (const std::exception&) {
    names.clear();  // the import reports an unreadable catalog
  }
  return names;
}

}  // namespace

QString MainWindow::open(const QString& file) {
  QString problem = document_->open(file);
  if (problem.isEmpty()) add_recent(file);
  return problem;
}

bool MainWindow::may_discard() {
  if (!document_->modified()) return true;
  const auto answer = QMessageBox::question(
      this, tr("Unsaved changes"), tr("%1 has changes that are not saved.").arg(document_->name()),
      QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, QMessageBox::Save);
  if (answer == QMessageBox::Save) save();
  return answer == QMessageBox::Discard || (answer == QMessageBox::Save && !document_->modified());
}

void MainWindow::choose_file() {
  if (!may_discard()) return;
  const QString file = QFileDialog::getOpenFileName(
      this, tr("Open scenario"), QString::fromStdString(document_->folder().string()),
      scenario_filter());
  if (file.isEmpty()) return;
  if (const QString problem = open(file); !problem.isEmpty())
    QMessageBox::warning(this, tr("Open scenario"), problem);
}

void MainWindow::save() {
  if (document_->file().isEmpty()) {
    save_as();
    return;
  }
  if (const QString problem = document_->save(document_->file()); !problem.isEmpty())
    QMessageBox::warning(this, tr("Save scenario"), problem);
}

void MainWindow::save_as() {
  const QString start =
      QString::fromStdString((document_->folder() / document_->name().toStdString()).string());
  const QString file =
      QFileDialog::getSaveFileName(this, tr("Save scenario"), start, scenario_filter());
  if (file.isEmpty()) return;
  if (const QString problem = document_->save(file); !problem.isEmpty()) {
    QMessageBox::warning(this, tr("Save scenario"), problem);
    return;
  }
  add_recent(file);
}

QString MainWindow::choose(const QString& title, const QString& filter) {
  return QFileDialog::getOpenFileName(this, title,
                                      QString::fromStdString(document_->folder().string()), filter);
}

void MainWindow::choose_log() {
  const QString file = choose(tr("Compare with a training log"));
  if (file.isEmpty()) return;
  if (const QString problem = open_log(file); !problem.isEmpty())
    QMessageBox::warning(this, tr("Compare with a log"), problem);
}

void MainWindow::compare_with(std::shared_ptr<const TrainingLog> log) {
  log_ = std::move(log);
  ask();
  if (log_) (void)show_view(QStringLiteral("diagnosis"));
}

QString MainWindow::open_log(const QString& file) {
  try {
    compare_with(std::make_shared<const TrainingLog>(timed_log({file.toStdString()})));
  } catch (const std::exception& error) {
    return QString::fromStdString(error.what());
  }
  return {};
}

void MainWindow::open_any(const QString& file) {
  const DroppedFile dropped = dropped_file(file);
  QString problem;
  switch (dropped.kind) {
    case DroppedFile::Kind::scenario:
      if (may_discard()) problem = open(file);
      break;
    case DroppedFile::Kind::model:
      import_model(file);
      break;
    case DroppedFile::Kind::framework:
      import_run(dropped.framework, dropped.framework, file);
      break;
    case DroppedFile::Kind::log:
      problem = open_log(file);
      break;
  }
  if (!problem.isEmpty()) tell(problem);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  for (const QUrl& url : event->mimeData()->urls())
    if (url.isLocalFile()) open_any(url.toLocalFile());
  event->acceptProposedAction();
}

void MainWindow::import_model(const QString& file) {
  if (file.isEmpty()) return;
  const QString folder = QString::fromStdString(document_->folder().string());
  try {
    const ImportedModel model = import_model_config(
        file.toStdString(), {}, QDate::currentDate().toString(Qt::ISODate).toStdString());
    const QString name = QString::fromStdString(model.name) + QStringLiteral(".yaml");
    const QString target =
        QFileDialog::getSaveFileName(this, tr("Save the model beside the scenario"),
                                     folder + QLatin1Char('/') + name, tr("Models (*.yaml)"));
    if (target.isEmpty()) return;
    QSaveFile out{target};
    const QByteArray bytes = QByteArray::fromStdString(model.text);
    if (!out.open(QIODevice::WriteOnly) || out.write(bytes) != bytes.size() || !out.commit()) {
      QMessageBox::warning(this, tr("Import"),
                           tr("Cannot write %1: %2").arg(target, out.errorString()));
      return;
    }
    tell(document_->set(QStringLiteral("model"),
                        QStringLiteral("./") + QDir{folder}.relativeFilePath(target)));
    QStringList notes;
    for (const std::string& note : model.notes) notes << QString::fromStdString(note);
    if (!notes.isEmpty())
      QMessageBox::information(this, tr("Import"), notes.join(QStringLiteral("\n\n")));
  } catch (const std::exception& error) {
    QMessageBox::warning(this, tr("Import"), QString::fromStdString(error.what()));
  }
}

void MainWindow::import_run(const QString& framework, const QString& title, const QString& file) {
  if (file.isEmpty() || !may_discard()) return;
  bool chosen = false;
  const QString host = QInputDialog::getItem(this, title, tr("Hosts to run it on"),
                                             catalog_names("hosts"), 0, false, &chosen);
  if (!chosen) return;
  const int gpus = QInputDialog::getInt(this, title, tr("GPUs (0: as the file says)"), 0, 0,
                                        1'000'000, 8, &chosen);
  if (!chosen) return;
  start_run(title, QFileInfo{file}.completeBaseName(), QFileInfo{file}.absolutePath(), [&] {
    return import_run_config(framework.toStdString(), file.toStdString(), host.toStdString(),
                             gpus > 0 ? std::optional<int>{gpus} : std::nullopt);
  });
}

void MainWindow::start_run(const QString& title, const QString& name, const QString& folder,
                           const std::function<ImportedRun()>& made) {
  try {
    const ImportedRun run = made();
    document_->start(QString::fromStdString(run.text), name + QStringLiteral(".yaml"),
                     folder.toStdString());
    QStringList notes;
    for (const std::string& note : run.notes) notes << QString::fromStdString(note);
    if (!notes.isEmpty()) QMessageBox::information(this, title, notes.join(QStringLiteral("\n\n")));
  } catch (const std::exception& error) {
    QMessageBox::warning(this, title, QString::fromStdString(error.what()));
  }
}

void MainWindow::ask_own_gpus() {
  if (!may_discard()) return;
  OwnGpusDialog dialog{catalog_names("models"), catalog_names("devices"), this};
  if (dialog.exec() != QDialog::Accepted) return;
  const OwnGpus own = dialog.answer();
  start_run(dialog.windowTitle(), QString::fromStdString(own.model + "-" + own.device),
            QString::fromStdString(document_->folder().string()),
            [&own] { return run_on_own_gpus(own); });
}

void MainWindow::add_recent(const QString& file) {
  QSettings settings;
  QStringList files = settings.value(recent_key()).toStringList();
  const QString path = QFileInfo{file}.absoluteFilePath();
  files.removeAll(path);
  files.prepend(path);
  while (files.size() > most_recent) files.removeLast();
  settings.setValue(recent_key(), files);
  fill_recent();
}

void MainWindow::fill_recent() {
  recent_->clear();
  const QStringList files = QSettings{}.value(recent_key()).toStringList();
  for (const QString& file : files) {
    recent_
        ->addAction(QFileInfo{file}.fileName(), this,
                    [this, file] {
                      if (!may_discard()) return;
                      if (const QString problem = open(file); !problem.isEmpty())
                        QMessageBox::warning(this, tr("Open scenario"), problem);
                    })
        ->setToolTip(file);
  }
  recent_->setToolTipsVisible(true);
  recent_->setEnabled(!files.isEmpty());
}

void MainWindow::fill_examples() {
  try {
    for (const ExampleScenario& example : example_scenarios()) {
      const QString file = QString::fromStdString(example.file.string());
      QAction* action =
          examples_->addAction(QString::fromStdString(example.name), this, [this, file] {
            if (!may_discard()) return;
            if (const QString problem = open(file); !problem.isEmpty())
              QMessageBox::warning(this, tr("Open scenario"), problem);
          });
      action->setToolTip(QString::fromStdString(example.title));
    }
  } catch (const std::exception& error) {
    examples_->addAction(QString::fromStdString(error.what()))->setEnabled(false);
  }
  examples_->setToolTipsVisible(true);
}

}  // namespace foretrain::gui
