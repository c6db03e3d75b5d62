// SPDX-License-Identifier: Apache-2.0
#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QListView>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <QTabBar>
#include <QTabWidget>
#include <QTextBlock>

#include <random>
#include <string>
#include <utility>

#include "gui/panes/card_row.hpp"
#include "gui/panes/compare_pane.hpp"
#include "gui/panes/history_strip.hpp"
#include "gui/panes/notice_bar.hpp"
#include "gui/panes/own_gpus_dialog.hpp"
#include "gui/panes/tour.hpp"
#include "gui/process/document.hpp"
#include "gui/views/chart_view.hpp"
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

  void gpus_of_ones_own_become_a_scenario() {
    OwnGpusDialog dialog{{QStringLiteral("llama3.1-8b"), QStringLiteral("qwen3-8b")},
                         {QStringLiteral("l40s"), QStringLiteral("rtx4090")},
                         window_.get()};
    const OwnGpus own = dialog.answer();
    QCOMPARE(own.device, std::string("l40s"));
    QCOMPARE(own.rank, std::optional<int>(16));
    QVERIFY(own.quantised);
    const ImportedRun run = run_on_own_gpus(own);
    window_->document().start(QString::fromStdString(run.text), QStringLiteral("own.yaml"), ".");
    wait();
    QVERIFY(window_->document().text().contains(QStringLiteral("host: l40s")));
    QVERIFY(window_->document().text().contains(QStringLiteral("frozen_format: nf4")));
    QVERIFY(step() > 0.0);
  }

  void all_weights_have_no_rank() {
    OwnGpusDialog dialog{{QStringLiteral("qwen3-8b")}, {QStringLiteral("l40s")}, window_.get()};
    for (QComboBox* box : dialog.findChildren<QComboBox*>())
      if (box->count() == 3) box->setCurrentIndex(0);
    QVERIFY(!dialog.answer().rank);
    QVERIFY(!dialog.answer().quantised);
    bool ranked = true;
    for (const QSpinBox* box : dialog.findChildren<QSpinBox*>())
      ranked = ranked && box->isEnabled();
    QVERIFY(!ranked);
    for (const QWidget* box : dialog.findChildren<QComboBox*>())
      QVERIFY(!box->accessibleName().isEmpty());
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

  void cards_show_what_changed() {
    wait_until_settled();
    set("training.micro_batch", "2");
    wait();
    const Headline changed = card("Step");
    QVERIFY(!changed.difference.isEmpty());
    QVERIFY(changed.difference.startsWith(QStringLiteral("+")) ==
            (changed.difference_tone == Tone::warn));
    // It stays while one looks, and turns round on the way back.
    wait_until_settled();
    QCOMPARE(card("Step").difference, changed.difference);
    window_->document().undo_stack().undo();
    wait();
    QVERIFY(card("Step").difference.left(1) != changed.difference.left(1));
    QCOMPARE(card("Step").difference.mid(1).section(QLatin1Char('('), 0, 0),
             changed.difference.mid(1).section(QLatin1Char('('), 0, 0));
  }

  void cards_show_the_difference_to_what_is_pinned() {
    window_->pin();
    for (const char* value : {"2", "4"}) {
      set("training.micro_batch", value);
      wait_until_settled();
    }
    const double change = step() - window_->comparison().pinned()->step()->time.value();
    QVERIFY(card("Step").difference.contains(time_label(Seconds{std::abs(change)}, {})));
    window_->comparison().pin(nullptr);
    QVERIFY(!card("Step").difference.contains(time_label(Seconds{std::abs(change)}, {})));
  }

  void an_error_keeps_the_last_forecast_and_says_its_line() {
    const QString value = card("Step").value;
    auto* editor = window_->findChild<QPlainTextEdit*>(QStringLiteral("yaml"));
    QString text = editor->toPlainText();
    editor->setPlainText(
        text.replace(QStringLiteral("micro_batch: 1"), QStringLiteral("micro_batc: 1")));
    wait();
    QVERIFY(!window_->study()->valid());
    QCOMPARE(card("Step").value, value);
    QVERIFY(window_->findChild<QWidget*>(QStringLiteral("veil"))->isVisible());
    auto* notice = window_->findChild<NoticeBar*>(QStringLiteral("notice"));
    QVERIFY(notice->isVisible());
    QVERIFY(notice->shown()->text.contains(QStringLiteral("micro_batch")));
    notice->findChild<QPushButton*>(QStringLiteral("remedy"))->click();
    QVERIFY(editor->textCursor().block().text().contains(QStringLiteral("micro_batc: 1")));
    editor->setPlainText(
        text.replace(QStringLiteral("micro_batc: 1"), QStringLiteral("micro_batch: 1")));
    wait();
    QVERIFY(!notice->isVisible());
    QVERIFY(!window_->findChild<QWidget*>(QStringLiteral("veil"))->isVisible());
  }

  void out_of_memory_draws_the_step_and_offers_what_fits() {
    set("parallel.tensor", "1");
    set("parallel.sequence", "false");
    set("parallel.data", "128");
    wait();
    const auto study = window_->study();
    QVERIFY(!study->runs());
    QVERIFY(study->path && study->losses);
    for (const View* view : window_->views())
      if (view->id() == QLatin1String("waterfall") || view->id() == QLatin1String("gantt"))
        QCOMPARE(qobject_cast<const ChartView*>(view)->message(), QString{});
    auto* notice = window_->findChild<NoticeBar*>(QStringLiteral("notice"));
    const auto buttons = notice->findChildren<QPushButton*>(QStringLiteral("remedy"));
    QVERIFY(!buttons.isEmpty());
    for (const QPushButton* button : buttons) {
      QVERIFY(!button->text().contains(QLatin1Char('=')));
      QVERIFY(!button->text().contains(QStringLiteral("--")));
    }
    const int steps = window_->document().undo_stack().count();
    buttons.first()->click();
    QCOMPARE(window_->document().undo_stack().count(), steps + 1);
    wait();
    QVERIFY(window_->study()->runs());
  }

  void history_takes_no_step_for_a_name() {
    wait_until_settled();
    const int steps = window_->history().rowCount();
    set("name", "another");
    wait_until_settled();
    QCOMPARE(window_->history().rowCount(), steps);
    QVERIFY(window_->history().step(0).text.contains(QStringLiteral("another")));
    for (int value = 2; value < 64; value *= 2) {
      set("training.micro_batch", std::to_string(value).c_str());
      wait_until_settled();
    }
    auto* strip = window_->findChild<QListView*>(QStringLiteral("history"));
    const QModelIndex present = window_->history().index(window_->history().present());
    QVERIFY(strip->viewport()->rect().intersects(strip->visualRect(present)));
  }

  void serving_and_queues_have_cards_and_a_view() {
    for (const auto& [file, view] :
         {std::pair{example(QStringLiteral("serving/llama3.1-70b-8xh100")), "Serving"},
          std::pair{example(QStringLiteral("clusters/lab")), "Queue"},
          std::pair{main_example(), "Pipeline"}}) {
      QCOMPARE(window_->open(file), QString{});
      QTRY_VERIFY_WITH_TIMEOUT(window_->settled() && window_->study()->answered(), 60'000);
      auto* tabs = window_->findChild<QTabWidget*>(QStringLiteral("views"));
      bool visible = false;
      for (int tab = 0; tab < tabs->count(); ++tab)
        if (tabs->tabText(tab) == QLatin1String(view)) visible = tabs->isTabVisible(tab);
      QVERIFY2(visible, view);
      QVERIFY(cards()->shown().size() >= 4);
      QVERIFY(!cards()->shown()[1].value.isEmpty());
      if (window_->study()->kind != TextKind::served) continue;
      set("serving.parallel.tensor", "8");
      QTRY_VERIFY_WITH_TIMEOUT(window_->settled(), 60'000);
      QVERIFY(cards()->shown()[1].difference.startsWith(QStringLiteral("was ")));
    }
  }

  void dropped_files_are_told_apart_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<int>("kind");
    QTest::addColumn<QString>("framework");
    using Kind = DroppedFile::Kind;
    const auto row = [](const char* file, Kind kind, const char* framework = "") {
      const auto path = source_folder() / file;
      QTest::newRow(file) << QString::fromStdString(path.string()) << static_cast<int>(kind)
                          << QString::fromLatin1(framework);
    };
    row("scenarios/llama2-70b-1024xh100.yaml", Kind::scenario);
    row("scenarios/clusters/lab.yaml", Kind::scenario);
    row("tests/scenarios/huggingface/llama3-8b.json", Kind::model);
    row("tests/calibration/training_logs/megatron.log", Kind::log);
    row("tests/calibration/training_logs/trainer.log", Kind::log);
  }

  void dropped_files_are_told_apart() {
    QFETCH(QString, file);
    QFETCH(int, kind);
    QFETCH(QString, framework);
    const DroppedFile dropped = dropped_file(file);
    QCOMPARE(static_cast<int>(dropped.kind), kind);
    QCOMPARE(dropped.framework, framework);
  }

  void a_log_is_held_against_the_scenario() {
    window_->open_any(QString::fromStdString(
        (source_folder() / "tests/calibration/training_logs/megatron.log").string()));
    wait();
    QVERIFY(window_->study()->diagnosis != nullptr);
    const auto* tabs = window_->findChild<QTabWidget*>(QStringLiteral("views"));
    QCOMPARE(tabs->tabText(tabs->currentIndex()), QStringLiteral("Diagnosis"));
    // What is changed then is held against the log again.
    const auto before = window_->study()->diagnosis->head.sentence;
    set("training.micro_batch", "2");
    wait();
    QVERIFY(window_->study()->diagnosis->head.sentence != before);
  }

  void nothing_is_cut_off_at_any_size_data() {
    QTest::addColumn<QSize>("size");
    for (const QSize size :
         {QSize{1280, 720}, QSize{1920, 1080}, QSize{2560, 1440}, QSize{3840, 2160}})
      QTest::addRow("%dx%d", size.width(), size.height()) << size;
  }

  void nothing_is_cut_off_at_any_size() {
    QFETCH(QSize, size);
    window_->resize(size);
    QCoreApplication::processEvents();
    QCOMPARE(window_->size(), size);
    for (const QAbstractButton* button : window_->findChildren<QAbstractButton*>())
      if (button->isVisible() && !button->text().isEmpty())
        QVERIFY2(longest_line(*button, button->text()) <= button->width(),
                 qPrintable(button->text()));
    for (const QLabel* label : window_->findChildren<QLabel*>())
      if (label->isVisible() && !label->wordWrap() && label->textFormat() != Qt::RichText &&
          label->sizePolicy().horizontalPolicy() != QSizePolicy::Ignored)
        QVERIFY2(longest_line(*label, label->text()) <= label->width(), qPrintable(label->text()));
    for (const View* view : window_->views())
      if (view->isVisible())
        QVERIFY2(view->height() >= 150 && view->width() >= 250, qPrintable(view->id()));
  }

  void everything_that_takes_the_keyboard_has_a_name() {
    for (const QWidget* widget : window_->findChildren<QWidget*>()) {
      if (!widget->isVisible() || widget->focusPolicy() == Qt::NoFocus || widget->focusProxy() ||
          qobject_cast<const QAbstractScrollArea*>(widget->parentWidget()))
        continue;
      const auto* button = qobject_cast<const QAbstractButton*>(widget);
      const bool named = !widget->accessibleName().isEmpty() ||
                         (button != nullptr && !button->text().isEmpty()) ||
                         qobject_cast<const QTabBar*>(widget) != nullptr;
      QVERIFY2(named, qPrintable(QString::fromLatin1(widget->metaObject()->className()) +
                                 QLatin1Char(' ') + widget->objectName() + QLatin1Char(' ') +
                                 QLatin1String(widget->parentWidget()->metaObject()->className())));
    }
  }

  void a_tour_shows_every_part_once() {
    window_->take_tour();
    auto* tour = window_->findChild<Tour*>(QStringLiteral("tour"));
    QVERIFY(tour != nullptr && tour->stops() == 6);
    window_->take_tour();  // not twice
    QCOMPARE(window_->findChildren<Tour*>().size(), 1);
    for (int stop = 1; stop < tour->stops(); ++stop) {
      QTest::keyClick(tour, Qt::Key_Right);
      QCOMPARE(tour->at(), stop);
    }
    QTest::keyClick(tour, Qt::Key_Return);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    QVERIFY(window_->findChild<Tour*>() == nullptr);
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
  /// Until what is on the screen has become a step of the history.
  void wait_until_settled() {
    wait();
    QTest::qWait(700);
  }
  void set(const char* path, const char* value) {
    QCOMPARE(window_->document().set(QLatin1String(path), QLatin1String(value)), QString{});
  }
  [[nodiscard]] CardRow* cards() const {
    return window_->findChild<CardRow*>(QStringLiteral("cards"));
  }
  [[nodiscard]] Headline card(const char* title) const {
    for (const Headline& line : cards()->shown())
      if (line.title == QLatin1String(title)) return line;
    return {};
  }
  [[nodiscard]] static int longest_line(const QWidget& widget, const QString& text) {
    int longest = 0;
    for (const QString& line : text.split(QLatin1Char('\n')))
      longest = std::max(longest, widget.fontMetrics().horizontalAdvance(line));
    return longest;
  }
  [[nodiscard]] double step() const {
    const auto& report = window_->study()->report;
    return report && report->prediction.step ? report->prediction.step->time.value() : -1.0;
  }

  std::unique_ptr<MainWindow> window_;
};

}  // namespace foretrain::gui

QTEST_MAIN(foretrain::gui::WindowTest)
#include "window_test.moc"
