// SPDX-License-Identifier: Apache-2.0
#include "planner/constants/profile_compare.hpp"

#include <fmt/format.h>

#include <cmath>

#include "planner/constants/internal/profile_values.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

std::string layer_of(CatalogKind kind) {
  switch (kind) {
    case CatalogKind::stacks:
      return "stack/";
    case CatalogKind::sites:
      return "site/";
    case CatalogKind::fabrics:
      return "fabric/";
    default:
      return "device/";
  }
}

/// The shipped profile that a profile of one's own stands in for.
std::string base_of(const NamedProfile& profile) {
  for (const char* const key : {"provenance.base", "device"})
    if (const FieldValue* const value = profile.values.find(key); value && !value->text.empty())
      return layer_of(profile.kind) + value->text;
  return layer_of(profile.kind) + profile.file.name;
}

bool counts(const FieldValue& value) {
  return !value.is_default && !is_profile_bookkeeping(value.path);
}

Json word_json(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

ProfileComparison compare_profiles(const std::string& a, const std::string& b,
                                   const std::vector<std::filesystem::path>& catalogs) {
  const NamedProfile left = named_profile(a, catalogs);
  const std::string other = b.empty() ? base_of(left) : b;
  const NamedProfile right = named_profile(other, catalogs);
  if (left.kind != right.kind)
    throw UsageError(a + " is a " + std::string(entry_noun(left.kind)) + ", " + other + " a " +
                     std::string(entry_noun(right.kind)) + ": they have nothing in common");
  ProfileComparison comparison{a, other, {}};
  for (const FieldValue& value : left.values.all()) {
    if (!counts(value)) continue;
    ProfileDifference difference{value.path, value.text, "", std::nullopt};
    if (const FieldValue* const same = right.values.find(value.path); same && counts(*same)) {
      difference.b = same->text;
      if (value.number != 0.0 && same->number != 0.0)
        difference.change = same->number / value.number - 1.0;
    }
    comparison.constants.push_back(std::move(difference));
  }
  for (const FieldValue& value : right.values.all())
    if (counts(value) && !left.values.has(value.path))
      comparison.constants.push_back({value.path, "", value.text, std::nullopt});
  return comparison;
}

Answer profile_comparison_answer(const ProfileComparison& comparison, bool all) {
  constexpr double least = 5e-4;
  AnswerTable table{{words_column("constant"), number_column("A"), number_column("B"),
                     number_column("B / A - 1")}};
  std::size_t same = 0;
  for (const ProfileDifference& one : comparison.constants) {
    const bool equal = one.a == one.b || (one.change && std::abs(*one.change) < least);
    if (equal) ++same;
    if (equal && !all) continue;
    table.add({one.key, one.a.empty() ? "-" : one.a, one.b.empty() ? "-" : one.b,
               one.change ? fmt::format("{:+.1f} %", 100.0 * *one.change) : ""});
  }
  const std::size_t differ = comparison.constants.size() - same;
  Answer answer;
  answer.head.subject = comparison.a + " and " + comparison.b;
  answer.head.words = differ == 0 ? "THE SAME" : fmt::format("{} DIFFER", differ);
  answer.head.sentence = fmt::format("{} of {} constants of A, {}, and B, {}, differ.", differ,
                                     comparison.constants.size(), comparison.a, comparison.b);
  answer.add("Constants", std::move(table));
  return answer;
}

std::string profile_comparison_json(const ProfileComparison& comparison) {
  Json constants = Json::array();
  for (const ProfileDifference& one : comparison.constants)
    constants.push_back({{"key", one.key},
                         {"a", word_json(one.a)},
                         {"b", word_json(one.b)},
                         {"change", number_or_null(one.change)}});
  return dump({{"a", comparison.a}, {"b", comparison.b}, {"constants", std::move(constants)}});
}

}  // namespace foretrain
