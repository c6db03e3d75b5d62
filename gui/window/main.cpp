// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QCommandLineParser>
#include <QSettings>
#include <QStatusBar>
#include <QTemporaryDir>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "gui/views/render.hpp"
#include "gui/window/main_window.hpp"
#include "planner/edit/scenario_text.hpp"
#include "planner/version.hpp"

namespace foretrain::gui {
namespace {

constexpr int exit_usage = 2;

void say(const QString& text) {
  std::fprintf(stderr, "foretrain-gui: %s\n", text.toLocal8Bit().constData());
}

/// Qt ends the program where it finds no display; it shall end with a sentence.
void on_message(QtMsgType type, const QMessageLogContext& /*place*/, const QString& text) {
  if (type == QtFatalMsg) {
    say(
        QStringLiteral("there is no display to open a window on; --render OUT.png --view ID "
                       "SCENARIO draws without one"));
    std::_Exit(exit_usage);
  }
  // What the offscreen platform and a bare container lack is no news to the user.
  const bool known = text.startsWith(QLatin1String("This plugin does not support")) ||
                     text.startsWith(QLatin1String("QStandardPaths: "));
  if (type != QtDebugMsg && type != QtInfoMsg && !known) say(text);
}

/// Before QApplication exists: is this a run without a window?
bool asks_for_picture(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const QByteArray word{argv[i]};
    if (word == "--render" || word.startsWith("--render=") || word == "--help" || word == "-h" ||
        word == "--version" || word == "-v")
      return true;
  }
  return false;
}

bool has_display() {
  return !qEnvironmentVariableIsEmpty("DISPLAY") ||
         !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") ||
         !qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM");
}

void add_options(QCommandLineParser& parser) {
  parser.setApplicationDescription(
      QStringLiteral("The desktop program of Foretrain: change one thing, see what happens.\n"
                     "Without SCENARIO it opens the 70B example."));
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument(QStringLiteral("scenario"), QStringLiteral("Scenario file."),
                               QStringLiteral("[SCENARIO]"));
  parser.addOptions(
      {{QStringLiteral("render"),
        QStringLiteral("Draw into a picture instead of opening a window."),
        QStringLiteral("OUT.png")},
       {QStringLiteral("view"), QStringLiteral("What to draw: %1.").arg(view_names()),
        QStringLiteral("ID"), QStringLiteral("window")},
       {QStringLiteral("size"), QStringLiteral("Width and height."), QStringLiteral("WxH"),
        QStringLiteral("1280x800")},
       {QStringLiteral("scale"), QStringLiteral("Pixels per unit."), QStringLiteral("N"),
        QStringLiteral("1")},
       {QStringLiteral("log"),
        QStringLiteral(
            "Compare a training log with the forecast; more of the same run by --log again."),
        QStringLiteral("FILE")},
       {QStringLiteral("theme"), QStringLiteral("light or dark."), QStringLiteral("NAME")}});
}

/// @return false, after a sentence, where a value is wrong
bool read_request(const QCommandLineParser& parser, RenderRequest& request) {
  const QStringList sides = parser.value(QStringLiteral("size")).split(QLatin1Char('x'));
  bool width = false;
  bool height = false;
  bool scale = false;
  if (sides.size() == 2) request.size = {sides[0].toInt(&width), sides[1].toInt(&height)};
  request.scale = parser.value(QStringLiteral("scale")).toDouble(&scale);
  const auto fits = [](int side) { return side >= 100 && side <= 8192; };
  if (!width || !height || !fits(request.size.width()) || !fits(request.size.height())) {
    say(QStringLiteral("--size takes WIDTHxHEIGHT from 100x100 to 8192x8192, e.g. 1280x800"));
    return false;
  }
  if (!scale || request.scale < 0.5 || request.scale > 4.0) {
    say(QStringLiteral("--scale takes a number from 0.5 to 4"));
    return false;
  }
  const QString theme = parser.value(QStringLiteral("theme"));
  if (!theme.isEmpty() && theme != QLatin1String("light") && theme != QLatin1String("dark")) {
    say(QStringLiteral("--theme takes light or dark"));
    return false;
  }
  request.theme = theme == QLatin1String("dark") ? ThemeKind::dark : ThemeKind::light;
  request.out = parser.value(QStringLiteral("render"));
  request.view = parser.value(QStringLiteral("view"));
  return true;
}

/// The 70B example of the data folder; empty where it is not installed.
QString example_file() {
  for (const ExampleScenario& example : example_scenarios())
    if (example.name == "llama3.1-70b-1024xh100")
      return QString::fromStdString(example.file.string());
  return {};
}

RenderedWindow rendered_window(const QString& file, const RenderRequest& request) {
  auto window = std::make_unique<MainWindow>();
  window->set_theme(request.theme);
  (void)window->open(file);  // render() has read the file already
  window->compare_with(request.log);
  window->statusBar()->hide();  // tells how long the forecast took: another picture every time
  MainWindow* shown = window.get();
  return {std::move(window), [shown] { return shown->settled(); }};
}

std::shared_ptr<const TrainingLog> logged_run(const QStringList& files) {
  std::vector<std::string> names;
  for (const QString& file : files) names.push_back(file.toStdString());
  return std::make_shared<const TrainingLog>(timed_log(names));
}

int draw(const QString& file, RenderRequest request) {
  // A picture looks the same for everybody, and leaves no trace.
  const QTemporaryDir settings;
  QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings.path());
  request.scenario = file;
  const RenderOutcome outcome = render(
      request, [&](const StudyPointer&, ThemeKind) { return rendered_window(file, request); });
  if (!outcome.message.isEmpty()) say(outcome.message);
  return outcome.code;
}

int run(const QCommandLineParser& parser) {
  if (parser.positionalArguments().size() > 1) {
    say(QStringLiteral("one scenario at a time; see --help"));
    return exit_usage;
  }
  RenderRequest request;
  if (!read_request(parser, request)) return exit_usage;
  QString file = parser.positionalArguments().value(0);
  if (file.isEmpty()) file = example_file();
  if (parser.isSet(QStringLiteral("log")))
    request.log = logged_run(parser.values(QStringLiteral("log")));
  if (parser.isSet(QStringLiteral("render"))) return draw(file, request);
  MainWindow window;
  if (parser.isSet(QStringLiteral("theme"))) window.set_theme(request.theme);
  if (!file.isEmpty()) {
    if (const QString problem = window.open(file); !problem.isEmpty()) {
      say(problem);
      return exit_usage;
    }
  }
  if (request.log) window.compare_with(request.log);
  window.show();
  QSettings settings;
  const bool first = !settings.contains(QStringLiteral("toured"));
  settings.setValue(QStringLiteral("toured"), true);
  if (first)
    QObject::connect(&window, &MainWindow::shown, &window, &MainWindow::take_tour,
                     Qt::SingleShotConnection);
  return QApplication::exec();
}

}  // namespace
}  // namespace foretrain::gui

int main(int argc, char** argv) {
  using namespace foretrain::gui;  // NOLINT(google-build-using-namespace): main() only
  const bool picture = asks_for_picture(argc, argv);
  if (picture) qputenv("QT_QPA_PLATFORM", "offscreen");
  qInstallMessageHandler(on_message);
  if (!has_display()) on_message(QtFatalMsg, {}, {});
  QApplication application{argc, argv};
  QApplication::setOrganizationName(QStringLiteral("Foretrain"));
  QApplication::setApplicationName(QStringLiteral("foretrain-gui"));
  QApplication::setApplicationVersion(QString::fromLatin1(foretrain::version));
  QCommandLineParser parser;
  add_options(parser);
  parser.process(application);
  try {
    return run(parser);
  } catch (const std::exception& error) {
    say(QString::fromStdString(error.what()));
    return 1;
  }
}
