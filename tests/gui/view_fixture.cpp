// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/view_fixture.hpp"

#include <QElapsedTimer>
#include <QMouseEvent>
#include <QWheelEvent>

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gui/views/registry.hpp"
#include "planner/search/plan_report.hpp"

namespace foretrain::gui::fixtures {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return fs::path{FORETRAIN_SOURCE_DIR} / "scenarios"; }

void send_mouse(QWidget& widget, QEvent::Type type, QPointF at, Qt::MouseButton button,
                Qt::MouseButtons buttons) {
  QMouseEvent event{type, at, widget.mapToGlobal(at), button, buttons, Qt::NoModifier};
  QApplication::sendEvent(&widget, &event);
}

}  // namespace

QApplication& application() {
  // Lives as long as the program: Qt wants it to be the last to go.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static QApplication* const app = [] {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    struct Program {
      int count = 1;
      std::string name = "foretrain_test_gui_views";
      std::array<char*, 2> arguments{name.data(), nullptr};
      QApplication* const application = new QApplication{count, arguments.data()};
    };
    return (new Program)->application;
  }();
  return *app;
}

StudyPointer study(const std::string& scenario, const std::vector<std::string>& settings) {
  std::ifstream file{folder() / (scenario + ".yaml")};
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  Question question{text.str(), scenario + ".yaml", folder()};
  if (!settings.empty()) {
    question.text = scenario_with(scenario + ".yaml", "test", settings);
    question.name = "test.yaml";
  }
  Study study = study_of(question);
  if (study.path_due) study = with_path(std::move(study));
  return std::make_shared<const Study>(std::move(study));
}

std::vector<std::string> scenarios() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator{folder()})
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::unique_ptr<View> shown(const QString& id, const StudyPointer& study, QSize size,
                            ThemeKind theme) {
  application();
  const ViewEntry* entry = find_view(id);
  REQUIRE(entry != nullptr);
  std::unique_ptr<View> view{entry->make(nullptr)};
  view->set_theme(theme_of(theme));
  view->resize(size);
  view->show();
  view->show_study(study);
  settle(*view);
  return view;
}

void settle(View& view) {
  QElapsedTimer timer;
  timer.start();
  do {
    QApplication::processEvents(QEventLoop::AllEvents, 20);
  } while (!view.settled() && timer.elapsed() < 120'000);
  REQUIRE(view.settled());
  QApplication::processEvents();
}

QImage picture(QWidget& widget) {
  QImage image{widget.size(), QImage::Format_RGB32};
  image.fill(Qt::magenta);
  widget.render(&image);
  return image;
}

int painted(const QImage& image, const QRect& area, const QColor& ground) {
  int count = 0;
  const QRect inside = area.intersected(image.rect());
  for (int y = inside.top(); y <= inside.bottom(); ++y)
    for (int x = inside.left(); x <= inside.right(); ++x)
      if (image.pixel(x, y) != ground.rgb()) ++count;
  return count;
}

QString label_faults(const ChartView& view) {
  const auto& labels = view.labels();
  const QRectF all{view.rect()};
  QString faults;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!all.contains(labels[i].box))
      faults += QStringLiteral("outside: '%1'\n").arg(labels[i].text);
    for (std::size_t j = i + 1; j < labels.size(); ++j) {
      const QRectF common = labels[i].box.intersected(labels[j].box);
      // Letters do not fill their boxes: a pixel in common hides nothing.
      if (common.width() > 1.5 && common.height() > 2.5)
        faults += QStringLiteral("'%1' lies on '%2'\n").arg(labels[i].text, labels[j].text);
    }
  }
  return faults;
}

void click(QWidget& widget, QPointF at) {
  send_mouse(widget, QEvent::MouseButtonPress, at, Qt::LeftButton, Qt::LeftButton);
  send_mouse(widget, QEvent::MouseButtonRelease, at, Qt::LeftButton, Qt::NoButton);
}

void point(QWidget& widget, QPointF at) {
  send_mouse(widget, QEvent::MouseMove, at, Qt::NoButton, Qt::NoButton);
}

void wheel(QWidget& widget, QPointF at, int steps) {
  QWheelEvent event{at,           widget.mapToGlobal(at), QPoint{},          QPoint{0, 120 * steps},
                    Qt::NoButton, Qt::NoModifier,         Qt::NoScrollPhase, false};
  QApplication::sendEvent(&widget, &event);
}

void drag(QWidget& widget, QPointF from, QPointF to) {
  send_mouse(widget, QEvent::MouseButtonPress, from, Qt::LeftButton, Qt::LeftButton);
  send_mouse(widget, QEvent::MouseMove, to, Qt::NoButton, Qt::LeftButton);
  send_mouse(widget, QEvent::MouseButtonRelease, to, Qt::LeftButton, Qt::NoButton);
}

}  // namespace foretrain::gui::fixtures
