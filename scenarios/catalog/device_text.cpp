// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/device_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "models/base/require.hpp"
#include "scenarios/catalog/catalog_device.hpp"
#include "scenarios/catalog/catalog_machine.hpp"
#include "scenarios/catalog/machine_names.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

/// A chip whose datum differs from its relative's by more is a slip of units or another kind of
/// chip.
constexpr double most_apart = 32.0;

/// Text as a YAML scalar in quotes.
std::string in_yaml_quotes(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

template <class Unit>
std::string rounded_text(Unit value, Dimension dimension) {
  const Parsed<double> shown = parse_number(fmt::format("{:.6g}", value.value()));
  return format_quantity(shown.value.value_or(value.value()), dimension);
}

/// One composition.
class DeviceComposer {
 public:
  DeviceComposer(DeviceTextRequest request, const LoadOptions& options)
      : request_{std::move(request)},
        context_{options.catalogs, {}, diagnostics_, files_, values_} {}

  DeviceText compose() {
    roots_ = catalog_roots(context_.catalogs, diagnostics_);
    diagnostics_.throw_if_any();
    check_name();
    read_relative();
    if (relative_) read_host_relative();
    check_present();
    if (relative_) check_datasheet();
    refused_.throw_if_any();
    const auto peak = all_peaks();
    if (const std::string fault = peak_fault(peak); !fault.empty()) refuse("--peak", fault);
    refused_.throw_if_any();
    return {head() + datasheet(peak) + links() + server() + sources(), std::move(assumed_)};
  }

 private:
  void refuse(const std::string& option, const std::string& message) {
    refused_.add(Diagnostic{option, 0, 0, {}, message});
  }

  [[nodiscard]] std::vector<std::string> names_of(CatalogKind kind) const {
    std::vector<std::string> names;
    for (const CatalogFile& file : list_catalog_files(kind, roots_)) names.push_back(file.name);
    return names;
  }

  /// The file of an entry that an option names, or a refusal.
  std::optional<CatalogFile> named(CatalogKind kind, const std::string& option,
                                   const std::string& name) {
    if (is_entry_name(name))
      if (auto file = find_catalog_file(kind, name, roots_)) return file;
    if (auto file = find_by_alias(kind, name, roots_)) return file;
    if (std::string about = about_machine(kind, name, roots_); !about.empty()) {
      refuse(option, about);
      return std::nullopt;
    }
    const auto names = names_of(kind);
    const std::string hint = nearest_hint(name, names);
    refuse(option, fmt::format("there is no {} {}{} Known: {}", entry_noun(kind), in_quotes(name),
                               hint.empty() ? "." : hint, joined(names)));
    return std::nullopt;
  }

  void check_name() {
    if (!is_entry_name(request_.name))
      return refuse("--name",
                    in_quotes(request_.name) +
                        " is not a name for an entry; use lower-case letters, digits, - and .");
    for (const CatalogKind kind : {CatalogKind::devices, CatalogKind::hosts})
      if (find_catalog_file(kind, request_.name, roots_))
        return refuse("--name", fmt::format("there is a {} {} already; choose another name",
                                            entry_noun(kind), in_quotes(request_.name)));
  }

  void read_relative() {
    if (request_.like.empty())
      return refuse("--like", "is needed: the measured device whose kernels it is expected to run");
    const auto file = named(CatalogKind::devices, "--like", request_.like);
    if (!file) return;
    request_.like = file->name;
    relative_ = read_device_entry(*file, "", context_);
    diagnostics_.throw_if_any();
    if (!find_catalog_file(CatalogKind::device_profiles, request_.like, roots_) &&
        !device_without_profile(request_.like, context_))
      refuse("--like", "of " + in_quotes(request_.like) +
                           " there is no device profile to take rates from; be like a device that "
                           "foretrain show device-profiles lists");
  }

  void read_host_relative() {
    std::string name = request_.host;
    if (name.empty()) name = relative_->host;
    if (name.empty() && find_catalog_file(CatalogKind::hosts, request_.like, roots_))
      name = request_.like;
    if (name.empty())
      return refuse("--host-like", "is needed: " + request_.like + " has no usual host");
    const auto file = named(CatalogKind::hosts, "--host-like", name);
    if (!file) return;
    host_ = read_host(*file, "", context_);
    diagnostics_.throw_if_any();
    const int gpus = request_.gpus.value_or(host_->gpus);
    const int domain = request_.domain.value_or(
        host_->domain_hosts > 1 ? host_->domain_hosts * host_->gpus : gpus);
    if (domain < gpus || domain % gpus != 0)
      refuse("--domain", fmt::format("{} GPUs are not whole hosts of {} GPUs each; give a multiple "
                                     "of {}",
                                     domain, gpus, gpus));
    if (domain > gpus && host_->scale_up != ScaleUpKind::nvswitch)
      refuse("--domain", fmt::format("GPUs of {} are joined by {}; a domain of several hosts takes "
                                     "NVSwitch: --host-like another",
                                     host_->name, name_of(host_->scale_up)));
    if (request_.gpus && !host_->pairs.empty() && *request_.gpus != host_->gpus)
      refuse("--gpus",
             fmt::format("the links of {} join its {} GPUs two by two; --host-like a host "
                         "with NVSwitch",
                         host_->name, host_->gpus));
  }

  template <class Unit>
  void check_near(const std::string& option, const std::string& what, std::optional<Unit> value,
                  Unit relative, Dimension dimension) {
    if (!value) return;
    const double ratio = *value / relative;
    if (!(ratio > 0.0)) return refuse(option, what + " must be above zero");
    if (ratio > 1.0 / most_apart && ratio < most_apart) return;
    refuse(option, fmt::format("{} is {} {} of {}, {}: check its unit ({})",
                               rounded_text(*value, dimension),
                               ratio > 1.0 ? fmt::format("{:.3g} times the", ratio)
                                           : fmt::format("1/{:.3g} of the", 1.0 / ratio),
                               what, relative_->device.name, rounded_text(relative, dimension),
                               unit_list(dimension)));
  }

  /// All that is left out, whatever else is wrong.
  void check_present() {
    const auto needed = [this](bool said, const char* option, const char* what) {
      if (!said) refuse(option, std::string("is needed: ") + what + ", from the datasheet");
    };
    needed(request_.memory.has_value(), "--memory", "capacity");
    needed(request_.memory_bandwidth.has_value(), "--memory-bandwidth", "memory bandwidth");
    needed(request_.power_limit.has_value(), "--tdp", "board power");
    needed(request_.scale_up.has_value(), "--nvlink", "rate of scale-up links");
    needed(matrix_format(request_.peak) != nullptr, "--peak", "the dense rate in bf16 (or fp16)");
  }

  void check_datasheet() {
    const Device& like = relative_->device;
    check_near("--memory", "capacity", request_.memory, like.memory, Dimension::bytes);
    check_near("--memory-bandwidth", "memory bandwidth", request_.memory_bandwidth,
               like.memory_bandwidth, Dimension::bandwidth);
    check_near("--tdp", "board power", request_.power_limit, like.power_limit, Dimension::power);
    if (host_)
      check_near("--nvlink", "rate of scale-up links", request_.scale_up, host_->gpu_link.bandwidth,
                 Dimension::bandwidth);
    for (const auto& [precision, rate] : request_.peak) {
      const FlopPerSecond other = like.peak_of(precision);
      if (other > FlopPerSecond{})
        check_near<FlopPerSecond>("--peak", std::string(name_of(precision)) + " rate", rate, other,
                                  Dimension::flop_rate);
      else
        refuse("--peak",
               fmt::format("{} was not measured on {}, so that nothing is known of its kernels; "
                           "leave it out, or be like a device that has it",
                           name_of(precision), like.name));
    }
  }

  static const std::pair<const Precision, FlopPerSecond>* matrix_format(
      const std::map<Precision, FlopPerSecond>& peak) {
    for (const Precision precision : {Precision::bf16, Precision::fp16})
      if (const auto found = peak.find(precision); found != peak.end()) return &*found;
    return nullptr;
  }

  /// What is said, and of the relative's other formats as much more as of 16 bits.
  std::map<Precision, FlopPerSecond> all_peaks() {
    const auto& said = *matrix_format(request_.peak);
    const double ratio = said.second / relative_->device.peak_of(said.first);
    std::map<Precision, FlopPerSecond> peak = request_.peak;
    for (const auto& [precision, rate] : relative_->device.peak) {
      if (peak.count(precision) > 0) continue;
      const bool sixteen = precision == Precision::fp16 || precision == Precision::bf16;
      peak[precision] = sixteen ? said.second : rate * ratio;
      assume(fmt::format("{} at {}, as {} in proportion to {}: --peak {}=RATE says otherwise",
                         name_of(precision), rounded_text(peak[precision], Dimension::flop_rate),
                         request_.like, name_of(said.first), name_of(precision)));
    }
    return peak;
  }

  void assume(std::string sentence) { assumed_.push_back(std::move(sentence)); }

  [[nodiscard]] std::string head() const {
    return fmt::format(
        "# SPDX-License-Identifier: Apache-2.0\n"
        "# A device from its datasheet. It was not measured: constants of kernels and collectives "
        "are "
        "those of\n# {} in proportion to the datasheets, and forecasts say so.\n"
        "schema: 1\nname: {}\ntitle: {}\nlike: {}\n",
        request_.like, request_.name,
        in_yaml_quotes(request_.title.empty() ? request_.name : request_.title), request_.like);
  }

  std::string datasheet(const std::map<Precision, FlopPerSecond>& peak) {
    std::string text = fmt::format("memory: {{capacity: {}, bandwidth: {}}}\n",
                                   rounded_text(*request_.memory, Dimension::bytes),
                                   rounded_text(*request_.memory_bandwidth, Dimension::bandwidth));
    assume(fmt::format("what the driver offers of the memory: the share of {}", request_.like));
    if (request_.multiprocessors)
      text += fmt::format("multiprocessors: {}\n", *request_.multiprocessors);
    else
      assume(fmt::format("{} multiprocessors, as {}: --multiprocessors says otherwise",
                         relative_->device.multiprocessors, request_.like));
    text += fmt::format("power_limit: {}\n", rounded_text(*request_.power_limit, Dimension::power));
    std::string rates;
    for (const auto& [precision, rate] : peak)
      rates += fmt::format("{}{}: {}", rates.empty() ? "" : ", ", name_of(precision),
                           rounded_text(rate, Dimension::flop_rate));
    return text + "peak: {" + rates + "}\n";
  }

  std::string links() {
    const double ratio = *request_.scale_up / host_->gpu_link.bandwidth;
    if (ratio > 1.9 && ratio < 2.1)
      assume(
          fmt::format("--nvlink is of one direction, twice that of {}; datasheets often print "
                      "both directions together",
                      request_.like));
    return fmt::format("links:\n  scale_up: {{like: {}, bandwidth: {}}}\n", catalog_link(),
                       rounded_text(*request_.scale_up, Dimension::bandwidth));
  }

  /// The catalog's link that the relative's links are: a device may have a rate of its own.
  [[nodiscard]] std::string catalog_link() const {
    if (const FieldValue* const like = relative_->values.find("links.scale_up.like"))
      return like->text;
    return host_->gpu_link.name;
  }

  std::string server() {
    std::string text = fmt::format(
        "# Scenarios name this host as the device.\nserver:\n  like: {}\n", host_->name);
    if (request_.gpus) text += fmt::format("  gpus: {}\n", *request_.gpus);
    if (request_.domain) text += fmt::format("  scale_up: {{domain: {}}}\n", *request_.domain);
    if (request_.nics) text += fmt::format("  network: {{nics: {}}}\n", *request_.nics);
    if (!request_.gpus || !request_.nics)
      assume(fmt::format("a host like {}: {} GPUs, {} NICs {}", host_->name,
                         request_.gpus.value_or(host_->gpus), request_.nics.value_or(host_->nics),
                         host_->nic.name));
    return text;
  }

  [[nodiscard]] std::string sources() const {
    const std::string covered = request_.multiprocessors ? "memory, multiprocessors" : "memory";
    return fmt::format(
        "sources:\n  - covers: [{}, power_limit, peak, links, server]\n    cite: {}\n    date: "
        "{}\n",
        covered, in_yaml_quotes(request_.source), request_.date);
  }

  DeviceTextRequest request_;
  Diagnostics diagnostics_;  ///< of broken catalogs
  Diagnostics refused_;      ///< of options
  std::vector<SourceFile> files_;
  std::vector<ResolvedValue> values_;
  CatalogContext context_;
  std::vector<std::filesystem::path> roots_;
  std::optional<DeviceEntry> relative_;
  std::optional<Host> host_;
  std::vector<std::string> assumed_;
};

}  // namespace

DeviceText device_catalog_text(const DeviceTextRequest& request, const LoadOptions& options) {
  return DeviceComposer(request, options).compose();
}

}  // namespace foretrain
