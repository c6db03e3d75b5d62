// SPDX-License-Identifier: Apache-2.0
#include "gui/main_window.hpp"

#include <QApplication>
#include <QCloseEvent>
#include <QLabel>
#include <QSettings>
#include <QSplitter>
#include <QStatusBar>
#include <QStyleFactory>
#include <QTabBar>
#include <QTabWidget>
#include <QVBoxLayout>

#include <utility>

#include "gui/advice_pane.hpp"
#include "gui/card_row.hpp"
#include "gui/document.hpp"
#include "gui/field_pane.hpp"
#include "gui/forecaster.hpp"
#include "gui/knob_pane.hpp"
#include "gui/views/registry.hpp"
#include "gui/yaml_pane.hpp"

namespace foretrain::gui {
namespace {

QFrame* framed(QWidget* inside) {
  auto* frame = new QFrame;
  frame->setProperty("card", true);
  auto* layout = new QVBoxLayout{frame};
  layout->setContentsMargins(1, 1, 1, 1);
  layout->addWidget(inside);
  return frame;
}

bool stands_beside_cards(const QString& id) {
  return id == QLatin1String("memory") || id == QLatin1String("waterfall");
}

}  // namespace

void apply_theme(ThemeKind kind) {
  const Theme& theme = theme_of(kind);
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QApplication::setPalette(palette_of(theme));
  qApp->setStyleSheet(style_sheet(theme));
}

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow{parent}, document_{new Document{this}}, forecaster_{new Forecaster{this}} {
  qRegisterMetaType<StudyPointer>();
  qRegisterMetaType<Selection>();
  build_editor();
  build_forecast();
  build_views();
  halves_ = new QSplitter{Qt::Horizontal};
  halves_->addWidget(left_);
  auto* forecast = new QWidget;
  auto* column = new QVBoxLayout{forecast};
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(cards_);
  column->addWidget(right_, 1);
  halves_->addWidget(forecast);
  halves_->setStretchFactor(1, 1);
  halves_->setSizes({400, 880});
  halves_->setContentsMargins(8, 4, 8, 4);
  setCentralWidget(halves_);
  status_ = new QLabel;
  statusBar()->addPermanentWidget(status_);
  build_actions();
  connect_editor();
  resize(1280, 800);
  restore_layout();
}

MainWindow::~MainWindow() = default;

void MainWindow::build_editor() {
  knobs_ = new KnobPane;
  fields_ = new FieldPane;
  yaml_ = new YamlPane;
  editors_ = new QTabWidget;
  editors_->setDocumentMode(true);
  editors_->tabBar()->setDrawBase(false);
  editors_->addTab(fields_, tr("Keys"));
  editors_->addTab(yaml_, tr("YAML"));
  left_ = new QSplitter{Qt::Vertical};
  left_->addWidget(framed(knobs_));
  left_->addWidget(framed(editors_));
  left_->setStretchFactor(1, 1);
  left_->setCollapsible(0, false);
  left_->setMinimumWidth(340);
}

void MainWindow::build_forecast() {
  cards_ = new CardRow;
  advice_ = new AdvicePane;
  tabs_ = new QTabWidget;
  tabs_->setDocumentMode(true);
  tabs_->tabBar()->setDrawBase(false);
  right_ = new QSplitter{Qt::Vertical};
}

void MainWindow::build_views() {
  auto* beside = new QSplitter{Qt::Horizontal};
  for (const ViewEntry& entry : view_registry()) {
    View* view = entry.make(nullptr);
    views_.push_back(view);
    if (stands_beside_cards(QLatin1String(entry.id))) {
      beside->addWidget(framed(view));
    } else {
      const int tab = tabs_->addTab(view, QString::fromUtf8(entry.title));
      tabs_->setTabToolTip(tab, QString::fromUtf8(entry.help));
    }
    connect(view, &View::selected, this,
            [this, view](const Selection& selection) { spread(selection, view); });
    connect(view, &View::settings_wanted, this, &MainWindow::apply);
  }
  tabs_->addTab(advice_, tr("Advice"));
  right_->addWidget(beside);
  right_->addWidget(framed(tabs_));
  right_->setStretchFactor(0, 1);
  right_->setStretchFactor(1, 1);
  // Not while hidden: a tab that nobody sees draws when it is shown.
  connect(tabs_, &QTabWidget::currentChanged, this, [this] {
    if (auto* view = qobject_cast<View*>(tabs_->currentWidget()); view && study_)
      view->show_study(study_);
  });
}

void MainWindow::connect_editor() {
  connect(document_, &Document::text_changed, this, &MainWindow::text_changed);
  connect(document_, &Document::file_changed, this, &MainWindow::update_title);
  connect(&document_->undo_stack(), &QUndoStack::cleanChanged, this, &MainWindow::update_title);
  connect(yaml_, &YamlPane::typed, document_, &Document::type);
  connect(yaml_, &YamlPane::undo_wanted, &document_->undo_stack(), &QUndoStack::undo);
  connect(yaml_, &YamlPane::redo_wanted, &document_->undo_stack(), &QUndoStack::redo);
  connect(knobs_, &KnobPane::turned, this, &MainWindow::apply);
  connect(advice_, &AdvicePane::settings_wanted, this, &MainWindow::apply);
  connect(fields_, &FieldPane::edited, this, [this](const QString& path, const QString& value) {
    tell(value.isEmpty() ? document_->remove(path) : document_->set(path, value));
  });
  const auto reveal = [this](const QString& path) {
    editors_->setCurrentWidget(fields_);
    fields_->reveal(path);
  };
  connect(advice_, &AdvicePane::field_wanted, this, reveal);
  connect(forecaster_, &Forecaster::answered, this, &MainWindow::show_study);
}

void MainWindow::text_changed() {
  const std::string text = document_->text().toStdString();
  yaml_->set_text(document_->text());
  fields_->set_text(text);
  update_title();
  ask();
}

void MainWindow::ask() {
  Question question;
  question.text = document_->text().toStdString();
  question.name = document_->name().toStdString();
  question.folder = document_->folder();
  question.engine = engine_;
  cards_->set_stale(true);
  forecaster_->ask(std::move(question));
}

void MainWindow::show_study(StudyPointer study) {
  study_ = std::move(study);
  fields_->set_study(*study_);
  yaml_->set_study(*study_);
  knobs_->set_study(*study_);
  cards_->show_headlines(headlines(*study_, units_));
  cards_->set_stale(false);
  advice_->show_advice(advice_on(*study_, units_));
  const auto count = advice_->shown().size();
  tabs_->setTabText(tabs_->indexOf(advice_),
                    count == 0 ? tr("Advice") : tr("Advice (%1)").arg(count));
  for (View* view : views_)
    if (stands_beside_cards(view->id()) || tabs_->currentWidget() == view) view->show_study(study_);
  status_->setText(
      tr("forecast in %1 ms").arg(static_cast<double>(study_->took.count()) / 1000.0, 0, 'f', 1));
  Q_EMIT shown(study_);
}

void MainWindow::apply(const QStringList& settings, const QString& why) {
  tell(document_->apply(settings, why));
}

void MainWindow::tell(const QString& problem) {
  if (!problem.isEmpty()) statusBar()->showMessage(problem, 8000);
}

void MainWindow::spread(const Selection& selection, View* from) {
  for (View* view : views_)
    if (view != from) view->select(selection);
}

void MainWindow::update_title() {
  setWindowTitle(tr("%1[*] – Foretrain").arg(document_->name()));
  setWindowModified(document_->modified());
}

void MainWindow::set_theme(ThemeKind kind) {
  theme_ = kind;
  const Theme& theme = theme_of(kind);
  apply_theme(kind);
  for (View* view : views_) view->set_theme(theme);
  cards_->set_theme(theme);
  advice_->set_theme(theme);
  fields_->set_theme(theme);
  yaml_->set_theme(theme);
  if (study_) yaml_->set_study(*study_);
}

void MainWindow::set_units(const Units& units) {
  units_ = units;
  for (View* view : views_) view->set_units(units);
  if (!study_) return;
  cards_->show_headlines(headlines(*study_, units_));
  advice_->show_advice(advice_on(*study_, units_));
}

void MainWindow::set_engine(EngineKind engine) {
  if (engine == engine_) return;
  engine_ = engine;
  ask();
}

bool MainWindow::show_view(const QString& id) {
  for (View* view : views_) {
    if (view->id() != id) continue;
    if (!stands_beside_cards(id)) tabs_->setCurrentWidget(view);
    return true;
  }
  return false;
}

bool MainWindow::settled() const {
  if (forecaster_->busy() || !study_) return false;
  for (const View* view : views_)
    if (view->isVisible() && !view->settled()) return false;
  return true;
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!may_discard()) {
    event->ignore();
    return;
  }
  QSettings settings;
  settings.setValue(QStringLiteral("geometry"), saveGeometry());
  settings.setValue(QStringLiteral("halves"), halves_->saveState());
  settings.setValue(QStringLiteral("left"), left_->saveState());
  settings.setValue(QStringLiteral("right"), right_->saveState());
  settings.setValue(QStringLiteral("tab"), tabs_->currentIndex());
  settings.setValue(QStringLiteral("editor"), editors_->currentIndex());
  QMainWindow::closeEvent(event);
}

void MainWindow::restore_layout() {
  const QSettings settings;
  const auto bytes = [&](const char* key) {
    return settings.value(QLatin1String(key)).toByteArray();
  };
  restoreGeometry(bytes("geometry"));
  halves_->restoreState(bytes("halves"));
  left_->restoreState(bytes("left"));
  if (!right_->restoreState(bytes("right"))) right_->setSizes({310, 310});
  tabs_->setCurrentIndex(settings.value(QStringLiteral("tab"), 0).toInt());
  editors_->setCurrentIndex(settings.value(QStringLiteral("editor"), 0).toInt());
  units_.bytes = settings.value(QStringLiteral("decimal bytes"), false).toBool()
                     ? ByteUnits::decimal
                     : ByteUnits::binary;
  set_theme(settings.value(QStringLiteral("dark"), false).toBool() ? ThemeKind::dark
                                                                   : ThemeKind::light);
  set_units(units_);
}

}  // namespace foretrain::gui
