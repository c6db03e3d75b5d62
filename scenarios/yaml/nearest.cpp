// SPDX-License-Identifier: Apache-2.0
#include "scenarios/yaml/nearest.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "models/base/ranges.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

/// Longer names than this are no misspelling of ours; the distance is quadratic.
constexpr std::size_t longest_name = 100;

std::string folded(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    c = c == '_' || c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// "llama2-70" is close to "llama2-70b", and "h100" to "h100-sxm5-80gb".
bool extends(std::string_view text, std::string_view candidate) {
  return text.size() >= 3 && candidate.size() >= 3 &&
         (candidate.substr(0, text.size()) == text ||
          text.substr(0, candidate.size()) == candidate);
}

bool is_small_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_of_number(char c) { return (c >= '0' && c <= '9') || c == '.'; }

/// The parts of a name between dashes.
std::vector<std::string_view> words_between_dashes(std::string_view name) {
  std::vector<std::string_view> words;
  for (std::size_t from = 0; from < name.size();) {
    const std::size_t end = std::min(name.find('-', from), name.size());
    words.push_back(name.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

/// Words that name a chip, such as h100, gb300 and l40s.
std::vector<std::string_view> chips_in(std::string_view name) {
  std::vector<std::string_view> chips;
  for (const std::string_view word : words_between_dashes(name)) {
    const auto number = std::find_if_not(word.begin(), word.end(), is_small_letter);
    const auto rest = std::find_if_not(number, word.end(), is_of_number);
    const auto letters = number - word.begin();
    if (letters >= 1 && letters <= 2 && rest - number >= 2 && word.end() - rest <= 1)
      chips.push_back(word);
  }
  return chips;
}

/// The numbers of a name: 3.1 and 8 of llama3.1-8b.
std::vector<std::string_view> numbers_in(std::string_view name) {
  std::vector<std::string_view> numbers;
  for (std::size_t from = 0; from < name.size(); ++from) {
    std::size_t end = from;
    while (end < name.size() && is_of_number(name[end])) ++end;
    if (end > from) numbers.push_back(name.substr(from, end - from));
    from = end;
  }
  return numbers;
}

/// 12b, 0.6b, 350m.
bool is_size(std::string_view word) {
  const auto rest = std::find_if_not(word.begin(), word.end(), is_of_number);
  return rest != word.begin() && word.end() - rest == 1 && (*rest == 'b' || *rest == 'm');
}

/// Whether one goes on where the other ends, or has the same characters in another order.
bool may_be_one_chip(std::string_view a, std::string_view b) {
  if (a.starts_with(b) || b.starts_with(a)) return true;
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end());
}

/// Other numbers are another product, no misspelling: "qwen3-9b" means neither "qwen3-4b" nor
/// "qwen3.5-9b". One name may have more of them than the other, but begins with the same.
bool has_other_numbers(std::string_view text, std::string_view candidate) {
  auto fewer = numbers_in(text);
  auto more = numbers_in(candidate);
  if (fewer.empty() || more.empty()) return false;
  if (fewer.size() > more.size()) std::swap(fewer, more);
  const auto same = [](std::string_view a, std::string_view b) {
    return a == b || (std::min(a.size(), b.size()) >= 2 && may_be_one_chip(a, b));
  };
  if (!same(fewer.front(), more.front())) return true;
  std::size_t found = 0;
  for (const std::string_view number : more)
    if (found < fewer.size() && same(fewer[found], number)) ++found;
  return found < fewer.size();
}

/// Other digits are another chip, no misspelling: "dgx-h200" does not mean "dgx-b200".
bool names_other_chip(std::string_view text, std::string_view candidate) {
  const auto wanted = chips_in(text);
  const auto has = chips_in(candidate);
  if (wanted.empty() || has.empty()) return false;
  return std::ranges::none_of(wanted, [&](std::string_view chip) {
    return std::ranges::any_of(
        has, [&](std::string_view other) { return may_be_one_chip(chip, other); });
  });
}

/// The first few names that have a chip of `text`, in quotes.
std::vector<std::string> names_with_chip(std::string_view text,
                                         const std::vector<std::string>& candidates) {
  constexpr std::size_t most_names = 5;
  if (text.size() > longest_name) return {};
  const std::string wanted = folded(text);
  const auto asked = chips_in(wanted);
  std::vector<std::string> found;
  for (const std::string& candidate : candidates) {
    const std::string name = folded(candidate);
    const auto chips = chips_in(name);
    const bool same =
        std::ranges::any_of(asked, [&](std::string_view chip) { return contains(chips, chip); });
    if (same && found.size() < most_names) found.push_back(in_quotes(candidate));
  }
  return found;
}

/// A name without its sizes and dashes, and without who published it.
std::string family_of(std::string_view name) {
  std::string family;
  for (const std::string_view word : words_between_dashes(name.substr(name.find_last_of('/') + 1)))
    if (!is_size(word)) family += word;
  return family;
}

/// The first few names that differ from `text` in their size alone, in quotes: of the longest
/// family that it begins with.
std::vector<std::string> other_sizes(std::string_view text,
                                     const std::vector<std::string>& candidates) {
  constexpr std::size_t most_names = 6;
  const std::string wanted = folded(text.substr(0, longest_name));
  const auto sized = [](const std::string& name) {
    return std::ranges::any_of(words_between_dashes(name), is_size);
  };
  std::vector<std::string> found;
  if (!sized(wanted)) return found;
  const std::string family = family_of(wanted);
  std::size_t longest = 1;
  for (const std::string& candidate : candidates) {
    const std::string name = folded(candidate);
    const std::string other = family_of(name);
    if (other.size() < longest || !sized(name) || !family.starts_with(other)) continue;
    if (other.size() > longest) found.clear();
    longest = other.size();
    if (found.size() < most_names) found.push_back(in_quotes(candidate));
  }
  return found;
}

/// How often characters occur; those that differ in their upper three bits count as one.
using Letters = std::array<int, 32>;

Letters letters_of(std::string_view text) {
  Letters letters{};
  for (const char c : text) ++letters[static_cast<unsigned char>(c) % letters.size()];
  return letters;
}

/// No distance is less: every letter that one text has too many of costs an insertion, a deletion
/// or a substitution, and swaps of neighbours change no counts.
std::size_t least_distance(const Letters& a, const Letters& b) {
  int more = 0;
  int other = 0;
  for (std::size_t c = 0; c < a.size(); ++c) {
    more += a[c] - b[c];
    other += std::abs(a[c] - b[c]);
  }
  return static_cast<std::size_t>((other + std::abs(more)) / 2);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> before(width);
  std::vector<std::size_t> last(width);
  std::vector<std::size_t> row(width);
  for (std::size_t j = 0; j < width; ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j < width; ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::optional<std::string> nearest(std::string_view text,
                                   const std::vector<std::string>& candidates) {
  if (text.empty() || text.size() > longest_name) return std::nullopt;
  const std::string wanted = folded(text);
  const Letters letters = letters_of(wanted);
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const std::string name = folded(candidate);
    if (names_other_chip(wanted, name) || has_other_numbers(wanted, name)) continue;
    const std::size_t allowed = std::max(wanted.size(), name.size()) / 3;
    const std::size_t least = least_distance(letters, letters_of(name));
    // The distance itself is quadratic: it is taken of the few names that may be near.
    if (best && least >= best_distance) continue;
    if (least > allowed && !extends(wanted, name)) continue;
    const std::size_t distance = edit_distance(wanted, name);
    if (distance > allowed && !extends(wanted, name)) continue;
    if (!best || distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best ? std::optional<std::string>{*best} : std::nullopt;
}

std::string nearest_hint(std::string_view text, const std::vector<std::string>& candidates) {
  const auto found = nearest(text, candidates);
  const auto sizes = other_sizes(text, candidates);
  const bool related = found && family_of(folded(*found)) == family_of(folded(text));
  if (found && (sizes.empty() || related)) return "; did you mean " + in_quotes(*found) + "?";
  const auto same = names_with_chip(text, candidates);
  if (!same.empty()) return "; did you mean " + joined(same) + "?";
  return sizes.empty() ? std::string{} : "; of other sizes there are " + joined(sizes) + ".";
}

}  // namespace foretrain
