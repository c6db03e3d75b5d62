// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/shell/shell_script.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "models/base/ranges.hpp"
#include "scenarios/imports/shell/shell_condition.hpp"
#include "scenarios/imports/shell/shell_tokens.hpp"

namespace foretrain {
namespace {

using Tokens = std::vector<ShellToken>;

/// Place of the '=' of an assignment; npos for other words.
std::size_t assignment(std::string_view word) {
  std::size_t end = 0;
  while (end < word.size() &&
         (std::isalnum(static_cast<unsigned char>(word[end])) != 0 || word[end] == '_'))
    ++end;
  const bool named = end > 0 && std::isdigit(static_cast<unsigned char>(word.front())) == 0;
  if (named && end < word.size() && word[end] == '=') return end;
  if (named && word.substr(end, 2) == "+=") return end + 1;
  return std::string_view::npos;
}

bool is_declaration(std::string_view word) {
  return word == "export" || word == "declare" || word == "local" || word == "readonly" ||
         word == "typeset" || word == "set" || word == "setenv";
}

bool is_shell(std::string_view word) {
  const auto slash = word.rfind('/');
  if (slash != std::string_view::npos) word.remove_prefix(slash + 1);
  return word == "bash" || word == "sh" || word == "zsh";
}

class Follower {
 public:
  Follower(const std::string& name, const std::map<std::string, std::string>& given,
           Diagnostics& diagnostics)
      : name_{name}, diagnostics_{diagnostics} {
    for (const auto& [variable, value] : given) {
      script_.variables.set(variable, {{value}, false});
      fixed_.insert(variable);
    }
  }

  ShellScript run(std::string_view text) {
    follow(text, 1, {});
    return std::move(script_);
  }

 private:
  void fail(int line, std::string message) {
    if (ok_)
      diagnostics_.add(Mark{std::make_shared<const std::string>(name_), line, 1}, "",
                       std::move(message));
    ok_ = false;
  }

  /// `prefix`: words that stand before every command, such as those of `srun bash -c`.
  void follow(std::string_view text, int line, std::vector<std::string> prefix) {
    if (++depth_ > ShellLimits{}.depth) return fail(line, "shells are nested too deeply");
    const std::size_t before = diagnostics_.count();
    const Tokens tokens = shell_tokens(text, name_, line, diagnostics_);
    ok_ = ok_ && diagnostics_.count() == before;
    const std::vector<std::string> outer = std::exchange(prefix_, std::move(prefix));
    std::size_t at = 0;
    while (ok_ && at < tokens.size()) at = statement(tokens, at, true);
    prefix_ = outer;
    --depth_;
  }

  static bool is_word(const Tokens& tokens, std::size_t at, std::string_view text) {
    return at < tokens.size() && tokens[at].kind == ShellToken::Kind::word &&
           tokens[at].text == text;
  }

  /// Follows the statement at `at`, or steps over it; the place behind it.
  std::size_t statement(const Tokens& tokens, std::size_t at, bool live) {
    const ShellToken& token = tokens[at];
    if (token.kind == ShellToken::Kind::separator || token.kind == ShellToken::Kind::case_end ||
        is_group(tokens, at, ")"))
      return at + 1;
    if (++depth_ > ShellLimits{}.depth) {
      fail(token.line, "conditions are nested too deeply");
      return tokens.size();
    }
    std::size_t end = 0;
    if (is_group(tokens, at, "("))
      end = block(tokens, at + 1, live, {")"}) + 1;
    else if (is_word(tokens, at, "{"))
      end = block(tokens, at + 1, live, {"}"}) + 1;
    else if (is_word(tokens, at, "if"))
      end = condition(tokens, at + 1, live);
    else if (is_word(tokens, at, "case"))
      end = choice(tokens, at + 1, live);
    else if (is_word(tokens, at, "for") || is_word(tokens, at, "while") ||
             is_word(tokens, at, "until") || is_word(tokens, at, "select"))
      end = loop(tokens, at, live);
    else if (is_function(tokens, at))
      end = function(tokens, at);
    else
      end = chain(tokens, at, live);
    --depth_;
    return end;
  }

  static bool is_group(const Tokens& tokens, std::size_t at, std::string_view text) {
    return at < tokens.size() && tokens[at].kind == ShellToken::Kind::group &&
           tokens[at].text == text;
  }
  static bool is_compound(const Tokens& tokens, std::size_t at) {
    if (is_group(tokens, at, "(")) return true;
    for (const char* word : {"{", "if", "case", "for", "while", "until", "select"})
      if (is_word(tokens, at, word)) return true;
    return false;
  }
  static bool joins(const Tokens& tokens, std::size_t at) {
    return at < tokens.size() && tokens[at].kind == ShellToken::Kind::separator &&
           (tokens[at].text == "&&" || tokens[at].text == "||");
  }

  /// Statements up to one of `ends`, whose place is returned.
  std::size_t block(const Tokens& tokens, std::size_t at, bool live,
                    const std::vector<std::string_view>& ends) {
    while (ok_ && at < tokens.size()) {
      if (tokens[at].kind != ShellToken::Kind::array && contains(ends, tokens[at].text)) return at;
      at = statement(tokens, at, live);
    }
    return at;
  }

  std::size_t condition(const Tokens& tokens, std::size_t at, bool live) {
    const int line = tokens[std::min(at, tokens.size() - 1)].line;
    bool decided_before = false;  // an earlier branch was taken
    bool doubt = false;           // an earlier branch may have been taken
    while (ok_ && at < tokens.size()) {
      const std::size_t then = block(tokens, at, false, {"then"});
      const auto holds = shell_condition(tokens, at, then, script_.variables);
      const bool taken = live && !decided_before && holds != ShellTruth::no;
      const bool unsure = taken && (doubt || holds == ShellTruth::unknown);
      at = branch(tokens, then + 1, taken, unsure, {"elif", "else", "fi"});
      decided_before = decided_before || holds == ShellTruth::yes;
      doubt = doubt || holds == ShellTruth::unknown;
      if (!is_word(tokens, at, "elif")) break;
      ++at;
    }
    if (is_word(tokens, at, "else"))
      at = branch(tokens, at + 1, live && !decided_before, doubt, {"fi"});
    if (!is_word(tokens, at, "fi")) {
      fail(line, "this 'if' has no 'fi'");
      return tokens.size();
    }
    return at + 1;
  }

  std::size_t branch(const Tokens& tokens, std::size_t at, bool taken, bool unsure,
                     const std::vector<std::string_view>& ends) {
    const bool outer = std::exchange(unsure_, unsure_ || unsure);
    at = block(tokens, at, taken, ends);
    unsure_ = outer;
    return at;
  }

  /// Patterns of one arm of a case, up to their ) or to esac.
  struct Patterns {
    bool any = false;
    bool matches = false;
    std::size_t end = 0;
  };
  Patterns patterns(const Tokens& tokens, std::size_t at, const std::string& value) {
    Patterns found;
    for (; at < tokens.size() && !is_closing(tokens[at]) && !is_word(tokens, at, "esac"); ++at) {
      if (tokens[at].kind != ShellToken::Kind::word) continue;
      found.any = true;
      found.matches =
          shell_pattern_matches(script_.variables.text(tokens[at].text), value) || found.matches;
    }
    found.end = at;
    return found;
  }
  static bool is_closing(const ShellToken& token) {
    return token.kind == ShellToken::Kind::group && token.text == ")";
  }

  /// case WORD in PATTERN | PATTERN) statements ;; esac
  std::size_t choice(const Tokens& tokens, std::size_t at, bool live) {
    const int line = tokens[std::min(at, tokens.size() - 1)].line;
    const std::string value = at < tokens.size() ? script_.variables.text(tokens[at].text) : "";
    while (at < tokens.size() && !is_word(tokens, at, "in")) ++at;
    ++at;
    bool taken_before = false;
    while (ok_ && at < tokens.size() && !is_word(tokens, at, "esac")) {
      const Patterns arm = patterns(tokens, at, value);
      at = arm.end;
      if (!arm.any || is_word(tokens, at, "esac")) break;
      const bool taken = live && arm.matches && !taken_before;
      at = branch(tokens, at + 1, taken, is_unknown(value), {";;", "esac"});
      taken_before = taken_before || (arm.matches && !is_unknown(value));
      if (at < tokens.size() && tokens[at].kind == ShellToken::Kind::case_end) ++at;
      while (at < tokens.size() && tokens[at].kind == ShellToken::Kind::separator) ++at;
    }
    if (!is_word(tokens, at, "esac")) {
      fail(line, "this 'case' has no 'esac'");
      return tokens.size();
    }
    return at + 1;
  }

  std::size_t loop(const Tokens& tokens, std::size_t at, bool live) {
    const int line = tokens[at].line;
    if (live && tokens[at].text == "for" && at + 1 < tokens.size() &&
        tokens[at + 1].kind == ShellToken::Kind::word)
      script_.variables.doubt(tokens[at + 1].text, line);
    while (at < tokens.size() && !is_word(tokens, at, "do")) ++at;
    at = branch(tokens, at + 1, live, true, {"done"});
    if (!is_word(tokens, at, "done")) {
      fail(line, "this loop has no 'done'");
      return tokens.size();
    }
    return at + 1;
  }

  static bool is_function(const Tokens& tokens, std::size_t at) {
    if (is_word(tokens, at, "function")) return true;
    return at + 2 < tokens.size() && tokens[at + 1].kind == ShellToken::Kind::group &&
           tokens[at + 1].text == "(" && tokens[at + 2].kind == ShellToken::Kind::group &&
           tokens[at + 2].text == ")";
  }

  std::size_t function(const Tokens& tokens, std::size_t at) {
    const int line = tokens[at].line;
    while (at < tokens.size() && !is_word(tokens, at, "{")) ++at;
    int level = 0;
    for (; at < tokens.size(); ++at) {
      if (is_word(tokens, at, "{")) ++level;
      if (is_word(tokens, at, "}") && --level == 0) return at + 1;
    }
    fail(line, "this function has no '}'");
    return at;
  }

  /// Commands joined by && and ||. A test tells whether the next is run; other commands count as
  /// successful.
  std::size_t chain(const Tokens& tokens, std::size_t at, bool live) {
    ShellTruth result = ShellTruth::yes;
    at = command(tokens, at, live, result);
    while (ok_ && joins(tokens, at)) {
      const bool holds = tokens[at].text == "&&";
      const bool certain = result != ShellTruth::unknown;
      const bool taken = !certain || (result == ShellTruth::yes) == holds;
      while (at < tokens.size() && tokens[at].kind == ShellToken::Kind::separator) ++at;
      if (at == tokens.size()) break;
      const bool outer = std::exchange(unsure_, unsure_ || !certain);
      ShellTruth next = ShellTruth::yes;
      at = is_compound(tokens, at) ? statement(tokens, at, live && taken)
                                   : command(tokens, at, live && taken, next);
      unsure_ = outer;
      if (taken && certain) result = next;
    }
    return at;
  }

  std::size_t command(const Tokens& tokens, std::size_t at, bool live, ShellTruth& result) {
    std::size_t end = at;
    const bool twice = is_word(tokens, at, "[[");
    while (end < tokens.size() && (twice || tokens[end].kind == ShellToken::Kind::word ||
                                   tokens[end].kind == ShellToken::Kind::array)) {
      ++end;
      if (twice && is_word(tokens, end - 1, "]]")) break;
    }
    const bool test = twice || is_word(tokens, at, "[") || is_word(tokens, at, "test");
    if (test)
      result = shell_condition(tokens, at, end, script_.variables);
    else if (live && !stopped_)
      execute(tokens, at, end);
    return std::max(end, at + 1);
  }

  void execute(const Tokens& tokens, std::size_t at, std::size_t end) {
    if (++executed_ > ShellLimits{}.commands)
      return fail(tokens[at].line, "more than 5,000 commands; too many to follow");
    if (tokens[at].text == "#SBATCH") {
      for (++at; at < end; ++at) script_.directives.push_back(tokens[at].text);
      return;
    }
    const bool declares = is_declaration(tokens[at].text);
    std::size_t first = at + (declares ? 1 : 0);
    while (first < end && assign(tokens[first])) ++first;
    if (declares) {
      for (; first < end; ++first) assign(tokens[first]);
      return;
    }
    if (first == end) return;
    ShellCommand run{{}, tokens[first].line, unsure_};
    for (; first < end; ++first)
      if (tokens[first].kind == ShellToken::Kind::word) expand(tokens[first], run.words);
    if (ok_) record(std::move(run));
  }

  void expand(const ShellToken& token, std::vector<std::string>& words) {
    std::size_t bytes = 0;
    for (std::string& field : script_.variables.fields(token.text)) {
      bytes += field.size() + 1;
      words.push_back(std::move(field));
    }
    spend(bytes, token.line);
  }

  void spend(std::size_t bytes, int line) {
    expanded_ += bytes;
    if (bytes >= ShellLimits{}.word_bytes) fail(line, "a word expands to more than 64 KiB");
    if (expanded_ > ShellLimits{}.expanded) fail(line, "the script expands to more than 16 MiB");
  }

  /// Whether the token was an assignment.
  bool assign(const ShellToken& token) {
    if (token.kind == ShellToken::Kind::array) {
      ShellVariables::Value value{{}, true};
      for (const std::string& element : token.elements)
        expand({ShellToken::Kind::word, element, {}, token.line}, value.fields);
      store(token.text, token.text.size() - 1, std::move(value), token.line);
      return true;
    }
    if (token.kind != ShellToken::Kind::word) return false;
    const std::size_t equals = assignment(token.text);
    if (equals == std::string_view::npos) return false;
    std::string text = script_.variables.text(std::string_view(token.text).substr(equals + 1));
    spend(text.size(), token.line);
    store(token.text, equals, {{std::move(text)}, false}, token.line);
    return true;
  }

  void store(const std::string& word, std::size_t equals, ShellVariables::Value value, int line) {
    const bool more = equals > 0 && word[equals - 1] == '+';
    const std::string name = word.substr(0, equals - (more ? 1 : 0));
    if (fixed_.count(name) > 0 || !ok_) return;
    if (unsure_) return script_.variables.doubt(name, line);
    if (more)
      script_.variables.append(name, value);
    else
      script_.variables.set(name, std::move(value));
  }

  /// A command that starts a shell on a text is followed into it.
  void record(ShellCommand run) {
    const int line = run.line;
    for (std::size_t i = 0; i < run.words.size(); ++i) {
      const bool evaluates = i == 0 && run.words[i] == "eval";
      const bool shell = is_shell(run.words[i]) && i + 2 < run.words.size() &&
                         run.words[i + 1].starts_with('-') && run.words[i + 1].ends_with('c');
      if (!evaluates && !shell) continue;
      std::vector<std::string> prefix = prefix_;
      prefix.insert(prefix.end(), run.words.begin(),
                    run.words.begin() + static_cast<std::ptrdiff_t>(i));
      std::string text;
      for (std::size_t j = i + (evaluates ? 1 : 2); j < run.words.size(); ++j) {
        text += run.words[j] + " ";
        if (!evaluates) break;
      }
      return follow(text, line, std::move(prefix));
    }
    if (run.words.empty()) return;
    if (run.words.front() == "exit" && !unsure_) stopped_ = true;
    run.words.insert(run.words.begin(), prefix_.begin(), prefix_.end());
    script_.commands.push_back(std::move(run));
  }

  const std::string& name_;
  Diagnostics& diagnostics_;
  ShellScript script_;
  std::set<std::string> fixed_;
  std::vector<std::string> prefix_;
  std::size_t depth_ = 0;
  std::size_t executed_ = 0;
  std::size_t expanded_ = 0;
  bool unsure_ = false;
  bool stopped_ = false;
  bool ok_ = true;
};

}  // namespace

ShellScript follow_shell_script(std::string_view text, const std::string& name,
                                const std::map<std::string, std::string>& given,
                                Diagnostics& diagnostics) {
  return Follower(name, given, diagnostics).run(text);
}

}  // namespace foretrain
