// SPDX-License-Identifier: Apache-2.0

#include "planner/constants/measured_profile.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibration/imports/record_text.hpp"
#include "planner/constants/constants.hpp"
#include "planner/evidence/internal/validate_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

/// What a file says about how it came about, the same for all files of one fit.
struct Origin {
  std::string source;
  std::string driver;
  std::string date;
  std::vector<std::string> files;
  std::vector<std::string> residuals;
  double error = 0.0;
};

Origin origin_of(const MadeProfiles& made, const std::string& today) {
  Origin origin;
  std::set<std::string> tools;
  std::set<std::string> drivers;
  for (const MeasuredLog& one : made.logs) {
    tools.insert(one.log.facts.tool);
    if (!one.log.facts.driver.empty()) drivers.insert(one.log.facts.driver);
    if (!one.log.facts.library.empty()) drivers.insert(one.log.facts.library);
    origin.date = std::max(origin.date, one.log.facts.date);
    origin.files.push_back(fmt::format("{} {}",
                                       std::filesystem::path(one.log.file).filename().string(),
                                       one.sha256.substr(0, sha_digits)));
  }
  if (origin.date.empty()) origin.date = today;
  origin.source = "measured with " + joined({tools.begin(), tools.end()});
  origin.driver = joined({drivers.begin(), drivers.end()});
  double count = 0.0;
  for (const FitResiduals& one : made.fit.residuals) {
    const FitErrors& errors = one.errors;
    origin.residuals.push_back(
        fmt::format("{}: {} records, mean {:.1f} %, median {:.1f} %, P90 {:.1f} %, bias {:+.1f} %",
                    one.what, errors.count, 100.0 * errors.mape, 100.0 * errors.median,
                    100.0 * errors.p90, 100.0 * errors.bias));
    origin.error += errors.median * errors.count;
    count += errors.count;
  }
  origin.error = count > 0.0 ? std::min(1.0, origin.error / count) : 0.0;
  return origin;
}

void put_provenance(const ProfileRequest& request, const MadeProfiles& made, const Origin& origin,
                    const std::string& base, YamlText& text) {
  text.put("provenance.trust", "measured");
  text.put("provenance.source", YamlText::quoted(origin.source));
  text.put("provenance.date", origin.date);
  text.put("provenance.error", fmt::format("{:.4f}", origin.error));
  if (!origin.driver.empty()) text.put("provenance.driver", YamlText::quoted(origin.driver));
  text.put("provenance.base", YamlText::quoted(base));
  text.put("provenance.files", YamlText::quoted_list(origin.files, 1));
  text.put("provenance.hold_out", std::to_string(request.fit.hold_out));
  text.put("provenance.residuals", YamlText::quoted_list(origin.residuals, 1));
  text.put("provenance.verdict", YamlText::quoted_list(made.fit.verdict, 1));
}

/// Values that a fit gives for one layer, by key.
std::map<std::string, std::string> values_of(const MeasuredFit& fit, const std::string& layer) {
  std::map<std::string, std::string> values;
  for (const FittedValue& value : fit.values)
    if (value.profile.starts_with(layer)) values[value.key] = value.text;
  return values;
}

/// What follows from the measured values: 16-bit formats run at one rate, and what a new precision
/// or the newest attention kernels lack.
void complete_device(const FieldValues& base, std::map<std::string, std::string>& values,
                     std::map<std::string, std::string>& comments) {
  for (const auto& [key, text] : std::map<std::string, std::string>(values))
    if (key.starts_with("gemm.bf16.") && !values.contains("gemm.fp16." + key.substr(10))) {
      values["gemm.fp16." + key.substr(10)] = text;
      comments["gemm.fp16." + key.substr(10)] = "as in bf16";
    }
  for (const std::string_view precision : all_names<Precision>()) {
    const std::string at = fmt::format("gemm.{}.", precision);
    const std::string sustained = at + "sustained";
    const auto efficiency = values.find(at + "efficiency");
    if (efficiency == values.end() || values.contains(sustained)) continue;
    // A burst's rate with another source's clock would be nobody's: training keeps the base's rate.
    const std::string like = base.has(sustained) ? at : "gemm.bf16.";
    const double rate = base.has(like + "sustained")
                            ? base.number(like + "efficiency") * base.number(like + "sustained")
                            : 0.0;
    const double own = number_in(efficiency->second).value_or(0.0);
    const double share = rate > 0.0 && own > 0.0 ? std::min(1.0, rate / own) : 1.0;
    values[sustained] = fmt::format("{:.3g}", share);
    comments[sustained] =
        rate > 0.0 ? "not measured: training at the rate of the base" : "not measured";
  }
  const std::string flash2 = "attention.flash2_rate";
  const auto measured = values.find(flash2);
  if (measured == values.end() || base.number(flash2) <= 0.0) return;
  const auto rate = number_in(measured->second.substr(0, measured->second.find(' ')));
  const double scale = rate.value_or(0.0) * 1e12 / base.number(flash2);
  values["attention.rate"] =
      fmt::format("{:.4g} TFLOP/s", base.number("attention.rate") * scale / 1e12);
  comments["attention.rate"] = "not measured: scaled with flash2_rate";
}

void add_constants(const std::string& layer, const FieldValues& base,
                   const std::map<std::string, std::string>& values, MadeProfiles& made) {
  for (const auto& [key, text] : values) {
    MeasuredConstant constant{layer, key, "", text, std::nullopt};
    if (const FieldValue* const before = base.find(key)) {
      constant.base = before->text;
      for (const FittedValue& value : made.fit.values)
        if (value.key == key && value.profile.starts_with(layer) && before->number != 0.0)
          constant.change = value.value / before->number - 1.0;
    }
    made.constants.push_back(std::move(constant));
  }
}

/// The base's values with the measured ones in their places; groups that nothing measured are
/// listed.
/// @return the groups
std::vector<std::string> put_values(const FieldValues& base,
                                    const std::map<std::string, std::string>& values,
                                    const std::map<std::string, std::string>& comments,
                                    const std::string& from, YamlText& text) {
  std::set<std::string> groups;
  for (const FieldValue& value : base.all()) {
    if (value.is_default || is_profile_bookkeeping(value.path)) continue;
    const auto measured = values.find(value.path);
    if (measured != values.end()) {
      const auto comment = comments.find(value.path);
      text.put(value.path, measured->second, comment == comments.end() ? "" : comment->second);
      continue;
    }
    text.put(value.path, value.text, "from " + from);
    groups.insert(value.path);
  }
  for (const auto& [key, measured] : values)
    if (!text.has(key)) {
      const auto comment = comments.find(key);
      text.put(key, measured, comment == comments.end() ? "" : comment->second);
    }
  return {groups.begin(), groups.end()};
}

MadeProfile device_file(const ProfileRequest& request, const Origin& origin, MadeProfiles& made) {
  const std::string& device = request.fit.device;
  const FieldValues base = profile_values(CatalogKind::device_profiles, device, request.catalogs);
  auto values = values_of(made.fit, "device/");
  std::map<std::string, std::string> comments;
  if (!values.empty()) complete_device(base, values, comments);
  add_constants("device", base, values, made);
  YamlText text;
  text.put("schema", "1");
  text.put("name", request.name);
  text.put("device", device);
  put_provenance(request, made, origin, device, text);
  YamlText body;
  made.inherited = put_values(base, values, comments, device, body);
  text.put("provenance.inherited", YamlText::quoted_list(made.inherited, 1));
  return {"", text.text() + body.text()};
}

MadeProfile site_file(const ProfileRequest& request, const Origin& origin, MadeProfiles& made) {
  const FieldValues base = profile_values(CatalogKind::sites, "default", request.catalogs);
  const auto values = values_of(made.fit, "site/");
  add_constants("site", base, values, made);
  YamlText text;
  text.put("schema", "1");
  text.put("name", request.name + "-site");
  text.put("title", YamlText::quoted("Cluster of " + request.name));
  put_provenance(request, made, origin, "default", text);
  YamlText body;
  const std::vector<std::string> inherited = put_values(base, values, {}, "the site default", body);
  text.put("provenance.inherited", YamlText::quoted_list(inherited, 1));
  return {"-site", text.text() + body.text()};
}

MadeProfile fabric_file(const ProfileRequest& request, const Origin& origin, MadeProfiles& made) {
  const std::string& fabric = request.fit.fabric;
  const FieldValues base = profile_values(CatalogKind::fabrics, fabric, request.catalogs);
  const auto values = values_of(made.fit, "fabric/");
  add_constants("fabric", base, values, made);
  YamlText text;
  text.put("schema", "1");
  text.put("name", request.name + "-fabric");
  text.put("title", YamlText::quoted(base.text("title") + ", measured as " + request.name));
  YamlText body;
  const std::vector<std::string> inherited = put_values(base, values, {}, fabric, body);
  std::string covers;
  for (const std::string& key : inherited) covers += (covers.empty() ? "" : ", ") + key;
  std::string sources = "sources:\n";
  if (!covers.empty())
    sources += fmt::format("  - covers: [{}]\n    cite: {}\n    date: {}\n", covers,
                           YamlText::quoted("the catalog's preset " + fabric), origin.date);
  sources +=
      fmt::format("  - covers: [protocols]\n    cite: {}\n    date: {}\n",
                  YamlText::quoted(origin.source + "; " + joined(origin.files)), origin.date);
  return {"-fabric", text.text() + body.text() + sources};
}

void check_request(const ProfileRequest& request, const RunCatalog& catalog) {
  const auto known = [](const auto& entries, const std::string& name, const char* what) {
    if (entries.contains(name)) return;
    std::vector<std::string> names;
    for (const auto& [each, entry] : entries) names.push_back(each);
    throw UsageError(fmt::format("there is no {} {} (known: {}){}", what, in_quotes(name),
                                 joined(names), nearest_hint(name, names)));
  };
  known(catalog.device_profiles, request.fit.device, "device with a profile");
  if (!request.fit.fabric.empty()) known(catalog.fabrics, request.fit.fabric, "fabric preset");
  if (!is_entry_name(request.name))
    throw UsageError("a profile cannot be called " + in_quotes(request.name) +
                     ": lower-case letters, digits, '.', '-' and '_'");
}

/// Logs of another device would make a profile that nobody asked for.
void check_devices(const std::vector<MeasuredLog>& logs, const std::string& device) {
  Diagnostics diagnostics;
  for (const MeasuredLog& one : logs) {
    const ImportedLog& log = one.log;
    const std::string& found = log.facts.device.empty() ? log.facts.gpu : log.facts.device;
    if (!found.empty() && found != device)
      report(log.file, 0,
             "the log is of " + in_quotes(found) + ", but --device is " + in_quotes(device),
             diagnostics);
    for (const SweepRecord& record : log.sweeps)
      if (device_of_product(record.gpu) != device && record.gpu != device) {
        report(log.file, 0,
               "the collectives of " + in_quotes(record.sweep) + " ran on " +
                   in_quotes(record.gpu) + ", but --device is " + in_quotes(device),
               diagnostics);
        break;
      }
  }
  diagnostics.throw_if_any();
}

}  // namespace

MadeProfiles make_profiles(const ProfileRequest& request) {
  const RunCatalog catalog = load_run_catalog(request.catalogs);
  check_request(request, catalog);
  MadeProfiles made;
  made.logs = read_logs(request.logs);
  check_devices(made.logs, request.fit.device);
  std::vector<ImportedLog> logs;
  for (const MeasuredLog& one : made.logs) logs.push_back(one.log);
  made.fit = fit_measured(logs, request.fit, catalog);
  if (made.fit.values.empty())
    throw UsageError("nothing could be fitted: " + made.fit.verdict.front());
  const Origin origin = origin_of(made, request.today);
  made.files.push_back(device_file(request, origin, made));
  if (!values_of(made.fit, "fabric/").empty())
    made.files.push_back(fabric_file(request, origin, made));
  if (!values_of(made.fit, "site/").empty()) made.files.push_back(site_file(request, origin, made));
  return made;
}

namespace {

std::string change_of(const MeasuredConstant& constant) {
  return constant.change ? fmt::format("{:+.1f} %", 100.0 * *constant.change) : "";
}

}  // namespace

Answer made_profiles_answer(const MadeProfiles& made) {
  Answer answer;
  AnswerHead& head = answer.head;
  head.subject = "Profiles from measurements alone";
  head.words = fmt::format("{} CONSTANTS MEASURED", made.constants.size());
  head.sentence = fmt::format(
      "{} constants were measured; {} groups were not and come from the shipped profile.",
      made.constants.size(), made.inherited.size());
  AnswerTable errors{{words_column("measured"), number_column("records")}};
  add_error_columns(errors.columns);
  for (const FitResiduals& one : made.fit.residuals)
    errors.add({one.what, std::to_string(one.errors.count), percent_figure(one.errors.bias, 1),
                percent_figure(one.errors.mape, 1), percent_figure(one.errors.median, 1),
                percent_figure(one.errors.p90, 1)});
  AnswerTable constants{{words_column("constant"), number_column("measured"),
                         number_column("shipped"), number_column("change")}};
  for (const MeasuredConstant& one : made.constants)
    constants.add(
        {one.profile + " " + one.key, one.text, one.base.empty() ? "-" : one.base, change_of(one)});
  answer.add("What it says", AnswerList{made.fit.verdict});
  answer.add({"Errors of the fit, percent",
              {std::move(errors),
               AnswerLine{made.fit.held_out == 0
                              ? ""
                              : fmt::format("{} records are held out for calibrate check.",
                                            made.fit.held_out)}}});
  answer.add("Constants, measured and of the shipped profile", std::move(constants));
  return answer;
}

std::string made_profiles_json(const MadeProfiles& made) {
  Json constants = Json::array();
  for (const MeasuredConstant& one : made.constants)
    constants.push_back({{"profile", one.profile},
                         {"key", one.key},
                         {"measured", one.text},
                         {"base", one.base.empty() ? Json(nullptr) : Json(one.base)},
                         {"change", number_or_null(one.change)}});
  Json residuals = Json::array();
  for (const FitResiduals& one : made.fit.residuals)
    residuals.push_back({{"what", one.what},
                         {"count", one.errors.count},
                         {"mape", one.errors.mape},
                         {"median", one.errors.median},
                         {"p90", one.errors.p90},
                         {"bias", one.errors.bias}});
  Json outliers = Json::array();
  for (const FitOutlier& one : made.fit.outliers)
    outliers.push_back({{"what", one.what}, {"error", one.error}});
  return dump({{"verdict", made.fit.verdict},
               {"residuals", std::move(residuals)},
               {"constants", std::move(constants)},
               {"outliers", std::move(outliers)},
               {"held_out", made.fit.held_out},
               {"inherited", made.inherited}});
}

}  // namespace foretrain
