// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/internal/device_proportion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "scenarios/catalog/catalog_device.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"
#include "scenarios/catalog/catalog_read.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

double matrix_rate(const Device& device) {
  const FlopPerSecond bf16 = device.peak_of(Precision::bf16);
  return (bf16 > FlopPerSecond{} ? bf16 : device.peak_of(Precision::fp16)).value();
}

double multiprocessors(const Device& device) { return device.multiprocessors; }

/// What lasts of the matrix rate grows with the rate where power does not limit it, and with power
/// where it does; which of them a datasheet does not say, so with both alike.
double lasting_rate(const Device& device) {
  return std::sqrt(matrix_rate(device) * device.power_limit.value());
}

double lasting_share(const Device& device) { return lasting_rate(device) / matrix_rate(device); }

/// From there to a rate that power alone, or the peak alone, decides (of ln).
double power_in_doubt(const Device& from, const Device& to) {
  return std::abs(std::log(lasting_share(to) / lasting_share(from)));
}

/// Constants of a profile that grow with a datum of the datasheet. The others are shares of a
/// datasheet's rate, or times that do not depend on one.
struct Proportional {
  std::string key;
  double (*datum)(const Device&);
  std::string_view name;
  std::function<void(DeviceProfile&, double)> scale;
  double most = std::numeric_limits<double>::infinity();  ///< of the value

  [[nodiscard]] double ratio(const Device& from, const Device& to) const {
    return datum(to) / datum(from);
  }
};

template <class Value>
Proportional lasting(const char* key, Value AttentionKernels::*member) {
  return {key, lasting_rate, "peak and power", [member](DeviceProfile& profile, double ratio) {
            profile.alone.attention.*member *= ratio;
          }};
}

std::vector<Proportional> proportional_constants() {
  std::vector<Proportional> lines{
      {"attention.rate", lasting_rate, "peak and power",
       [](DeviceProfile& profile, double ratio) { profile.attention.rate *= ratio; }},
      {"attention.flash2_rate", lasting_rate, "peak and power",
       [](DeviceProfile& profile, double ratio) { profile.attention.flash2_rate *= ratio; }},
      {"attention.tiles_half", multiprocessors, "multiprocessors",
       [](DeviceProfile& profile, double ratio) { profile.attention.tiles_half *= ratio; }},
      {"alone.attention.tiles_half", multiprocessors, "multiprocessors",
       [](DeviceProfile& profile, double ratio) { profile.alone.attention.tiles_half *= ratio; }},
      lasting("alone.attention.flash3", &AttentionKernels::flash3),
      lasting("alone.attention.vendor", &AttentionKernels::vendor),
      lasting("alone.attention.flash2", &AttentionKernels::flash2),
      {"alone.long_clock", lasting_share, "power per peak",
       [](DeviceProfile& profile, double ratio) {
         profile.alone.long_clock = std::min(1.0, profile.alone.long_clock * ratio);
       },
       1.0}};
  for (const auto& entry : EnumNames<Precision>::names) {
    const Precision precision = entry.first;
    lines.push_back({"gemm." + std::string(entry.second) + ".sustained", lasting_share,
                     "power per peak",
                     [precision](DeviceProfile& profile, double ratio) {
                       const auto found = profile.gemm.find(precision);
                       if (found == profile.gemm.end()) return;
                       double& share = found->second.sustained;
                       share = std::min(1.0, share * ratio);
                     },
                     1.0});
  }
  return lines;
}

const std::vector<Proportional>& proportional() {
  static const std::vector<Proportional> lines = proportional_constants();
  return lines;
}

/// Takes the constants of matrix products away in formats that the device does not have, and what
/// the profile's file says of itself.
void keep_what_applies(FieldValues& values, const Device& device) {
  std::vector<std::string> gone;
  for (const FieldValue& value : values.all()) {
    if (value.path.starts_with("provenance.") || value.path == "deviations" ||
        value.path == "device" || value.path == "title" || value.path == like_key)
      gone.push_back(value.path);
    for (const auto& [precision, name] : EnumNames<Precision>::names)
      if (value.path.starts_with("gemm." + std::string(name) + ".") &&
          !(device.peak_of(precision) > FlopPerSecond{}))
        gone.push_back(value.path);
  }
  for (const std::string& path : gone) values.erase(path);
}

void put_text(FieldValues& values, const std::string& path, const std::string& text,
              const Mark& mark) {
  FieldValue value;
  value.field = device_profile_table().fields().find(path);
  value.path = path;
  value.text = text;
  value.mark = mark;
  values.put(std::move(value));
}

std::string proportion_source(const std::string& relative) {
  return fmt::format("nothing measured; as {}, in proportion to the datasheets", relative);
}

/// A format that the relative was not measured in needs all of its constants.
void require_whole_formats(const FieldValues& said, const FieldValues& values,
                           Diagnostics& diagnostics) {
  for (const auto& [precision, name] : EnumNames<Precision>::names) {
    const std::string group = "gemm." + std::string(name);
    if (!said.has_group(group)) continue;
    for (const Field* const field : device_profile_table().fields().children(group))
      if (field->required && !values.has(field->path))
        diagnostics.add(said.where(group), "profile." + field->path,
                        fmt::format("required key is missing; write for example {}: {}",
                                    leaf_name(field->path), field->example));
  }
}

std::optional<FieldValues> values_in_proportion(const CatalogFile& file, CatalogContext& context);

/// Measured, or in proportion in its turn.
std::optional<FieldValues> relative_values(const CatalogFile& relative, const FieldValue& like,
                                           CatalogContext& context) {
  const auto roots = catalog_roots(context.catalogs, context.diagnostics);
  if (const auto measured = find_catalog_file(CatalogKind::device_profiles, relative.name, roots))
    return read_catalog_file(*measured, device_profile_table().fields(), context, nullptr);
  const auto entry = read_device_entry(relative, "", context);
  if (!entry) return std::nullopt;
  if (entry->relative) return values_in_proportion(relative, context);
  context.diagnostics.add(
      like.mark, like_key,
      fmt::format("of {} there is no device profile to take rates from; be like "
                  "a device that foretrain show device-profiles lists",
                  in_quotes(relative.name)));
  return std::nullopt;
}

std::optional<FieldValues> values_in_proportion(const CatalogFile& file, CatalogContext& context) {
  const auto entry = read_device_entry(file, "", context);
  if (!entry || !entry->relative) return std::nullopt;
  const FieldValue& like = entry->values.at(like_key);
  const auto other = read_device_entry(*entry->relative, "", context);
  auto values = relative_values(*entry->relative, like, context);
  if (!other || !values) return std::nullopt;
  for (const Proportional& line : proportional()) {
    const FieldValue* const value = values->find(line.key);
    if (value == nullptr) continue;
    const double ratio =
        std::min(line.ratio(other->device, entry->device), line.most / value->number);
    if (ratio != 1.0) values->put(in_proportion(*value, ratio, line.name));
  }
  keep_what_applies(*values, entry->device);
  const auto sources = provenance_of_sources(entry->values, Trust::extrapolated);
  put_text(*values, "provenance.trust", std::string(name_of(Trust::extrapolated)), like.mark);
  put_text(*values, "provenance.source", proportion_source(like.text), like.mark);
  put_text(*values, "provenance.date",
           sources.date.empty() ? other->device.provenance.date : sources.date, like.mark);
  put_text(*values, "name", file.name, like.mark);
  if (const FieldValue* const own = entry->values.find("profile")) {
    const std::size_t before = context.diagnostics.count();
    const FieldValues said = read_fields(own->node, device_profile_table().fields(),
                                         context.diagnostics, Document::partial);
    for (const FieldValue& value : said.all())
      if (!value.is_default) values->put(value);
    require_whole_formats(said, *values, context.diagnostics);
    if (context.diagnostics.count() != before) return std::nullopt;
  }
  return values;
}

/// DeviceProfile::apart over all relatives up to the one that was measured.
double apart_of(const CatalogFile& file, CatalogContext& context) {
  double apart = 0.0;
  auto entry = read_device_entry(file, "", context);
  while (entry && entry->relative) {
    const auto roots = catalog_roots(context.catalogs, context.diagnostics);
    const std::string name = entry->relative->name;
    const auto other = read_device_entry(*entry->relative, "", context);
    if (!other) break;
    apart += power_in_doubt(other->device, entry->device);
    if (find_catalog_file(CatalogKind::device_profiles, name, roots)) break;
    entry = other;
  }
  return apart;
}

}  // namespace

FieldValue in_proportion(FieldValue value, double ratio, std::string_view datum) {
  const std::string origin =
      fmt::format("derived: {} x {:.4g} ({} of the datasheets)", value.origin(), ratio, datum);
  value.number *= ratio;
  const Parsed<double> rounded = parse_number(fmt::format("{:.4g}", value.number));
  const double shown = rounded.value.value_or(value.number);
  value.text = value.field->kind == FieldKind::quantity
                   ? format_quantity(shown, value.field->dimension)
                   : format_number(shown);
  value.mark = {std::make_shared<const std::string>(origin), 0, 0};
  return value;
}

DeviceProfile profile_in_proportion(DeviceProfile relative, const Device& from, const Device& to) {
  for (const Proportional& line : proportional()) line.scale(relative, line.ratio(from, to));
  relative.apart += power_in_doubt(from, to);
  std::erase_if(relative.gemm, [&to](const auto& format) {
    return !(to.peak_of(format.first) > FlopPerSecond{});
  });
  relative.name = to.name;
  relative.provenance = {Trust::extrapolated, proportion_source(from.name), to.provenance.date};
  return relative;
}

std::optional<CatalogFile> device_without_profile(const std::string& name,
                                                  CatalogContext& context) {
  Diagnostics unheard;  // whoever asks for the profile hears of broken catalogs
  const auto roots = catalog_roots(context.catalogs, unheard);
  if (!unheard.empty() || !is_entry_name(name) ||
      find_catalog_file(CatalogKind::device_profiles, name, roots))
    return std::nullopt;
  const auto device = find_catalog_file(CatalogKind::devices, name, roots);
  if (!device) return std::nullopt;
  CatalogContext quiet{context.catalogs, context.folder, unheard,
                       context.files,    context.values, context.root};
  const auto values =
      read_catalog_file(*device, catalog_fields(CatalogKind::devices), quiet, nullptr);
  return values && values->has(like_key) ? device : std::nullopt;
}

std::optional<DeviceProfile> read_profile_in_proportion(const CatalogFile& device,
                                                        const std::string& prefix,
                                                        CatalogContext& context) {
  const auto values = values_in_proportion(device, context);
  if (!values) return std::nullopt;
  auto profile = device_profile_of(*values, device.name, prefix, context);
  if (profile && profile->provenance.trust == Trust::extrapolated)
    profile->apart = apart_of(device, context);
  return profile;
}

}  // namespace foretrain
