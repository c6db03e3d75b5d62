// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/fit_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "models/base/ranges.hpp"
#include "scenarios/fields/field_reader.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {
namespace {

Field number(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .kind = FieldKind::number,
          .help = std::move(help),
          .example = std::move(example),
          .required = true,
          .min = 0,
          .above_min = true};
}

Field list(std::string path, std::string help) {
  return {
      .path = std::move(path), .kind = FieldKind::list, .help = std::move(help), .required = true};
}

Field text(std::string path, std::string help, std::string example, bool required = true) {
  return {.path = std::move(path),
          .help = std::move(help),
          .example = std::move(example),
          .required = required};
}

Field texts(std::string path, std::string help, std::string example) {
  Field field = text(std::move(path), std::move(help), std::move(example));
  field.kind = FieldKind::text_list;
  return field;
}

std::vector<Field> plan_keys() {
  std::vector<Field> fields{
      schema_field(),
      text("title", "What reports call it.", "Step times"),
      number("noise", "Standard deviation of ln(time) between runs of one configuration.", "0.04"),
      number("tail", "Errors beyond this many times the noise count linearly.", "1"),
      number("rows", "Records that one source counts for at most.", "40"),
      {.path = "grades", .kind = FieldKind::group, .help = "Weight of a record.", .required = true},
      number("grades.A", "Of confidence A.", "1"),
      number("grades.B", "Of confidence B.", "1"),
      number("grades.C", "Of confidence C.", "0.5"),
      number("grades.D", "Of confidence D.", "0.25"),
      number("band_rows", "Records that the prior of a stack's band is worth.", "5"),
      number("band_width", "Standard deviation of that prior.", "0.08"),
      {.path = "minimum",
       .kind = FieldKind::number,
       .help = "Objective that the fit to the shipped records reached, for --check; --write puts "
               "it here.",
       .example = "612.5",
       .min = 0},
      list("constants", "What is free."),
      texts("constants[].of", "Profiles that share the value.", "[stack/megatron-core]"),
      texts("constants[].keys", "Constants of those profiles.", "[times.elementwise]"),
      {.path = "constants[].joint",
       .kind = FieldKind::boolean,
       .help = "The keys share one value, too.",
       .example = "true",
       .default_text = "false"},
      text("constants[].prior", "Value expected without any record, with its unit.", "1.5", false),
      text("constants[].like", "Profile whose value is the prior.", "stack/megatron-core", false),
      text("constants[].from", "Where the prior comes from.", "nccl-tests on healthy clusters",
           false),
      number("constants[].width", "Standard deviation of ln(value / prior).", "0.3"),
      text("constants[].min", "Least value.", "0.1", false),
      text("constants[].max", "Largest value.", "10", false),
      list("parts", "Parts of a source that are also left out by themselves."),
      text("parts[].source", "Family of records.", "aa"),
      text("parts[].name", "Of the part.", "13b"),
      texts("parts[].contains", "Any of these in a record's id.", "[aa-13b-]"),
  };
  return fields;
}

class PlanReader {
 public:
  PlanReader(const FieldValues& values, RunCatalog& catalog, Diagnostics& diagnostics)
      : values_{values}, catalog_{catalog}, diagnostics_{diagnostics} {}

  FitPlan read() {
    FitPlan plan;
    plan.noise = values_.number("noise");
    plan.tail = values_.number("tail");
    plan.rows = values_.number("rows");
    for (const char* grade : {"A", "B", "C", "D"})
      plan.grades[grade] = values_.number(std::string("grades.") + grade);
    plan.band_rows = values_.number("band_rows");
    plan.band_width = values_.number("band_width");
    plan.minimum = values_.optional_number("minimum");
    for (int i = 0; i < values_.list_size("constants"); ++i)
      read_line(fmt::format("constants[{}]", i), plan);
    for (const auto& [index, path] : likes_) resolve_like(index, path, plan);
    check_circles(plan);
    for (int i = 0; i < values_.list_size("parts"); ++i) {
      const std::string at = fmt::format("parts[{}].", i);
      plan.parts.push_back({values_.text(at + "source"), values_.text(at + "name"),
                            values_.at(at + "contains").texts});
    }
    return plan;
  }

 private:
  void report(const std::string& path, std::string message) {
    diagnostics_.add(values_.where(path), path, std::move(message));
  }

  std::vector<ProfileRef> read_profiles(const std::string& path) {
    std::vector<ProfileRef> profiles;
    for (const std::string& name : values_.at(path).texts) {
      if (const auto profile = profile_ref(name))
        profiles.push_back(*profile);
      else
        report(path, in_quotes(name) + " is not of the form stack/NAME, site/NAME or device/NAME");
    }
    return profiles;
  }

  void read_line(const std::string& at, FitPlan& plan) {
    const std::vector<ProfileRef> profiles = read_profiles(at + ".of");
    if (values_.has(at + ".prior") == values_.has(at + ".like"))
      return report(at, "needs either prior or like");
    const std::vector<std::string>& keys = values_.at(at + ".keys").texts;
    bool known = !profiles.empty() && !keys.empty();
    for (const std::string& key : keys)
      for (const ProfileRef& profile : profiles) known = is_free(at, profile, key) && known;
    if (!known) return;
    if (values_.boolean(at + ".joint")) return read_constant(at, profiles, keys, plan);
    for (const std::string& key : keys) read_constant(at, profiles, {key}, plan);
  }

  bool is_free(const std::string& at, const ProfileRef& profile, const std::string& key) {
    if (!constant_of(profile, key, catalog_)) {
      report(at, profile.text() + " has no constant " + in_quotes(key));
      return false;
    }
    if (taken_.insert({profile, key}).second) return true;
    report(at, profile.text() + " " + key + " is free already");
    return false;
  }

  void read_constant(const std::string& at, const std::vector<ProfileRef>& profiles,
                     const std::vector<std::string>& keys, FitPlan& plan) {
    const std::string& key = keys.front();
    const ProfileLayer layer = profiles.front().layer;
    FitConstant constant;
    constant.keys = keys;
    constant.profiles = profiles;
    constant.width = values_.number(at + ".width");
    if (values_.has(at + ".from")) constant.from = values_.text(at + ".from");
    constant.low = 1e-15;
    constant.high = std::min(most_of(layer, key), 1e18);
    if (values_.has(at + ".prior")) constant.prior = value(at + ".prior", layer, key);
    if (values_.has(at + ".min")) constant.low = value(at + ".min", layer, key);
    if (values_.has(at + ".max")) constant.high = value(at + ".max", layer, key);
    if (constant.low >= constant.high) report(at, "min is not below max");
    if (values_.has(at + ".like")) likes_.emplace_back(plan.constants.size(), at + ".like");
    plan.constants.push_back(std::move(constant));
  }

  double value(const std::string& path, ProfileLayer layer, const std::string& key) {
    const Dimension dimension = dimension_of(layer, key);
    const std::string& written = values_.text(path);
    const Parsed<double> parsed =
        dimension == Dimension::none ? parse_number(written) : parse_quantity(written, dimension);
    if (!parsed.value) {
      report(path, parsed.error);
      return 1.0;
    }
    if (!(*parsed.value > 0.0)) report(path, "is not above 0");
    return *parsed.value;
  }

  void resolve_like(std::size_t index, const std::string& path, FitPlan& plan) {
    FitConstant& constant = plan.constants[index];
    const auto profile = profile_ref(values_.text(path));
    if (constant.from.empty()) constant.from = "like " + values_.text(path);
    const std::string& key = constant.keys.front();
    const auto fixed = profile ? constant_of(*profile, key, catalog_) : std::nullopt;
    if (!fixed) return report(path, values_.text(path) + " has no constant " + key);
    for (std::size_t i = 0; i < plan.constants.size(); ++i) {
      const FitConstant& other = plan.constants[i];
      if (!contains(other.keys, key) || !contains(other.profiles, *profile)) continue;
      if (i == index) return report(path, "is the constant itself");
      constant.like = i;
      return;
    }
    constant.prior = fixed->get();
    if (!(constant.prior > 0.0)) report(path, "the prior is not above 0");
  }

  void check_circles(const FitPlan& plan) {
    for (const auto& [index, path] : likes_) {
      std::size_t at = index;
      for (std::size_t hops = 0; plan.constants[at].like && hops <= plan.constants.size(); ++hops)
        at = *plan.constants[at].like;
      if (plan.constants[at].like) report(path, "the priors go round in a circle");
    }
  }

  const FieldValues& values_;
  RunCatalog& catalog_;
  Diagnostics& diagnostics_;
  std::set<std::pair<ProfileRef, std::string>> taken_;
  std::vector<std::pair<std::size_t, std::string>> likes_;
};

/// The keys of the file.
const FieldTable& fit_plan_fields() {
  static const FieldTable table("Fit plans", plan_keys());
  return table;
}

}  // namespace

std::string FitConstant::text() const {
  std::string names;
  for (const ProfileRef& profile : profiles) names += (names.empty() ? "" : ", ") + profile.text();
  for (const std::string& key : keys) names += (&key == &keys.front() ? " " : " and ") + key;
  return names;
}

std::vector<ProfileRef> FitPlan::profiles() const {
  std::set<ProfileRef> all;
  for (const FitConstant& constant : constants)
    all.insert(constant.profiles.begin(), constant.profiles.end());
  return {all.begin(), all.end()};
}

FitPlan without_profiles(const FitPlan& plan, const std::vector<ProfileRef>& out) {
  FitPlan kept = plan;
  kept.constants.clear();
  std::map<std::size_t, std::size_t> places;  // of what stays
  for (std::size_t i = 0; i < plan.constants.size(); ++i) {
    FitConstant constant = plan.constants[i];
    std::erase_if(constant.profiles,
                  [&out](const ProfileRef& profile) { return contains(out, profile); });
    if (constant.profiles.empty()) continue;
    places[i] = kept.constants.size();
    kept.constants.push_back(std::move(constant));
  }
  for (FitConstant& constant : kept.constants) {
    while (constant.like && places.count(*constant.like) == 0) {
      const FitConstant& gone = plan.constants[*constant.like];
      constant.prior = gone.prior;
      constant.width = std::hypot(constant.width, gone.width);
      constant.like = gone.like;
    }
    if (constant.like) constant.like = places.at(*constant.like);
  }
  return kept;
}

std::optional<FitPlan> read_fit_plan(const std::string& text, const std::string& name,
                                     RunCatalog& catalog, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.count();
  const auto root = parse_yaml(text, name, YamlLimits{}, diagnostics);
  if (!root || diagnostics.count() != before) return std::nullopt;
  const FieldValues values = read_fields(*root, fit_plan_fields(), diagnostics);
  if (diagnostics.count() != before) return std::nullopt;
  FitPlan plan = PlanReader(values, catalog, diagnostics).read();
  if (diagnostics.count() != before) return std::nullopt;
  return plan;
}

}  // namespace foretrain
