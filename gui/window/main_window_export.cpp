// SPDX-License-Identifier: Apache-2.0
// What leaves the window: pictures, tables, commands; the rest is in main_window.cpp.
#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QFileDialog>
#include <QMessageBox>
#include <QPainter>
#include <QPixmap>
#include <QSaveFile>
#include <QSvgGenerator>
#include <QTabWidget>

#include "gui/panes/compare_pane.hpp"
#include "gui/process/document.hpp"
#include "gui/process/reproduce.hpp"
#include "gui/window/main_window.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/page/report_page.hpp"

namespace foretrain::gui {
namespace {

constexpr double picture_scale = 2.0;

/// @return the problem, empty on success
QString write_text(const QString& file, const std::string& text) {
  QSaveFile target{file};
  const QByteArray bytes = QByteArray::fromStdString(text);
  if (!target.open(QIODevice::WriteOnly) || target.write(bytes) != bytes.size() || !target.commit())
    return MainWindow::tr("Cannot write %1: %2").arg(file, target.errorString());
  return {};
}

}  // namespace

bool draw_picture(QWidget& widget, const QString& file) {
  if (file.endsWith(QStringLiteral(".svg"), Qt::CaseInsensitive)) {
    QSvgGenerator picture;
    picture.setFileName(file);
    picture.setSize(widget.size());
    picture.setViewBox(widget.rect());
    picture.setTitle(widget.accessibleName());
    QPainter painter;
    if (!painter.begin(&picture)) return false;
    widget.render(&painter);
    return painter.end();
  }
  QPixmap picture{widget.size() * picture_scale};
  picture.setDevicePixelRatio(picture_scale);
  widget.render(&picture);
  return picture.save(file, "PNG");
}

QString MainWindow::ask_where(const QString& title, const QString& name, const QString& filter) {
  const QString folder = QString::fromStdString(document_->folder().string());
  return QFileDialog::getSaveFileName(this, title, folder + QLatin1Char('/') + name, filter);
}

void MainWindow::export_picture(QWidget& widget, const QString& name) {
  const QString file =
      ask_where(tr("Save as picture"), name + QStringLiteral(".png"), tr("Pictures (*.png *.svg)"));
  if (!file.isEmpty() && !draw_picture(widget, file))
    QMessageBox::warning(this, tr("Save as picture"), tr("Cannot write %1").arg(file));
}

void MainWindow::export_text(const std::string& text, const QString& name, const QString& filter) {
  const QString file = ask_where(tr("Export"), name, filter);
  if (file.isEmpty()) return;
  if (const QString problem = write_text(file, text); !problem.isEmpty())
    QMessageBox::warning(this, tr("Export"), problem);
}

void MainWindow::export_view_table() {
  const View* view = present_view();
  const QString table = view ? view->csv() : QString{};
  if (view == nullptr || table.isEmpty())
    tell(tr("This view has no table behind it"));
  else
    export_text(table.toStdString(), view->id() + QStringLiteral(".csv"), tr("Tables (*.csv)"));
}

void MainWindow::export_forecast() {
  if (!study_ || !study_->report) {
    tell(tr("There is no forecast to export while the scenario has errors"));
    return;
  }
  const QString file = ask_where(tr("Export the forecast"), QStringLiteral("forecast.html"),
                                 tr("HTML page (*.html);;JSON (*.json);;CSV (*.csv);;"
                                    "Markdown (*.md)"));
  if (file.isEmpty()) return;
  const QString problem = write_forecast(file, *study_, compare_->pinned().get());
  if (!problem.isEmpty()) QMessageBox::warning(this, tr("Export"), problem);
}

QString write_forecast(const QString& file, const Study& study, const Study* pinned) {
  const Report& report = *study.report;
  std::string text;
  if (file.endsWith(QStringLiteral(".html"))) {
    const auto side = [](const Study& of) {
      return PageSide{*of.report,
                      of.path ? std::optional<StepPath>{*of.path} : std::optional<StepPath>{}};
    };
    ReportPage page{{}, std::nullopt};
    if (pinned) page.sides.push_back(side(*pinned));
    page.sides.push_back(side(study));
    text = page_html(page);
  } else if (file.endsWith(QStringLiteral(".csv"))) {
    text = report_csv({report});
  } else if (file.endsWith(QStringLiteral(".md"))) {
    text = report_markdown(report);
  } else if (file.endsWith(QStringLiteral(".json"))) {
    text = report_json(report);
  } else {
    return MainWindow::tr("%1: the name of a forecast ends in .html, .json, .csv or .md").arg(file);
  }
  return write_text(file, text);
}

void MainWindow::copy_command() {
  Question question = question_now();
  QString saved;
  if (QFile file{document_->file()}; !document_->file().isEmpty() && file.open(QIODevice::ReadOnly))
    saved = QString::fromUtf8(file.readAll());
  const QString command = reproducing_command(question, document_->file(), saved);
  QApplication::clipboard()->setText(command);
  tell(tr("Copied: %1").arg(command.section(QLatin1Char('\n'), 0, 0)));
}

}  // namespace foretrain::gui
