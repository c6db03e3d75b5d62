// SPDX-License-Identifier: Apache-2.0
#include <QAbstractItemModelTester>
#include <QAction>
#include <QDir>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QProcess>
#include <QScrollArea>
#include <QSignalSpy>
#include <QTemporaryDir>

#include <nlohmann/json.hpp>

#include "gui/panes/command_palette.hpp"
#include "gui/panes/compare_pane.hpp"
#include "gui/panes/history_strip.hpp"
#include "gui/process/document.hpp"
#include "gui/process/reproduce.hpp"
#include "gui/window/main_window.hpp"
#include "planner/edit/yaml_edit.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/text/quoting.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace foretrain::gui {

using Tester = QAbstractItemModelTester;

namespace {

Study with_settings(const std::vector<std::string>& settings) {
  Question question = question_about(main_example());
  question.text = *apply_settings(question.text, settings).text;
  return study_of(question);
}

}  // namespace

/// Comparing, coming back, finding commands, telling others.
class ExploreTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  // NOLINTNEXTLINE(readability-identifier-naming): Qt calls it so
  void initTestCase() { use_own_settings(); }

  void history_keeps_each_text_once() {
    HistoryModel history;
    const Tester tester{&history, Tester::FailureReportingMode::QtTest};
    const Study first = *studied(main_example());
    const Study second = with_settings({"parallel.tensor=4", "parallel.data=32"});
    history.add(first);
    history.add(second);
    history.add(first);
    QCOMPARE(history.rowCount(), 2);
    QCOMPARE(history.present(), 0);
    QCOMPARE(history.index(1).data().toString(), QStringLiteral("data 16 → 32, tensor 8 → 4"));
    QVERIFY(!history.change(0, {}));
    const auto change =
        figure_change("step.time_s", first.step()->time.value(), second.step()->time.value());
    QCOMPARE(history.change(1, {})->text, change->text);
    QVERIFY(history.setData(history.index(1), QStringLiteral("my idea")));
    QVERIFY(!history.setData(history.index(1), QStringLiteral("  ")));
    QCOMPARE(history.index(1).data().toString(), QStringLiteral("my idea"));
    history.clear();
    QCOMPARE(history.rowCount(), 0);
  }

  void history_forgets_the_oldest_but_never_the_first() {
    HistoryModel history;
    const Tester tester{&history, Tester::FailureReportingMode::QtTest};
    Study study = *studied(main_example());
    const std::string text = study.question.text;
    for (std::size_t i = 0; i < HistoryModel::most_steps + 5; ++i) {
      study.question.text = text + "key: " + std::to_string(i) + "\n";
      history.add(study);
    }
    QCOMPARE(history.rowCount(), static_cast<int>(HistoryModel::most_steps));
    QVERIFY(history.step(0).text.endsWith(QStringLiteral("key: 0\n")));
  }

  void labels_tell_what_changed() {
    const auto label = [](const char* before, const char* after) {
      return difference_label(before, after);
    };
    QCOMPARE(label("name: a\n", "name: a # x\n"), QStringLiteral("text only"));
    QCOMPARE(label("name: a\nsite: b\n", "name: a\n"), QStringLiteral("no site"));
    QCOMPARE(label("name: a\n", "name: a\nsite: b\n"), QStringLiteral("site b"));
    QCOMPARE(label("name: a\n", "name: a\ncommunication:\n  overlap: {tensor: true}\n"),
             QStringLiteral("overlap tensor true"));
  }

  void comparison_is_the_answer_of_the_program() {
    ComparePane pane;
    const StudyPointer first = studied(main_example());
    const auto second = std::make_shared<const Study>(
        with_settings({"parallel.tensor=4", "parallel.data=32", "training.micro_batch=2"}));
    pane.show();
    pane.set_study(first);
    pane.pin(first);
    pane.set_study(second);
    const Comparison comparison = compare({*first->report, *second->report});
    const QStringList shown = texts_in(pane);
    for (const ComparedFigure& figure : comparison.figures)
      for (const std::string& text : {figure.text(0), figure.text(1), figure.difference(1)})
        QVERIFY2(shown.contains(qt_text(text)), text.c_str());
    QVERIFY(shown.contains(QStringLiteral("What changed in the step, from A to B")));
    pane.pin(nullptr);
    QVERIFY(!pane.findChild<QScrollArea*>()->isVisible());
  }

  void a_plan_that_cannot_run_can_be_compared_too() {
    ComparePane pane;
    const auto broken = std::make_shared<const Study>(
        with_settings({"parallel.tensor=1", "parallel.sequence=false", "parallel.data=128",
                       "memory.recompute.granularity=none"}));
    QVERIFY(broken->valid() && !broken->runs());
    pane.set_study(studied(main_example()));
    pane.pin(broken);
    pane.show();
    QVERIFY(texts_in(pane).contains(QStringLiteral("OUT OF MEMORY")));
    QVERIFY(!texts_in(pane).contains(QStringLiteral("What changed in the step, from A to B")));
  }

  void palette_finds_words_in_any_order() {
    int ran = 0;
    PaletteModel model{{{QStringLiteral("File: Open"), QStringLiteral("Ctrl+O"), [&] { ran = 1; }},
                        {QStringLiteral("Open the door"), {}, [&] { ran = 2; }},
                        {QStringLiteral("Close"), QStringLiteral("not open"), [&] { ran = 3; }}}};
    const Tester tester{&model, Tester::FailureReportingMode::QtTest};
    QCOMPARE(model.rowCount(), 3);
    model.look_for(QStringLiteral("open"));
    QCOMPARE(model.rowCount(), 3);
    QCOMPARE(model.index(0).data().toString(), QStringLiteral("Open the door"));
    QCOMPARE(model.index(2).data().toString(), QStringLiteral("Close"));
    model.look_for(QStringLiteral("door open"));
    QCOMPARE(model.rowCount(), 1);
    model.run(0);
    QCOMPARE(ran, 2);
    model.look_for(QStringLiteral("nothing of that"));
    QCOMPARE(model.rowCount(), 0);
  }

  void everything_is_reachable_from_the_keyboard() {
    MainWindow window;
    QCOMPARE(window.open(main_example()), QString{});
    window.show();
    QTRY_VERIFY_WITH_TIMEOUT(window.settled(), 30'000);
    QStringList seen;
    for (const QAction* action : window.findChildren<QAction*>()) {
      const QString keys = action->shortcut().toString();
      if (keys.isEmpty()) continue;
      QVERIFY2(!seen.contains(keys), qPrintable(keys + QStringLiteral(" is used twice")));
      seen << keys;
    }
    QVERIFY(seen.contains(QStringLiteral("Ctrl+K")) && seen.contains(QStringLiteral("F1")));
    trigger(window, QStringLiteral("Ctrl+K"));
    auto* palette = window.findChild<QDialog*>(QStringLiteral("palette"));
    QVERIFY(palette != nullptr);
    auto* line = palette->findChild<QLineEdit*>();
    QTest::keyClicks(line, QStringLiteral("dark"));
    const ThemeKind before = window.theme_kind();
    QTest::keyClick(line, Qt::Key_Return);
    QVERIFY(window.theme_kind() != before);
    trigger(window, QStringLiteral("F1"));
    QVERIFY(window.findChild<QDialog*>(QStringLiteral("shortcuts")) != nullptr);
  }

  void steps_of_the_history_come_back() {
    MainWindow window;
    QCOMPARE(window.open(main_example()), QString{});
    window.show();
    QTRY_COMPARE_WITH_TIMEOUT(window.history().rowCount(), 1, 30'000);
    const QString start = window.document().text();
    QCOMPARE(window.document().set(QStringLiteral("training.micro_batch"), QStringLiteral("2")),
             QString{});
    QTRY_COMPARE_WITH_TIMEOUT(window.history().rowCount(), 2, 30'000);
    auto* strip = window.findChild<QListView*>(QStringLiteral("history"));
    Q_EMIT strip->clicked(window.history().index(0));
    QCOMPARE(window.document().text(), start);
    QTRY_COMPARE_WITH_TIMEOUT(window.history().present(), 0, 30'000);
    QCOMPARE(window.history().rowCount(), 2);
    window.document().undo_stack().undo();
    QVERIFY(window.document().text() != start);
    window.document().undo_stack().setClean();
  }

  void pictures_are_written_as_png_and_svg() {
    const QTemporaryDir folder;
    MainWindow window;
    QCOMPARE(window.open(main_example()), QString{});
    window.show();
    QTRY_VERIFY_WITH_TIMEOUT(window.settled(), 30'000);
    const QString png = folder.filePath(QStringLiteral("w.png"));
    const QString svg = folder.filePath(QStringLiteral("w.svg"));
    QVERIFY(draw_picture(window, png));
    QVERIFY(draw_picture(window, svg));
    QCOMPARE(QImage{png}.size(), window.size() * 2);
    QVERIFY(read_text(svg).contains(QStringLiteral("<svg")));
    QVERIFY(!draw_picture(window, QStringLiteral("/nonexistent/w.png")));
  }

  void forecasts_are_written_in_every_form() {
    const QTemporaryDir folder;
    const StudyPointer study = studied(main_example());
    const QHash<QString, QString> expected{
        {QStringLiteral("a.html"), QStringLiteral("<!doctype html>")},
        {QStringLiteral("a.json"), QStringLiteral("prediction/1")},
        {QStringLiteral("a.csv"), QStringLiteral("step_time_s")},
        {QStringLiteral("a.md"), QStringLiteral("| ")}};
    for (auto form = expected.begin(); form != expected.end(); ++form) {
      const QString file = folder.filePath(form.key());
      QCOMPARE(write_forecast(file, *study, study.get()), QString{});
      QVERIFY2(read_text(file).contains(form.value(), Qt::CaseInsensitive), qPrintable(form.key()));
    }
    QVERIFY(!write_forecast(folder.filePath(QStringLiteral("a.doc")), *study, nullptr).isEmpty());
    QVERIFY(!write_forecast(QStringLiteral("/nonexistent/a.md"), *study, nullptr).isEmpty());
  }

  /// The copied command, run by a shell, prints the forecast that is on the screen.
  void copied_commands_reproduce_data() {
    QTest::addColumn<QString>("setting");
    QTest::newRow("as saved") << QString{};
    QTest::newRow("one key") << QStringLiteral("training.micro_batch=2");
    QTest::newRow("new key") << QStringLiteral("operations.price=2.5 USD/GPU-hour");
    QTest::newRow("list") << QStringLiteral(
        "parallel.stage_layers=[10, 10, 10, 10, 10, 10, 10, 10]");
    QTest::newRow("quotes") << QStringLiteral("name=\"it's: a 'name'\"");
    QTest::newRow("key taken away") << QStringLiteral("-memory.attention");
  }

  void copied_commands_reproduce() {
    QFETCH(QString, setting);
    const QString saved = read_text(main_example());
    Question question = question_about(main_example());
    if (setting.startsWith(QLatin1Char('-')))
      question.text = *remove_value(question.text, setting.mid(1).toStdString()).text;
    else if (!setting.isEmpty())
      question.text = *apply_settings(question.text, {setting.toStdString()}).text;
    QString command = reproducing_command(question, main_example(), saved);
    QCOMPARE(command.contains(QStringLiteral("<<")), setting.startsWith(QLatin1Char('-')));
    command.replace(QStringLiteral("foretrain simulate "),
                    qt_text(shell_word(FORETRAIN_PROGRAM)) + QStringLiteral(" simulate --json "));
    QProcess shell;
    shell.start(QStringLiteral("/bin/sh"), {QStringLiteral("-c"), command});
    QVERIFY(shell.waitForFinished(60'000));
    QVERIFY2(shell.exitCode() == 0, shell.readAllStandardError().constData());
    const auto json = nlohmann::json::parse(shell.readAllStandardOutput().toStdString());
    const Study study = study_of(question);
    QVERIFY(study.runs());
    QCOMPARE(json["step"]["time_s"].get<double>(), study.report->prediction.step->time.value());
    QCOMPARE(json["scenario"]["name"].get<std::string>(), study.report->scenario.job.name);
  }

 private:  // NOLINT(readability-redundant-access-specifiers): no slots
  static QStringList texts_in(const QWidget& widget) {
    QStringList texts;
    for (const QLabel* label : widget.findChildren<QLabel*>()) texts << label->text().trimmed();
    return texts;
  }
  static void trigger(const MainWindow& window, const QString& keys) {
    for (QAction* action : window.findChildren<QAction*>())
      if (action->shortcut().toString() == keys) {
        action->trigger();
        return;
      }
    QFAIL(qPrintable(keys + QStringLiteral(" does nothing")));
  }
};

}  // namespace foretrain::gui

QTEST_MAIN(foretrain::gui::ExploreTest)
#include "explore_test.moc"
