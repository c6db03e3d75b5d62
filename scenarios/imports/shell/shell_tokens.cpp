// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/shell/shell_tokens.hpp"

#include <cctype>
#include <utility>

namespace foretrain {
namespace {

constexpr std::string_view directive = "#SBATCH";

bool is_blank(char c) { return c != '\n' && std::isspace(static_cast<unsigned char>(c)) != 0; }

/// Whether a word that ends here starts an array: NAME= or NAME+=.
bool opens_array(std::string_view word) {
  if (word.size() < 2 || word.back() != '=') return false;
  word.remove_suffix(word[word.size() - 2] == '+' ? 2 : 1);
  if (word.empty() || std::isdigit(static_cast<unsigned char>(word.front())) != 0) return false;
  for (const char c : word)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  return true;
}

class Tokenizer {
 public:
  Tokenizer(std::string_view text, const std::string& name, int line, Diagnostics& diagnostics)
      : text_{text},
        file_{std::make_shared<const std::string>(name)},
        line_{line},
        diagnostics_{diagnostics} {}

  std::vector<ShellToken> run() {
    while (at_ < text_.size() && ok_) step(tokens_);
    add(tokens_, ShellToken::Kind::separator, "\n");
    return std::move(tokens_);
  }

 private:
  void fail(std::string message) {
    if (ok_) diagnostics_.add(Mark{file_, line_, 1}, "", std::move(message));
    ok_ = false;
  }

  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool next_is(std::string_view what) const {
    return text_.substr(at_, what.size()) == what;
  }
  char take() {
    const char c = text_[at_++];
    if (c == '\n') ++line_;
    return c;
  }

  void add(std::vector<ShellToken>& out, ShellToken::Kind kind, std::string text) {
    if (++count_ > ShellLimits{}.tokens) return fail("more than 20,000 words; too many to read");
    out.push_back({kind, std::move(text), {}, line_});
  }

  void step(std::vector<ShellToken>& out) {
    const char c = peek();
    if (is_blank(c)) {
      ++at_;
    } else if (next_is("\\\n")) {
      take();
      take();
    } else if (c == '#') {
      comment(out);
    } else if (c == '\n') {
      add(out, ShellToken::Kind::separator, "\n");
      take();
      skip_documents();
    } else if (c == '<' || c == '>' || next_is("&>")) {
      redirection();
    } else if (next_is(";;")) {
      at_ += 2;
      add(out, ShellToken::Kind::case_end, ";;");
    } else if (c == ';' || c == '&' || c == '|') {
      separator(out);
    } else if (c == '(' || c == ')') {
      ++at_;
      add(out, ShellToken::Kind::group, std::string(1, c));
    } else {
      read_word(out);
    }
  }

  void comment(std::vector<ShellToken>& out) {
    const bool kept = next_is(directive);
    std::string rest;
    while (at_ < text_.size() && peek() != '\n') rest += take();
    if (!kept) return;
    add(out, ShellToken::Kind::separator, "\n");
    add(out, ShellToken::Kind::word, std::string(directive));
    std::string word;
    for (const char c : rest.substr(directive.size()) + ' ') {
      if (c == '#') break;
      if (!is_blank(c)) {
        word += c;
      } else if (!word.empty()) {
        add(out, ShellToken::Kind::word, std::exchange(word, {}));
      }
    }
    if (!word.empty()) add(out, ShellToken::Kind::word, word);
  }

  void separator(std::vector<ShellToken>& out) {
    std::string text(1, peek());
    ++at_;
    if (peek() == text[0] && text[0] != ';') {
      text += text[0];
      ++at_;
    } else if (text == "|" && peek() == '&') {
      ++at_;
    }
    add(out, ShellToken::Kind::separator, text);
  }

  /// `2>&1`, `> file`, `<<END`: none of it decides what is trained.
  void redirection() {
    if (next_is("<<<")) {
      at_ += 3;
    } else if (next_is("<<")) {
      at_ += 2;
      const bool tabs = peek() == '-';
      if (tabs) ++at_;
      while (is_blank(peek())) ++at_;
      std::string end;
      while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(peek())) == 0 &&
             std::string_view(";|&<>()").find(peek()) == std::string_view::npos)
        end += take();
      std::erase_if(end, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
      if (end.empty()) return fail("'<<' without the word that ends the document");
      documents_.emplace_back(end, tabs);
      return;
    } else {
      while (peek() == '<' || peek() == '>' || peek() == '&' || peek() == '|') ++at_;
    }
    while (is_blank(peek())) ++at_;
    if (peek() != '\n' && peek() != ';' && peek() != '\0') word_text();
  }

  void skip_documents() {
    for (const auto& [end, tabs] : std::exchange(documents_, {})) {
      bool found = false;
      while (at_ < text_.size() && !found) {
        std::string line;
        while (at_ < text_.size() && peek() != '\n') line += take();
        if (at_ < text_.size()) take();
        if (tabs) line.erase(0, line.find_first_not_of('\t'));
        found = line == end;
      }
      if (!found) return fail("the document of " + in_quotes("<<" + end) + " does not end");
    }
  }

  void read_word(std::vector<ShellToken>& out) {
    const int line = line_;
    const std::string word = word_text();
    if (!ok_) return;
    const char next = peek();
    const bool digits = word.find_first_not_of("0123456789") == std::string::npos;
    if (digits && (next == '<' || next == '>')) return redirection();
    if (next == '(' && opens_array(word)) {
      ++at_;
      ShellToken token{ShellToken::Kind::array, word, {}, line};
      read_elements(token.elements);
      if (ok_) out.push_back(std::move(token));
      return;
    }
    if (!word.empty()) add(out, ShellToken::Kind::word, word);
  }

  void read_elements(std::vector<std::string>& elements) {
    std::vector<ShellToken> inside;
    while (ok_) {
      if (at_ >= text_.size()) return fail("an array's '(' is not closed");
      if (peek() == ')') break;
      step(inside);
    }
    if (at_ < text_.size()) ++at_;
    for (ShellToken& token : inside)
      if (token.kind == ShellToken::Kind::word) elements.push_back(std::move(token.text));
  }

  /// A word with its quotes; quoted and bracketed parts may hold anything.
  std::string word_text() {
    const std::size_t start = at_;
    while (at_ < text_.size() && ok_) {
      const char c = peek();
      if (c == '\\') {
        if (peek(1) == '\n') break;
        take();
        if (at_ < text_.size()) take();
      } else if (c == '\'' || c == '"' || c == '`') {
        skip_quoted();
      } else if (c == '$' && (peek(1) == '(' || peek(1) == '{')) {
        take();
        skip_brackets();
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0 ||
                 std::string_view(";&|<>()").find(c) != std::string_view::npos) {
        break;
      } else {
        take();
      }
    }
    return std::string(text_.substr(start, at_ - start));
  }

  void skip_quoted() {
    const int line = line_;
    const char quote = take();
    while (at_ < text_.size() && peek() != quote) {
      if (peek() == '\\' && quote != '\'') take();
      if (at_ >= text_.size()) break;
      if (quote == '"' && peek() == '$' && (peek(1) == '(' || peek(1) == '{')) {
        take();
        skip_brackets();
      } else {
        take();
      }
    }
    if (at_ >= text_.size()) {
      line_ = line;
      return fail(std::string("the quote ") + quote + " is not closed");
    }
    take();
  }

  void skip_brackets() {
    if (++depth_ > ShellLimits{}.depth) return fail("expansions are nested too deeply");
    const int line = line_;
    const char open = take();
    const char close = open == '(' ? ')' : '}';
    int level = 1;
    while (at_ < text_.size() && ok_) {
      const char c = peek();
      if (c == '\'' || c == '"' || c == '`') {
        skip_quoted();
        continue;
      }
      if (c == '\\') take();
      if (at_ >= text_.size()) break;
      take();
      if (c == open) ++level;
      if (c == close && --level == 0) break;
    }
    if (level != 0) {
      line_ = line;
      fail(std::string("'$") + open + "' is not closed");
    }
    --depth_;
  }

  std::string_view text_;
  std::shared_ptr<const std::string> file_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::size_t count_ = 0;
  std::size_t depth_ = 0;
  bool ok_ = true;
  std::vector<std::pair<std::string, bool>> documents_;
  std::vector<ShellToken> tokens_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::vector<ShellToken> shell_tokens(std::string_view text, const std::string& name, int first_line,
                                     Diagnostics& diagnostics) {
  return Tokenizer(text, name, first_line, diagnostics).run();
}

}  // namespace foretrain
