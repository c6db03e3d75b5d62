// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/yaml_pane.hpp"

#include <QKeyEvent>
#include <QPainter>
#include <QRegularExpression>
#include <QSignalBlocker>
#include <QSyntaxHighlighter>
#include <QTextBlock>
#include <QVBoxLayout>

#include <algorithm>

namespace foretrain::gui {

/// Colours keys, values and comments, line by line.
class YamlColours : public QSyntaxHighlighter {
 public:
  using QSyntaxHighlighter::QSyntaxHighlighter;

  void set_theme(const Theme& theme) {
    key_.setForeground(theme.accent);
    value_.setForeground(theme.text);
    comment_.setForeground(theme.muted);
    comment_.setFontItalic(true);
    rehighlight();
  }

 protected:
  void highlightBlock(const QString& line) override {
    static const QRegularExpression key{
        QStringLiteral(R"((?:^|[{,\s])([A-Za-z_][\w-]*)(?=:(\s|$)))")};
    static const QRegularExpression comment{QStringLiteral(R"((^|\s)#.*$)")};
    setFormat(0, static_cast<int>(line.size()), value_);
    for (auto found = key.globalMatch(line); found.hasNext();) {
      const auto match = found.next();
      setFormat(static_cast<int>(match.capturedStart(1)), static_cast<int>(match.capturedLength(1)),
                key_);
    }
    if (const auto match = comment.match(line); match.hasMatch())
      setFormat(static_cast<int>(match.capturedStart()), static_cast<int>(match.capturedLength()),
                comment_);
  }

 private:
  QTextCharFormat key_;
  QTextCharFormat value_;
  QTextCharFormat comment_;
};

YamlEdit::YamlEdit(QWidget* parent)
    : QPlainTextEdit{parent},
      theme_{&theme_of(ThemeKind::light)},
      numbers_{new QWidget{this}},
      colours_{new YamlColours{document()}} {
  setFont(mono_font());
  setUndoRedoEnabled(false);
  setLineWrapMode(QPlainTextEdit::NoWrap);
  setTabStopDistance(2.0 * fontMetrics().horizontalAdvance(QLatin1Char(' ')));
  setObjectName(QStringLiteral("yaml"));
  setAccessibleName(tr("Scenario as YAML"));
  numbers_->installEventFilter(this);
  connect(this, &QPlainTextEdit::blockCountChanged, this, &YamlEdit::lay_out);
  connect(this, &QPlainTextEdit::updateRequest, numbers_, qOverload<>(&QWidget::update));
  lay_out();
}

void YamlEdit::set_theme(const Theme& theme) {
  theme_ = &theme;
  colours_->set_theme(theme);
  numbers_->update();
}

void YamlEdit::mark(const std::vector<Diagnostic>& diagnostics) {
  QList<QTextEdit::ExtraSelection> marks;
  for (const Diagnostic& diagnostic : diagnostics) {
    const QTextBlock block = document()->findBlockByNumber(diagnostic.line - 1);
    if (diagnostic.line < 1 || !block.isValid()) continue;
    QTextEdit::ExtraSelection mark;
    mark.cursor = QTextCursor{block};
    const int column = std::clamp(diagnostic.column - 1, 0, std::max(0, block.length() - 2));
    mark.cursor.movePosition(QTextCursor::Right, QTextCursor::MoveAnchor, column);
    mark.cursor.movePosition(QTextCursor::EndOfBlock, QTextCursor::KeepAnchor);
    mark.format.setUnderlineStyle(QTextCharFormat::WaveUnderline);
    mark.format.setUnderlineColor(theme_->bad);
    marks << mark;
  }
  setExtraSelections(marks);
}

QString YamlEdit::text() const {
  // toPlainText() would make plain blanks of no-break ones.
  QString text = document()->toRawText();
  text.replace(QChar::ParagraphSeparator, QLatin1Char('\n'));
  return carriage_returns_ ? text.replace(QLatin1Char('\n'), QStringLiteral("\r\n")) : text;
}

void YamlEdit::adopt(const QString& given) {
  carriage_returns_ = false;
  const QString now = this->text();
  QString text = given;
  text.replace(QStringLiteral("\r\n"), QStringLiteral("\n"));
  carriage_returns_ = text.size() != given.size();
  if (now == text) return;
  qsizetype front = 0;
  const qsizetype least = std::min(now.size(), text.size());
  while (front < least && now[front] == text[front]) ++front;
  qsizetype back = 0;
  while (back < least - front && now[now.size() - 1 - back] == text[text.size() - 1 - back]) ++back;
  QTextCursor change{document()};
  change.setPosition(static_cast<int>(front));
  change.setPosition(static_cast<int>(now.size() - back), QTextCursor::KeepAnchor);
  change.insertText(text.mid(front, text.size() - back - front));
}

void YamlEdit::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Undo)) {
    Q_EMIT undo_wanted();
  } else if (event->matches(QKeySequence::Redo)) {
    Q_EMIT redo_wanted();
  } else if (event->key() == Qt::Key_Tab && event->modifiers() == Qt::NoModifier) {
    insertPlainText(QStringLiteral("  "));  // YAML knows no tabs
  } else {
    QPlainTextEdit::keyPressEvent(event);
  }
}

void YamlEdit::resizeEvent(QResizeEvent* event) {
  QPlainTextEdit::resizeEvent(event);
  lay_out();
}

void YamlEdit::lay_out() {
  const int digits = static_cast<int>(QString::number(blockCount()).size());
  const int width = 14 + fontMetrics().horizontalAdvance(QLatin1Char('9')) * std::max(2, digits);
  setViewportMargins(width, 0, 0, 0);
  const QRect area = contentsRect();
  numbers_->setGeometry(area.left(), area.top(), width, area.height());
}

bool YamlEdit::eventFilter(QObject* watched, QEvent* event) {
  if (watched == numbers_ && event->type() == QEvent::Paint) {
    paint_numbers();
    return true;
  }
  return QPlainTextEdit::eventFilter(watched, event);
}

void YamlEdit::paint_numbers() {
  QPainter painter{numbers_};
  painter.fillRect(numbers_->rect(), theme_->raised);
  painter.setPen(theme_->muted);
  painter.setFont(font());
  for (QTextBlock block = firstVisibleBlock(); block.isValid(); block = block.next()) {
    const QRectF box = blockBoundingGeometry(block).translated(contentOffset());
    if (box.top() > numbers_->height()) break;
    painter.drawText(QRectF{0, box.top(), numbers_->width() - 7.0, box.height()},
                     Qt::AlignRight | Qt::AlignVCenter, QString::number(block.blockNumber() + 1));
  }
}

YamlPane::YamlPane(QWidget* parent) : QWidget{parent}, editor_{new YamlEdit} {
  auto* layout = new QVBoxLayout{this};
  layout->setContentsMargins(6, 6, 6, 6);
  layout->addWidget(editor_, 1);
  connect(editor_, &QPlainTextEdit::textChanged, this, [this] { Q_EMIT typed(editor_->text()); });
  connect(editor_, &YamlEdit::undo_wanted, this, &YamlPane::undo_wanted);
  connect(editor_, &YamlEdit::redo_wanted, this, &YamlPane::redo_wanted);
}

void YamlPane::set_text(const QString& text) {
  const QSignalBlocker quiet{editor_};
  editor_->adopt(text);
}

void YamlPane::set_study(const Study& study) { editor_->mark(study.diagnostics); }

void YamlPane::go_to_line(int line) {
  const QTextBlock block = editor_->document()->findBlockByNumber(std::max(0, line - 1));
  if (!block.isValid()) return;
  editor_->setTextCursor(QTextCursor{block});
  editor_->centerCursor();
  editor_->setFocus();
}

void YamlPane::set_theme(const Theme& theme) { editor_->set_theme(theme); }

}  // namespace foretrain::gui
