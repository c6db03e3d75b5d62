// SPDX-License-Identifier: Apache-2.0
#include <QAction>
#include <QComboBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QTabWidget>

#include <random>

#include "gui/panes/card_row.hpp"
#include "gui/process/document.hpp"
#include "gui/window/main_window.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace foretrain::gui {

class WindowTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  // NOLINTNEXTLINE(readability-identifier-naming): Qt calls it so
  void initTestCase() { use_own_settings(); }

  void init() {
    window_ = std::make_unique<MainWindow>();
    QCOMPARE(window_->open(main_example()), QString{});
    window_->show();
    wait();
  }

  void cleanup() {
    // Nobody is there to answer whether changes shall be saved.
    window_->document().undo_stack().setClean();
    window_.reset();
  }

  void slider_changes_text_forecast_and_undo() {
    auto* slider = window_->findChild<QSlider*>(QStringLiteral("knob training.micro_batch"));
    QVERIFY(slider != nullptr);
    const double before = step();
    const QString text = window_->document().text();
    slider->setValue(slider->value() + 1);
    QVERIFY(window_->document().text().contains(QStringLiteral("micro_batch: 2")));
    wait();
    QVERIFY(step() != before);
    window_->document().undo_stack().undo();
    QCOMPARE(window_->document().text(), text);
    wait();
    QCOMPARE(step(), before);
    QCOMPARE(slider->value(), 0);
  }

  void every_knob_can_be_turned_through() {
    for (QSlider* slider : window_->findChildren<QSlider*>()) {
      for (int stop = slider->minimum(); stop <= slider->maximum(); ++stop) slider->setValue(stop);
      wait();
    }
  }

  void typing_changes_form_and_cards() {
    auto* editor = window_->findChild<QPlainTextEdit*>(QStringLiteral("yaml"));
    QVERIFY(editor != nullptr);
    const double before = step();
    QString text = editor->toPlainText();
    editor->setPlainText(
        text.replace(QStringLiteral("micro_batch: 1"), QStringLiteral("micro_batch: 2")));
    wait();
    QVERIFY(step() != before);
    auto* slider = window_->findChild<QSlider*>(QStringLiteral("knob training.micro_batch"));
    QCOMPARE(slider->value(), 1);
  }

  void typing_keeps_line_ends_and_no_break_spaces() {
    auto* editor = window_->findChild<QPlainTextEdit*>(QStringLiteral("yaml"));
    QString text = read_text(main_example()) + QStringLiteral("# no\u00a0break\n");
    text.replace(QLatin1Char('\n'), QStringLiteral("\r\n"));
    window_->document().start(text, QStringLiteral("dos.yaml"), window_->document().folder());
    QCOMPARE(window_->document().text(), text);
    editor->moveCursor(QTextCursor::End);
    editor->insertPlainText(QStringLiteral("# more"));
    QCOMPARE(window_->document().text(), text + QStringLiteral("# more"));
    QCOMPARE(window_->document().set(QStringLiteral("training.micro_batch"), QStringLiteral("2")),
             QString{});
    QVERIFY(window_->document().text().contains(QStringLiteral("micro_batch: 2\r\n")));
    wait();
    QVERIFY(window_->study()->runs());
  }

  void a_fix_button_is_one_undo_step() {
    auto& document = window_->document();
    QCOMPARE(document.apply(
                 {QStringLiteral("parallel.tensor=1"), QStringLiteral("parallel.sequence=false"),
                  QStringLiteral("parallel.data=128"),
                  QStringLiteral("memory.recompute.granularity=none")},
                 QStringLiteral("break it")),
             QString{});
    wait();
    QVERIFY(!window_->study()->report->prediction.feasible());
    const auto buttons = window_->findChildren<QPushButton*>(QStringLiteral("fix"));
    QVERIFY(!buttons.isEmpty());
    const int steps = document.undo_stack().count();
    buttons.first()->click();
    QCOMPARE(document.undo_stack().count(), steps + 1);
    wait();
    QVERIFY(window_->study()->report->prediction.feasible());
  }

  void invalid_yaml_typed_character_by_character_never_crashes_data() {
    QTest::addColumn<unsigned>("seed");
    for (const unsigned seed : {1U, 2U, 3U, 4U}) QTest::addRow("seed %u", seed) << seed;
  }

  /// Types, deletes and pastes at random places of a real scenario; the window must live, and give
  /// the first forecast again once everything is undone.
  void invalid_yaml_typed_character_by_character_never_crashes() {
    QFETCH(unsigned, seed);
    auto* editor = window_->findChild<QPlainTextEdit*>(QStringLiteral("yaml"));
    const QString original = editor->toPlainText();
    const double before = step();
    std::mt19937 random{seed};
    const QString letters =
        QStringLiteral("{}[]:,#-&*!|>'\"%@` \n\tabc019.~\u00fc\u4e2d\U0001F600");
    for (int i = 0; i < 400; ++i) {
      QTextCursor cursor = editor->textCursor();
      if (i % 5 == 0)
        cursor.setPosition(static_cast<int>(
            random() % static_cast<unsigned>(editor->document()->characterCount())));
      editor->setTextCursor(cursor);
      if (random() % 4 == 0)
        QTest::keyClick(editor, Qt::Key_Backspace);
      else
        editor->insertPlainText(letters.mid(
            static_cast<qsizetype>(random() % static_cast<unsigned>(letters.size())), 1));
      if (i % 10 == 0) QCoreApplication::processEvents();
    }
    wait();
    auto& stack = window_->document().undo_stack();
    stack.setIndex(0);
    QCOMPARE(window_->document().text(), original);
    QCOMPARE(editor->toPlainText(), original);
    wait();
    QCOMPARE(step(), before);
  }

  /// A scenario written from nothing, as people do.
  void a_scenario_typed_from_nothing_never_crashes() {
    auto* editor = window_->findChild<QPlainTextEdit*>(QStringLiteral("yaml"));
    const QString text = editor->toPlainText();
    editor->setPlainText(QString{});
    for (const QChar letter : text) {
      editor->insertPlainText(QString{letter});
      QCoreApplication::processEvents();
    }
    wait();
    QVERIFY(window_->study()->runs());
  }

  void themes_and_units_reach_everything() {
    for (const ThemeKind kind : {ThemeKind::dark, ThemeKind::light}) {
      window_->set_theme(kind);
      for (const View* view : window_->views()) QCOMPARE(view->theme().kind, kind);
    }
    Units units;
    units.bytes = ByteUnits::decimal;
    window_->set_units(units);
    auto* cards = window_->findChild<CardRow*>(QStringLiteral("cards"));
    QVERIFY(cards->shown()[0].detail.contains(QStringLiteral("GB")));
  }

  void layout_units_and_theme_are_remembered() {
    window_->resize(1111, 777);
    QVERIFY(window_->show_view(QStringLiteral("topology")));
    for (QAction* action : window_->findChildren<QAction*>())
      if (action->shortcut() == QKeySequence{QStringLiteral("Ctrl+D")}) action->trigger();
    const ThemeKind theme = window_->theme_kind();
    window_->document().undo_stack().setClean();
    window_->close();
    MainWindow again;
    QCOMPARE(again.size(), QSize(1111, 777));
    QCOMPARE(again.theme_kind(), theme);
    QCOMPARE(again.findChild<QTabWidget*>(QStringLiteral("views"))
                 ->tabText(again.findChild<QTabWidget*>(QStringLiteral("views"))->currentIndex()),
             QStringLiteral("Network"));
  }

  void starts_quickly() {
    QBENCHMARK {
      MainWindow window;
      QSignalSpy shown{&window, &MainWindow::shown};
      (void)window.open(main_example());
      window.show();
      QVERIFY(shown.wait(10'000));
    }
  }

 private:  // NOLINT(readability-redundant-access-specifiers): no slots
  void wait() { QTRY_VERIFY_WITH_TIMEOUT(window_->settled(), 30'000); }
  [[nodiscard]] double step() const {
    const auto& report = window_->study()->report;
    return report && report->prediction.step ? report->prediction.step->time.value() : -1.0;
  }

  std::unique_ptr<MainWindow> window_;
};

}  // namespace foretrain::gui

QTEST_MAIN(foretrain::gui::WindowTest)
#include "window_test.moc"
