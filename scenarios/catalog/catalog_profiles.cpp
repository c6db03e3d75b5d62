// SPDX-License-Identifier: Apache-2.0
// A new constant of a profile is a member of its struct in models/ and one line here.
#include "scenarios/catalog/catalog_profiles.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <type_traits>

#include "scenarios/catalog/internal/measurement_keys.hpp"
#include "scenarios/catalog/internal/profile_keys.hpp"

namespace foretrain {
namespace {

using profile_keys::amount;
using profile_keys::group;
using profile_keys::optional;
using profile_keys::optional_group;
using profile_keys::share;

/// Of a constant that is the same wherever it was measured: stated here alone.
Field settled(Field field, std::string everywhere) {
  field.required = false;
  field.default_text = std::move(everywhere);
  return field;
}

/// Costs between the members of a level; `ramp` and `per_step` as their keys.
template <class T>
std::vector<Bound<T>> collective_keys(const std::string& at, const std::string& help,
                                      CollectiveCost T::*member, Field per_step, Field ramp) {
  return {
      unbound<T>(group(at, help)),
      bind(amount(at + ".launch", "Fixed time of one call.", "10.6 us"), member,
           &CollectiveCost::launch),
      bind(std::move(per_step), member, &CollectiveCost::per_step),
      bind(std::move(ramp), member, &CollectiveCost::ramp),
      bind(share(at + ".share", "Share of the link rate that large messages reach.", "0.79"),
           member, &CollectiveCost::share),
  };
}

Field per_step_key(const std::string& at) {
  return amount(at + ".per_step", "Time of one step around a ring.", "5 us");
}

Field ramp_key(const std::string& at) {
  return amount(at + ".ramp", "Times the square root of the payload in bytes.", "3.8 ns");
}

template <class V>
Bound<DeviceProfile> gemm_key(Precision precision, Field field, V GemmProfile::*member) {
  const std::string at = "gemm." + std::string(name_of(precision));
  field.path = at + "." + field.path;
  return {binding::typed<V>(std::move(field)),
          [precision, member](DeviceProfile& profile, const FieldValue& value) {
            binding::assign(profile.gemm[precision].*member, value);
          },
          at};
}

/// A key of something that `find` finds in the profile.
template <class Find>
Bound<DeviceProfile> found_key(Field field, Find find) {
  using V = std::remove_reference_t<decltype(find(std::declval<DeviceProfile&>()))>;
  return {binding::typed<V>(std::move(field)),
          [find](DeviceProfile& profile, const FieldValue& value) {
            binding::assign(find(profile), value);
          }};
}

template <class Find>
void add_band_keys(const std::string& at, Find band, std::vector<Bound<DeviceProfile>>& keys) {
  keys.push_back(unbound<DeviceProfile>(
      optional_group(at, "Measured over predicted time of single kernels, alone.")));
  const auto end = [&](const char* name, const char* help, const char* example,
                       double ResidualBand::*member) {
    keys.push_back(found_key(
        optional(at + name, help, example),
        [band, member](DeviceProfile& profile) -> double& { return band(profile).*member; }));
  };
  end(".low", "10th percentile.", "0.93", &ResidualBand::low);
  end(".high", "90th percentile.", "1.12", &ResidualBand::high);
}

std::vector<Bound<DeviceProfile>> gemm_keys() {
  std::vector<Bound<DeviceProfile>> keys{
      unbound<DeviceProfile>(group("gemm", "Matrix multiplications, by number format."))};
  for (const auto& entry : EnumNames<Precision>::names) {
    const Precision precision = entry.first;
    Field own = group("gemm." + std::string(entry.second), "Left out where it was not measured.");
    own.required = false;
    keys.push_back(unbound<DeviceProfile>(std::move(own)));
    keys.push_back(gemm_key(
        precision, share("efficiency", "Share of the peak that a long full wave reaches.", "0.83"),
        &GemmProfile::efficiency));
    keys.push_back(gemm_key(
        precision, amount("ramp_k", "Depth whose cost a tile pays on top of its own.", "170"),
        &GemmProfile::ramp_k));
    keys.push_back(gemm_key(
        precision, share("tile_128", "Rate of a 128 x 128 tile against 256 x 128.", "0.87"),
        &GemmProfile::tile_128));
    keys.push_back(gemm_key(
        precision, share("sustained", "Clock in training over clock in the benchmark.", "0.87"),
        &GemmProfile::sustained));
    keys.push_back(gemm_key(precision, amount("launch", "Least time of one kernel.", "2.4 us"),
                            &GemmProfile::launch));
  }
  return keys;
}

/// One line `{base, step, share}`; `line` finds it in the profile.
template <class Find>
void add_line_keys(const std::string& at, const std::string& help, Find line,
                   std::vector<Bound<DeviceProfile>>& keys) {
  const auto key = [&](Field field, auto member) {
    using V = std::remove_reference_t<decltype(ProtocolLine{}.*member)>;
    field.path = at + "." + field.path;
    keys.push_back({binding::typed<V>(std::move(field)),
                    [line, member](DeviceProfile& profile, const FieldValue& value) {
                      binding::assign(line(profile.protocols).*member, value);
                    }});
  };
  keys.push_back(unbound<DeviceProfile>(group(at, help)));
  key(amount("base", "Fixed time.", "4.6 us"), &ProtocolLine::base);
  key(amount("step", "Per step between ranks.", "0.81 us"), &ProtocolLine::step);
  Field share = amount("share", "Share of the link rate; 0 where there is no such thing.", "0.7");
  key(std::move(share), &ProtocolLine::share);
}

std::vector<Bound<DeviceProfile>> protocol_keys() {
  struct Lines {
    std::string_view name;
    std::string_view help;
    ProtocolLines CollectiveProtocols::*lines;
  };
  constexpr std::array<Lines, 3> kinds{
      {{"gather", "Rings of all-gather and reduce-scatter.", &CollectiveProtocols::gather},
       {"all_reduce", "Rings of all-reduce.", &CollectiveProtocols::all_reduce},
       {"exchange", "All-to-all.", &CollectiveProtocols::exchange}}};
  std::vector<Bound<DeviceProfile>> keys{
      unbound<DeviceProfile>(group("protocols", "Collectives within one host, alone."))};
  for (const Lines& kind : kinds) {
    const std::string at = "protocols." + std::string(kind.name);
    keys.push_back(unbound<DeviceProfile>(group(at, std::string(kind.help))));
    for (std::size_t i = 0; i < protocol_count; ++i) {
      const std::string name(EnumNames<Protocol>::names[i].second);
      add_line_keys(
          fmt::format("{}.{}", at, name), "NCCL's protocol of that name.",
          [lines = kind.lines, i](CollectiveProtocols& protocols) -> ProtocolLine& {
            return (protocols.*lines)[i];
          },
          keys);
    }
  }
  const auto own = [&](const std::string& name, double CollectiveProtocols::*member) {
    keys.push_back(found_key(
        optional("protocols." + name + "_own",
                 "What a rank's own part costs, over as much traffic on the link.", "0.5"),
        [member](DeviceProfile& profile) -> double& { return profile.protocols.*member; }));
  };
  own("gather", &CollectiveProtocols::gather_own);
  own("all_reduce", &CollectiveProtocols::all_reduce_own);
  own("exchange", &CollectiveProtocols::exchange_own);
  add_line_keys(
      "protocols.in_switch", "All-reduce of 8 ranks in the switch (NVLS).",
      [](CollectiveProtocols& protocols) -> ProtocolLine& { return protocols.in_switch; }, keys);
  return keys;
}

std::vector<Bound<DeviceProfile>> attention_keys() {
  const auto member = &DeviceProfile::attention;
  return {
      unbound<DeviceProfile>(group("attention", "Fused (flash) attention.")),
      bind(amount("attention.rate", "Forward and backward together, causal scores counted half.",
                  "480 TFLOP/s"),
           member, &AttentionProfile::rate),
      bind(amount("attention.flash2_rate", "The same with FlashAttention-2.", "340 TFLOP/s"),
           member, &AttentionProfile::flash2_rate),
      bind(amount("attention.tiles_half", "Query tiles at which the device is half full.", "230"),
           member, &AttentionProfile::tiles_half),
      bind(share("attention.small_head", "Factor for heads up to 64 wide.", "0.9"), member,
           &AttentionProfile::small_head),
      bind(
          settled(amount("attention.eight_bit", "Rate in 8 bits over that in 16.", "1.16"), "1.17"),
          member, &AttentionProfile::eight_bit),
      // BigScience with heads of 108, fitted on A100.
      bind(settled(amount("attention.misaligned",
                          "Time of unfused attention GEMMs whose head width is not a multiple "
                          "of 8.",
                          "12"),
                   "12"),
           member, &AttentionProfile::misaligned),
      bind(share("memory_efficiency", "Share of the memory bandwidth that streaming kernels reach.",
                 "0.85"),
           &DeviceProfile::memory_efficiency),
      found_key(optional("kin_apart",
                         "How far 16-bit GEMM rates of devices with the same cores are apart (of "
                         "ln); it widens the band.",
                         "0.18"),
                [](DeviceProfile& profile) -> double& { return profile.kin_apart; }),
  };
}

std::vector<Bound<DeviceProfile>> alone_keys() {
  const std::string at = "alone.attention.";
  std::vector<Bound<DeviceProfile>> keys{
      unbound<DeviceProfile>(optional_group("alone", "Kernels run again and again by themselves.")),
      unbound<DeviceProfile>(optional_group(at.substr(0, at.size() - 1),
                                            "Fused attention; forward rates by library."))};
  keys.push_back(found_key(
      optional("alone.boost", "Duration around which a GEMM loses the boost clock of short ones.",
               "1500 us"),
      [](DeviceProfile& profile) -> Seconds& { return profile.alone.boost; }));
  keys.push_back(
      found_key(optional("alone.long_clock", "Clock of much longer ones over that.", "0.82"),
                [](DeviceProfile& profile) -> double& { return profile.alone.long_clock; }));
  const auto key = [&](Field field, auto member) {
    using V = std::remove_reference_t<decltype(AttentionKernels{}.*member)>;
    keys.push_back(found_key(std::move(field), [member](DeviceProfile& profile) -> V& {
      return profile.alone.attention.*member;
    }));
  };
  key(optional(at + "flash3", "FlashAttention-3.", "719 TFLOP/s"), &AttentionKernels::flash3);
  key(optional(at + "vendor", "cuDNN and TensorRT-LLM.", "618 TFLOP/s"), &AttentionKernels::vendor);
  key(optional(at + "flash2", "FlashAttention-2.", "400 TFLOP/s"), &AttentionKernels::flash2);
  key(optional(at + "flash2_both", "FlashAttention-2: both passes over the forward one.", "0.9"),
      &AttentionKernels::flash2_both);
  key(optional(at + "length_half", "Keys at which half of the rate is reached.", "604"),
      &AttentionKernels::length_half);
  key(optional(at + "tiles_half", "Query tiles at which half of the rate is reached.", "84"),
      &AttentionKernels::tiles_half);
  key(optional(at + "small_head", "Factor for heads up to 64 wide.", "0.7"),
      &AttentionKernels::small_head);
  const auto band = [&](const char* name, ResidualBand KernelsAlone::*member) {
    add_band_keys(
        name, [member](DeviceProfile& profile) -> ResidualBand& { return profile.alone.*member; },
        keys);
  };
  band("alone.gemm_band", &KernelsAlone::gemm_band);
  band("alone.attention_band", &KernelsAlone::attention_band);
  band("alone.memory_band", &KernelsAlone::memory_band);
  return keys;
}

const BoundTable<DeviceProfile>& device_profile_table() {
  static const BoundTable<DeviceProfile> table(
      "Device profiles",
      joined_keys<DeviceProfile>(
          {head_keys<DeviceProfile>(false),
           {unbound<DeviceProfile>(
               {.path = "device",
                .help = "Catalog device that it is of; by default the one of its own name.",
                .example = "h100-sxm5-80gb",
                .own = true})},
           provenance_keys(&DeviceProfile::provenance),
           measurement_keys<DeviceProfile>(),
           gemm_keys(),
           attention_keys(),
           alone_keys(),
           deviation_keys<DeviceProfile>(),
           collective_keys("inside", "Collectives within one host, in training.",
                           &DeviceProfile::inside, settled(per_step_key("inside"), "0 us"),
                           ramp_key("inside")),
           protocol_keys()}));
  return table;
}

/// Cooling and power settings differ by site; nobody need have measured them.
Field site_clock() {
  Field field = optional("clock", "GPU clock under load over the device profile's.", "0.97");
  field.above_min = true;
  field.max = 2;
  return field;
}

std::vector<Bound<SiteProfile>> site_keys() {
  return {
      bind(share("lone_share", "Share of the NIC rate that a group with one rank per host reaches.",
                 "0.52"),
           &SiteProfile::lone_share),
      bind(share("send_share", "Share that transfers between pipeline stages reach.", "0.7"),
           &SiteProfile::send_share),
      bind(amount("wait", "What the slowest rank adds to a collective inside a host.", "38 us"),
           &SiteProfile::wait),
      bind(site_clock(), &SiteProfile::clock),
  };
}

const BoundTable<SiteProfile>& site_table() {
  static const BoundTable<SiteProfile> table(
      "Site profiles",
      joined_keys<SiteProfile>(
          {head_keys<SiteProfile>(true), provenance_keys(&SiteProfile::provenance),
           measurement_keys<SiteProfile>(),
           collective_keys("across", "Collectives between hosts, several ranks in each.",
                           &SiteProfile::across, per_step_key("across"),
                           settled(ramp_key("across"), "0 ns")),
           site_keys(), deviation_keys<SiteProfile>()}));
  return table;
}

}  // namespace

std::optional<DeviceProfile> device_profile_of(FieldValues values, const std::string& name,
                                               const std::string& prefix, CatalogContext& context) {
  auto item = item_of(std::move(values), device_profile_table(), prefix, context);
  DeviceProfile& profile = item.value;
  profile.name = name;
  if (!profile.gemm.empty()) return std::move(profile);
  context.diagnostics.add(
      item.values.where("gemm"), "gemm",
      "needs one precision at least; keys: " + joined(device_profile_fields().child_names("gemm")));
  return std::nullopt;
}

std::optional<DeviceProfile> read_device_profile(const CatalogFile& file, const std::string& prefix,
                                                 CatalogContext& context) {
  auto values = read_catalog_file(file, device_profile_fields(), context, nullptr);
  if (!values) return std::nullopt;
  auto profile = device_profile_of(std::move(*values), file.name, prefix, context);
  if (profile && file.own) profile->provenance.own_file = file.shown;
  return profile;
}

std::optional<SiteProfile> read_site(const CatalogFile& file, const std::string& prefix,
                                     CatalogContext& context) {
  auto item = read_item(file, site_table(), prefix, context);
  if (!item) return std::nullopt;
  item->value.name = file.name;
  if (file.own) item->value.provenance.own_file = file.shown;
  return std::move(item->value);
}

const FieldTable& device_profile_fields() { return device_profile_table().fields(); }
const FieldTable& site_fields() { return site_table().fields(); }

}  // namespace foretrain
