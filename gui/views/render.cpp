// SPDX-License-Identifier: Apache-2.0
#include "gui/views/render.hpp"

#include <QApplication>
#include <QDeadlineTimer>
#include <QEventLoop>
#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QPainter>
#include <QTimer>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gui/process/study.hpp"
#include "gui/views/registry.hpp"
#include "planner/text/name_hint.hpp"

namespace foretrain::gui {

using Qt::Literals::StringLiterals::operator""_s;

namespace {

constexpr int bad_input = 2;
constexpr int infeasible = 3;
constexpr int internal = 1;
constexpr int longest_wait_ms = 600'000;

RenderOutcome refused(const QString& message) { return {bad_input, message}; }

std::vector<std::string> all_views() {
  std::vector<std::string> names;
  for (const ViewEntry& entry : view_registry()) names.emplace_back(entry.id);
  names.emplace_back(window_view);
  return names;
}

/// "--view gant: there is no such view; did you mean 'gantt'? Views: memory, ..."
QString unknown_view(const QString& view) {
  return u"--view %1: there is no such view%2; views: %3"_s.arg(
      view, QString::fromStdString(nearest_hint(view.toStdString(), all_views())), view_names());
}

/// The scenario's study with its path, or what is wrong with the file.
struct Opened {
  StudyPointer study;
  QString error;
};

Opened open_study(const QString& name, const std::shared_ptr<const TrainingLog>& log) {
  QFile file{name};
  if (!file.open(QIODevice::ReadOnly)) return {nullptr, u"%1: %2"_s.arg(name, file.errorString())};
  Question question;
  question.text = file.readAll().toStdString();
  question.name = name.toStdString();
  question.folder = QFileInfo{name}.absolutePath().toStdString();
  question.log = log;
  Study study = study_of(question);
  if (study.path_due) study = with_path(std::move(study));
  QString error = QString::fromStdString(study.failure);
  for (const Diagnostic& diagnostic : study.diagnostics)
    error += (error.isEmpty() ? u""_s : u"\n"_s) + QString::fromStdString(diagnostic.text());
  if (!error.isEmpty()) return {nullptr, error};
  return {std::make_shared<const Study>(std::move(study)), {}};
}

/// Lets the view work until it has settled.
bool wait_for(const std::function<bool()>& settled) {
  const QDeadlineTimer end{longest_wait_ms};
  while (!settled()) {
    if (end.hasExpired()) return false;
    QEventLoop loop;
    QTimer::singleShot(10, &loop, &QEventLoop::quit);
    loop.exec();
  }
  QApplication::processEvents();
  return true;
}

QImage drawn(QWidget& widget, const RenderRequest& request) {
  const QSize pixels{static_cast<int>(std::lround(request.size.width() * request.scale)),
                     static_cast<int>(std::lround(request.size.height() * request.scale))};
  QImage image{pixels, QImage::Format_RGB32};
  image.setDevicePixelRatio(request.scale);
  image.fill(theme_of(request.theme).window);
  QPainter painter{&image};
  widget.render(&painter);
  return image;
}

/// What is drawn, and when it is ready.
struct Subject {
  std::unique_ptr<QWidget> widget;
  std::function<bool()> settled;
};

Subject subject_of(const RenderRequest& request, const StudyPointer& study,
                   const WindowMaker& make_window) {
  if (request.view == QLatin1String(window_view)) {
    RenderedWindow window = make_window(study, request.theme);
    return {std::move(window.widget), std::move(window.settled)};
  }
  std::unique_ptr<View> view{find_view(request.view)->make(nullptr)};
  View* shown = view.get();
  shown->set_theme(theme_of(request.theme));
  shown->resize(request.size);
  shown->show_study(study);
  return {std::move(view), [shown] { return shown->settled(); }};
}

}  // namespace

QString view_names() {
  QString list;
  for (const std::string& name : all_views())
    list += (list.isEmpty() ? u""_s : u", "_s) + QString::fromStdString(name);
  return list;
}

RenderOutcome render(const RenderRequest& request, const WindowMaker& make_window) {
  const bool window = request.view == QLatin1String(window_view) && make_window;
  if (!window && find_view(request.view) == nullptr) return refused(unknown_view(request.view));
  if (!request.out.endsWith(u".png"_s, Qt::CaseInsensitive))
    return refused(u"--render %1: the name of the picture ends in .png"_s.arg(request.out));
  const Opened opened = open_study(request.scenario, request.log);
  if (!opened.study) return refused(opened.error);
  QApplication::setPalette(palette_of(theme_of(request.theme)));
  qApp->setStyleSheet(style_sheet(theme_of(request.theme)));
  const Subject subject = subject_of(request, opened.study, make_window);
  subject.widget->resize(request.size);
  subject.widget->show();
  if (!wait_for(subject.settled))
    return {internal, u"--view %1: not ready after ten minutes"_s.arg(request.view)};
  if (!drawn(*subject.widget, request).save(request.out, "PNG"))
    return refused(u"--render %1: the file cannot be written"_s.arg(request.out));
  if (!opened.study->report) return {};
  const auto& reasons = opened.study->report->prediction.reasons;
  if (reasons.empty()) return {};
  return {infeasible, u"infeasible: %1"_s.arg(QString::fromStdString(reasons.front().message))};
}

}  // namespace foretrain::gui
