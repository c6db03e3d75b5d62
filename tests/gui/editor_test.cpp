// SPDX-License-Identifier: Apache-2.0
#include <QAbstractItemModelTester>
#include <QFileInfo>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "gui/panes/field_model.hpp"
#include "gui/panes/knob_rules.hpp"
#include "gui/process/document.hpp"
#include "planner/edit/scenario_text.hpp"
#include "planner/edit/yaml_edit.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace foretrain::gui {

using Tester = QAbstractItemModelTester;

class EditorTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  // NOLINTNEXTLINE(readability-identifier-naming): Qt calls it so
  void initTestCase() { use_own_settings(); }

  void field_model_is_a_sound_tree() {
    FieldModel model;
    const Tester tester{&model, Tester::FailureReportingMode::QtTest};
    model.set_text(read_text(main_example()).toStdString());
    model.set_study(*studied(main_example()));
    QCOMPARE(model.rowCount(), static_cast<int>(scenario_table().children("").size()));
    for (const Field& field : scenario_table().fields()) {
      if (field.path.find("[]") != std::string::npos) continue;
      const QModelIndex index = model.index_of(QString::fromStdString(field.path));
      QVERIFY2(index.isValid(), field.path.c_str());
      QCOMPARE(index.data(FieldModel::path_role).toString().toStdString(), field.path);
      QVERIFY(index.data(Qt::ToolTipRole)
                  .toString()
                  .contains(QString::fromStdString(field.help).toHtmlEscaped()));
    }
  }

  void values_are_those_of_text_and_forecast() {
    FieldModel model;
    model.set_text(read_text(main_example()).toStdString());
    model.set_study(*studied(main_example()));
    const auto at = [&](const char* path, int role) {
      return model.index_of(QLatin1String(path)).data(role);
    };
    QCOMPARE(at("parallel.tensor", Qt::EditRole).toString(), QStringLiteral("8"));
    QVERIFY(at("parallel.tensor", FieldModel::given_role).toBool());
    QCOMPARE(at("memory.recompute.granularity", Qt::EditRole).toString(),
             QStringLiteral("selective"));
    QVERIFY(!at("parallel.context", FieldModel::given_role).toBool());
    QCOMPARE(at("parallel.context", Qt::DisplayRole).toString(), QStringLiteral("1"));
    QCOMPARE(at("communication.transport", Qt::DisplayRole).toString(),
             QStringLiteral("gpudirect-rdma"));
    QVERIFY(at("model", FieldModel::choices_role)
                .toStringList()
                .contains(QStringLiteral("llama2-70b")));
    QCOMPARE(at("memory.offload", FieldModel::choices_role).toStringList().size(), 4);
  }

  void errors_stand_at_their_fields() {
    Question question = question_about(main_example());
    question.text = *set_value(question.text, "parallel.tensor", "eight").text;
    FieldModel model;
    model.set_text(question.text);
    model.set_study(study_of(question));
    const QModelIndex wrong = model.index_of(QStringLiteral("parallel.tensor"));
    QVERIFY(wrong.data(FieldModel::error_role).toString().contains(QStringLiteral("eight")));
    model.set_study(*studied(main_example()));
    QVERIFY(wrong.data(FieldModel::error_role).toString().isEmpty());
  }

  void round_trip_data() {
    QTest::addColumn<QString>("file");
    for (const QString& file : all_examples())
      QTest::newRow(qPrintable(QFileInfo{file}.baseName())) << file;
  }

  /// Entering every value that a file gives again, as the form shows it, leaves its meaning and
  /// its comments; undo gives every byte back.
  void round_trip() {
    QFETCH(QString, file);
    Document document;
    QCOMPARE(document.open(file), QString{});
    const QString original = document.text();
    FieldModel model;
    connect(&model, &FieldModel::edited, &document, [&](const QString& path, const QString& value) {
      QCOMPARE(document.set(path, value), QString{});
    });
    for (const GivenValue& value : given_values(original.toStdString())) {
      const QString path = QString::fromStdString(value.path);
      model.set_text(document.text().toStdString());
      const QModelIndex index = model.index_of(path);
      QVERIFY2(index.isValid(), value.path.c_str());
      const QString shown = index.data(Qt::EditRole).toString();
      QCOMPARE(document.remove(path), QString{});
      model.set_text(document.text().toStdString());
      QVERIFY(!index.data(FieldModel::given_role).toBool());
      QVERIFY(model.setData(index, shown));
      model.set_text(document.text().toStdString());
      QCOMPARE(index.data(Qt::EditRole).toString(), shown);
    }
    Question again = question_about(file);
    again.text = document.text().toStdString();
    const Study before = study_of(question_about(file));
    const Study after = study_of(again);
    QVERIFY(before.runs() && after.runs());
    QCOMPARE(after.report->prediction.step->time.value(),
             before.report->prediction.step->time.value());
    while (document.undo_stack().canUndo()) document.undo_stack().undo();
    QCOMPARE(document.text(), original);
    QVERIFY(!document.modified());
  }

  void changes_of_one_key_in_a_row_are_one_undo_step() {
    Document document;
    QCOMPARE(document.open(main_example()), QString{});
    const QString original = document.text();
    for (const char* value : {"4", "2", "1"})
      QCOMPARE(document.set(QStringLiteral("parallel.tensor"), QLatin1String(value)), QString{});
    QCOMPARE(document.undo_stack().count(), 1);
    QCOMPARE(document.set(QStringLiteral("parallel.pipeline"), QStringLiteral("4")), QString{});
    QCOMPARE(document.undo_stack().count(), 2);
    document.undo_stack().setIndex(0);
    QCOMPARE(document.text(), original);
  }

  void a_saved_text_is_read_back() {
    const QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("größe.yaml"));
    Document document;
    document.start(QStringLiteral("schema: 1  # ü\n"), QStringLiteral("new.yaml"), "/tmp");
    document.type(QStringLiteral("schema: 1  # üx\n"));
    QVERIFY(document.modified());
    QCOMPARE(document.save(file), QString{});
    QVERIFY(!document.modified());
    Document other;
    QCOMPARE(other.open(file), QString{});
    QCOMPARE(other.text(), QStringLiteral("schema: 1  # üx\n"));
    QVERIFY(!other.open(folder.filePath(QStringLiteral("none.yaml"))).isEmpty());
    QVERIFY(!other.save(QStringLiteral("/nonexistent/x.yaml")).isEmpty());
  }

  void knobs_keep_machine_and_plan_together() {
    const KnobState state = knob_state(*studied(main_example())->report);
    QCOMPARE(state.gpus_per_host, 8);
    QCOMPARE(state.layers, 80);
    const auto turned = [&](const char* path, const char* value) {
      for (const Knob& knob : knobs())
        if (std::string_view{knob.path} == path)
          return knob_settings(knob, QLatin1String(value), state).join(QLatin1Char(' '));
      return QString{};
    };
    QCOMPARE(turned("parallel.tensor", "4"), QStringLiteral("parallel.tensor=4 parallel.data=32"));
    QCOMPARE(turned("cluster.hosts", "64"), QStringLiteral("cluster.hosts=64 parallel.data=8"));
    QCOMPARE(turned("parallel.data", "32"), QStringLiteral("parallel.data=32 cluster.hosts=256"));
    QCOMPARE(turned("parallel.virtual_stages", "2"),
             QStringLiteral("parallel.virtual_stages=2 parallel.schedule=interleaved"));
    QCOMPARE(turned("training.micro_batch", "2"), QStringLiteral("training.micro_batch=2"));
  }

  /// Every stop of every knob gives a text that the reader takes: a plan may be illegal or too
  /// large, but never unreadable.
  void every_stop_of_every_knob_is_readable() {
    for (const QString& file : all_examples()) {
      const Study start = *studied(file);
      const KnobState state = knob_state(*start.report);
      for (const Knob& knob : knobs()) {
        for (const QString& stop : knob_stops(knob, state)) {
          std::vector<std::string> settings;
          for (const QString& setting : knob_settings(knob, stop, state))
            settings.push_back(setting.toStdString());
          const TextEdit edit = apply_settings(start.question.text, settings);
          QVERIFY2(edit.text.has_value(), edit.problem.c_str());
        }
      }
    }
  }
};

}  // namespace foretrain::gui

QTEST_MAIN(foretrain::gui::EditorTest)
#include "editor_test.moc"
