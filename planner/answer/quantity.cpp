// SPDX-License-Identifier: Apache-2.0

#include "planner/answer/quantity.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

#include "planner/answer/internal/quantity_rows.hpp"
#include "planner/text/format.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

using enum ConstantSource;
using internal::at;

template <Provenance Prediction::*layer>
ValueReader error_of() {
  return read<Prediction>([](const Prediction& p) {
    const double error = (p.*layer).error;
    return error < 0.0 ? std::nullopt : std::optional(error);
  });
}

/// Profiles of the user's own that stand before the shipped ones.
std::vector<std::string> own_profiles(const Prediction& p) {
  std::vector<std::string> files;
  for (const Provenance* profile : {&p.kernels, &p.collectives, &p.stack})
    if (!profile->own_file.empty()) files.push_back(profile->own_file);
  return files;
}

template <class Size>
ValueList list_of(std::string path, Size size, bool left_out = false) {
  return {std::move(path), Reader<std::size_t>::of<Prediction>(size), left_out};
}
template <class Known>
ValueGroup group_of(std::string path, Known known) {
  return {std::move(path), Reader<bool>::of<Prediction>(known)};
}

std::vector<ValueList> lists() {
  return {list_of("reasons", [](const Prediction& p) { return p.reasons.size(); }),
          list_of("memory.stages",
                  [](const Prediction& p) { return p.memory ? p.memory->stages.size() : 0; }),
          list_of("links", [](const Prediction& p) { return p.links.size(); }),
          list_of("warnings", [](const Prediction& p) { return p.warnings.size(); }),
          list_of(
              "provenance.own_profiles", [](const Prediction& p) { return own_profiles(p).size(); },
              true)};
}

/// What a forecast lacks as a whole.
std::vector<ValueGroup> groups() {
  return {group_of("memory", [](const Prediction& p) { return p.memory.has_value(); }),
          group_of("step", [](const Prediction& p) { return p.step.has_value(); }),
          group_of("flops", [](const Prediction& p) { return p.flops.has_value(); }),
          group_of("power", [](const Prediction& p) { return p.power.has_value(); })};
}

std::vector<ValueRow> head_quantities() {
  ValueReader schema = read<Prediction>([](const Prediction&) { return "prediction/1"; });
  schema.shape.names = {"prediction/1"};
  return {{"schema", "schema", Measure::text, schema, "Name and version of this JSON format.",
           "fixed", ""},
          {"foretrain_version", "version", Measure::text,
           read<Prediction>([](const Prediction&) { return version; }),
           "Version of the program that computed the forecast.", "fixed", ""},
          {"engine", "engine", Measure::text, read<Prediction>(&Prediction::engine),
           "How the forecast was computed.", "--engine", ""},
          {"feasible", "feasible", Measure::flag, read<Prediction>(&Prediction::feasible),
           "Whether the plan can run: legal, modelled, and within memory.",
           "no rule broken, and memory.peak_bytes <= memory.usable_bytes",
           "@memory.peak_bytes @memory.usable_bytes"},
          {"reasons.*.rule", "rule", Measure::text, at<&Prediction::reasons, &Infeasible::rule>,
           "Stable name of a rule that the plan breaks.", "fixed", ""},
          {"reasons.*.key", "key", Measure::text, at<&Prediction::reasons, &Infeasible::key>,
           "Scenario key to change.", "fixed", ""},
          {"reasons.*.message", "message", Measure::text,
           at<&Prediction::reasons, &Infeasible::message>, "Why the plan cannot run.", "fixed", ""},
          {"reasons.*.remedy", "what helps", Measure::text,
           at<&Prediction::reasons, &Infeasible::remedy>, "Smallest change that helps.", "searched",
           ""}};
}

std::vector<ValueRow> tail_quantities() {
  return {
      {"links.*.name", "link", Measure::text, at<&Prediction::links, &LinkUse::name>,
       "A link of the fabric.", "--engine event", ""},
      {"links.*.bytes", "bytes", Measure::bytes, at<&Prediction::links, &LinkUse::bytes>,
       "Bytes that a link carries in a step.", "sum over the flows that cross it", ""},
      {"links.*.utilisation", "utilisation", Measure::share,
       at<&Prediction::links, &LinkUse::utilisation>,
       "Bytes over what a link could carry in a step, 0 to 1.", "bytes / (bandwidth x step)", ""},
      {"warnings.*.id", "warning", Measure::text, at<&Prediction::warnings, &Warning::id>,
       "Stable name of a warning.", "fixed", ""},
      {"warnings.*.message", "message", Measure::text, at<&Prediction::warnings, &Warning::message>,
       "What is unknown, or was computed outside its fitted range.", "fixed", ""},
      {"provenance.device.source", "source of device", Measure::text,
       at<&Prediction::device, &Provenance::source>, "What the device constants were measured on.",
       "from the device profile", "cluster.host", rests_on(device)},
      {"provenance.device.error", "error of device", Measure::share,
       error_of<&Prediction::device>(),
       "Median error of the device constants against their source.", "from the device profile",
       "cluster.host", rests_on(device)},
      {"provenance.kernels.source", "source of kernels", Measure::text,
       at<&Prediction::kernels, &Provenance::source>, "What the kernel rates were measured on.",
       "from the device profile", "cluster.host", rests_on(kernels)},
      {"provenance.kernels.error", "error of kernels", Measure::share,
       error_of<&Prediction::kernels>(), "Median error of the kernel model against its source.",
       "from the device profile", "cluster.host", rests_on(kernels)},
      {"provenance.collectives.source", "source of collectives", Measure::text,
       at<&Prediction::collectives, &Provenance::source>,
       "What the collective costs were measured on.", "from the site profile", "site",
       rests_on(collectives)},
      {"provenance.collectives.error", "error of collectives", Measure::share,
       error_of<&Prediction::collectives>(),
       "Median error of the collective model against its source.", "from the site profile", "site",
       rests_on(collectives)},
      {"provenance.stack.source", "source of stack", Measure::text,
       at<&Prediction::stack, &Provenance::source>, "What the software constants were fitted to.",
       "from the stack profile", "stack", rests_on(stack)},
      {"provenance.stack.error", "error of stack", Measure::share, error_of<&Prediction::stack>(),
       "Median error of the stack's fit against its source.", "from the stack profile", "stack",
       rests_on(stack)},
      {"provenance.software.first_year", "first year of the software", Measure::whole,
       at<&Prediction::software, &SoftwareYears::first>,
       "Year of the oldest software of the runs that the stack was fitted on; null: not known.",
       "from the records", "stack", rests_on(stack)},
      {"provenance.software.last_year", "last year of the software", Measure::whole,
       at<&Prediction::software, &SoftwareYears::last>,
       "Year of their newest software; null: not known.", "from the records", "stack",
       rests_on(stack)},
      {"provenance.software.asked_year", "asked year of the software", Measure::whole,
       at<&Prediction::software, &SoftwareYears::asked>,
       "Year of the software that the scenario asks for.", "from the scenario", "software_year"},
      {"provenance.own_profiles.*", "own profile", Measure::text,
       read<Prediction>([](const Prediction& p, std::size_t index) {
         const auto files = own_profiles(p);
         return index < files.size() ? files[index] : std::string();
       }),
       "A profile of one's own that stands before the shipped ones.", "fixed", ""}};
}

/// The index that `text` is; nothing for text that is no index.
std::optional<std::size_t> index_of(std::string_view text) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && (text.size() == 1 || text.front() != '0') ? std::optional(index) : std::nullopt;
}

/// Segment by segment; where the pattern has "*", the number at that place.
std::optional<std::size_t> fit(std::string_view pattern, std::string_view path) {
  std::size_t index = 0;
  while (true) {
    const std::size_t a = pattern.find('.');
    const std::size_t b = path.find('.');
    const std::string_view have = path.substr(0, b);
    if (pattern.substr(0, a) == "*") {
      const auto number = index_of(have);
      if (!number) return std::nullopt;
      index = *number;
    } else if (pattern.substr(0, a) != have) {
      return std::nullopt;
    }
    if ((a == pattern.npos) != (b == path.npos)) return std::nullopt;
    if (a == pattern.npos) return index;
    pattern.remove_prefix(a + 1);
    path.remove_prefix(b + 1);
  }
}

}  // namespace

std::optional<double> QuantityAt::number(const Prediction& prediction) const {
  if (!quantity->is_number()) return std::nullopt;
  const Value value = quantity->get(&prediction, index);
  const double* number = std::get_if<double>(&value);
  return number != nullptr && std::isfinite(*number) ? std::optional(*number) : std::nullopt;
}

Quantities::Quantities(std::span<const StepPart> parts) {
  for (auto& group :
       {head_quantities(), internal::memory_quantities(), internal::step_quantities(parts),
        internal::efficiency_quantities(), internal::run_quantities(), internal::cost_quantities(),
        internal::power_quantities(), tail_quantities()})
    table_.rows.insert(table_.rows.end(), group.begin(), group.end());
  table_.lists = lists();
  table_.groups = groups();
}

std::optional<QuantityAt> Quantities::find(std::string_view path) const {
  for (const ValueRow& row : table_.rows)
    if (const auto index = fit(row.path, path)) return QuantityAt{&row, *index};
  return std::nullopt;
}

std::vector<std::string> Quantities::paths(bool (*wanted)(const ValueRow&)) const {
  std::vector<std::string> result;
  for (const ValueRow& row : table_.rows) {
    if (!wanted(row)) continue;
    result.push_back(row.path);
    if (const std::size_t star = result.back().find('*'); star != std::string::npos)
      result.back().replace(star, 1, "0");
  }
  return result;
}

std::vector<std::string> Quantities::number_paths() const {
  return paths(
      [](const ValueRow& row) { return row.is_number() && !row.path.starts_with("provenance."); });
}

const Quantities& quantities() {
  static const Quantities table;
  return table;
}

namespace {

std::string number_text(Measure measure, double number) {
  switch (measure) {
    case Measure::text:
    case Measure::flag:
    case Measure::whole:
      return fmt::format("{:.0f}", number);
    case Measure::count:
    case Measure::kilograms:
      break;
    case Measure::tokens:
      return count_text(number);
    case Measure::seconds:
      return seconds_text(Seconds{number});
    case Measure::duration:
      return duration_text(Seconds{number});
    case Measure::bytes:
      return bytes_text(Bytes{number});
    case Measure::flop:
      return flop_text(Flop{number});
    case Measure::flop_rate:
      return rate_text(FlopPerSecond{number});
    case Measure::tflop_rate:
      return significant_text(number) + " TFLOP/s";
    case Measure::token_rate:
      return fixed_text(number, 0) + " tokens/s";
    case Measure::token_rate_per_gpu:
      return significant_text(number) + " tokens/s per GPU";
    case Measure::share:
      return percent_text(number);
    case Measure::dollars:
      return dollars_text(Dollars{number});
    case Measure::kwh:
      return energy_text(number * kWh);
    case Measure::watts:
      return significant_text(number / 1000.0) + " kW";
    case Measure::small_watts:
      return fixed_text(number, 0) + " W";
    case Measure::watts_per_second:
      return significant_text(number / 1000.0) + " kW/s";
  }
  return significant_text(number);
}

}  // namespace

std::string quantity_text(Measure measure, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  const double* number = std::get_if<double>(&value);
  return number == nullptr ? "unknown" : number_text(measure, *number);
}

std::string quantity_text(std::string_view path, std::optional<double> number) {
  const Measure measure = measure_of(path);
  constexpr double exact = 1e15;
  const bool whole = number && std::abs(*number) < exact && *number == std::trunc(*number);
  if (whole && measure == Measure::count && !quantities().find(path))
    return with_thousands(static_cast<std::int64_t>(*number));
  return quantity_text(measure, number ? Value{*number} : Value{});
}

std::string range_text(std::string_view path, const Banded& range) {
  const std::string low = quantity_text(path, range.low);
  if (std::isinf(range.high)) return "from " + low + ", no upper bound";
  return low + " to " + quantity_text(path, range.high);
}

Measure measure_of(std::string_view path) {
  const auto found = quantities().find(path);
  return found ? found->quantity->measure : measure_by_unit(path);
}

Dimension dimension_of(Measure measure) {
  switch (measure) {
    case Measure::seconds:
    case Measure::duration:
      return Dimension::time;
    case Measure::bytes:
      return Dimension::bytes;
    case Measure::dollars:
      return Dimension::money;
    case Measure::watts:
    case Measure::small_watts:
      return Dimension::power;
    default:
      return Dimension::count;
  }
}

}  // namespace foretrain
