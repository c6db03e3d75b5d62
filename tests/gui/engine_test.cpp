// SPDX-License-Identifier: Apache-2.0
#include <QSignalSpy>
#include <QTemporaryDir>

#include <csignal>

#include "gui/panes/forecast_bar.hpp"
#include "gui/process/document.hpp"
#include "gui/process/event_player.hpp"
#include "gui/window/main_window.hpp"
#include "planner/edit/yaml_edit.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace foretrain::gui {

using Answer = std::shared_ptr<const EventAnswer>;

/// The event engine in its own process: played, cancelled, killed, missing.
class EngineTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  // NOLINTNEXTLINE(readability-identifier-naming): Qt calls it so
  void initTestCase() { use_own_settings(); }

  void an_answer_comes() {
    EventPlayer player;
    player.set_program(QStringLiteral(FORETRAIN_PROGRAM));
    QSignalSpy done{&player, &EventPlayer::finished};
    player.play(question_about(main_example()));
    QVERIFY(player.playing());
    QVERIFY(done.wait(120'000));
    QVERIFY(!player.playing());
    const auto answer = done.first().first().value<Answer>();
    QVERIFY(answer->step && answer->efficiency && !answer->links.empty());
    const Study study = with_event(*studied(main_example()), answer);
    QVERIFY(event_sentence(study, {}).contains(QStringLiteral("On the fabric")));
    // Nothing is shared on this fabric but what the longest path knows as well.
    const double ratio = answer->step->time / study.report->prediction.step->time;
    QVERIFY2(ratio > 0.9 && ratio < 1.1, qPrintable(QString::number(ratio)));
  }

  void cancelling_in_the_middle_ends_the_process() {
    EventPlayer player;
    start_long_run(player);
    QSignalSpy cancelled{&player, &EventPlayer::cancelled};
    QSignalSpy failed{&player, &EventPlayer::failed};
    const auto process = static_cast<pid_t>(player.process_id());
    player.cancel();
    QVERIFY(cancelled.wait(10'000));
    QCOMPARE(failed.count(), 0);
    QVERIFY(!player.playing());
    QCOMPARE(kill(process, 0), -1);  // it is gone
  }

  void a_killed_engine_is_a_sentence() {
    EventPlayer player;
    start_long_run(player);
    QSignalSpy failed{&player, &EventPlayer::failed};
    QCOMPARE(kill(static_cast<pid_t>(player.process_id()), SIGKILL), 0);
    QVERIFY(failed.wait(10'000));
    QVERIFY(failed.first().first().toString().contains(QStringLiteral("signal 9")));
    QVERIFY(!player.playing());
  }

  void the_window_survives_a_killed_engine_and_plays_again() {
    MainWindow window;
    window.player().set_program(QStringLiteral(FORETRAIN_PROGRAM));
    QCOMPARE(window.open(main_example()), QString{});
    window.show();
    QTRY_VERIFY_WITH_TIMEOUT(window.settled(), 30'000);
    window.play();
    QSignalSpy failed{&window.player(), &EventPlayer::failed};
    QTRY_VERIFY_WITH_TIMEOUT(window.player().process_id() != 0, 10'000);
    QCOMPARE(kill(static_cast<pid_t>(window.player().process_id()), SIGKILL), 0);
    QVERIFY(failed.wait(10'000));
    QVERIFY(window.study()->runs() && !window.study()->event);
    window.play();
    QTRY_VERIFY_WITH_TIMEOUT(window.study()->event != nullptr, 120'000);
  }

  void a_missing_program_is_a_sentence() {
    for (const char* program : {"", "/nonexistent/foretrain"}) {
      EventPlayer player;
      player.set_program(QLatin1String(program));
      QSignalSpy failed{&player, &EventPlayer::failed};
      player.play(question_about(main_example()));
      QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, 10'000);
      QVERIFY(!player.playing());
    }
  }

  void nonsense_from_the_program_is_a_sentence() {
    EventPlayer player;
    player.set_program(QStringLiteral("/bin/true"));
    QSignalSpy failed{&player, &EventPlayer::failed};
    player.play(question_about(main_example()));
    QVERIFY(failed.wait(10'000));
    QVERIFY(failed.first().first().toString().contains(QStringLiteral("no forecast")));
    QVERIFY_EXCEPTION_THROWN((void)read_event_answer("{\"step\": 3}"), std::exception);
  }

  void a_player_that_goes_takes_its_process_along() {
    pid_t process = 0;
    {
      EventPlayer player;
      start_long_run(player);
      process = static_cast<pid_t>(player.process_id());
    }
    QCOMPARE(kill(process, 0), -1);
  }

 private:  // NOLINT(readability-redundant-access-specifiers): no slots
  /// Every replica and many micro-batches: minutes, if it were left alone.
  static void start_long_run(EventPlayer& player) {
    Question question = question_about(main_example());
    question.text =
        *apply_settings(question.text, {"training.global_batch=16384", "simulation.unfold=true"})
             .text;
    player.set_program(QStringLiteral(FORETRAIN_PROGRAM));
    QSignalSpy progress{&player, &EventPlayer::progressed};
    player.play(question);
    QVERIFY2(progress.wait(60'000), "no progress within a minute");
    QVERIFY(player.playing());
  }
};

}  // namespace foretrain::gui

QTEST_MAIN(foretrain::gui::EngineTest)
#include "engine_test.moc"
