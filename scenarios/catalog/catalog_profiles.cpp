// SPDX-License-Identifier: Apache-2.0
// A new constant of a profile is a member of its struct in models/ and one line here.
#include "scenarios/catalog/catalog_profiles.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <type_traits>

#include "scenarios/catalog/internal/profile_keys.hpp"

namespace foretrain {
namespace {

using keys::bind;
using keys::fitted;
using keys::unbound;
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

/// Costs between the members of a level; `ramp` and `per_step` as their keys. Fits move those that
/// are not settled.
template <class T>
KeyRows collective_keys(const std::string& at, const std::string& help, CollectiveCost T::*member,
                        Field per_step, Field ramp) {
  const auto cost = [member](Field field, auto CollectiveCost::*part) {
    KeyRow row = bind(std::move(field), member, part);
    row.fitted = row.field.required;
    return row;
  };
  return {
      unbound(group(at, help)),
      cost(amount(at + ".launch", "Fixed time of one call.", "10.6 us"), &CollectiveCost::launch),
      cost(std::move(per_step), &CollectiveCost::per_step),
      cost(std::move(ramp), &CollectiveCost::ramp),
      cost(share(at + ".share", "Share of the link rate that large messages reach.", "0.79"),
           &CollectiveCost::share),
  };
}

Field per_step_key(const std::string& at) {
  return amount(at + ".per_step", "Time of one step around a ring.", "5 us");
}

Field ramp_key(const std::string& at) {
  return amount(at + ".ramp", "Times the square root of the payload in bytes.", "3.8 ns");
}

void add_band_keys(const std::string& at, ResidualBand KernelsAlone::*band, KeyRows& keys) {
  keys.push_back(
      unbound(optional_group(at, "Measured over predicted time of single kernels, alone.")));
  keys.push_back(bind(optional(at + ".low", "10th percentile.", "0.93"), &DeviceProfile::alone,
                      band, &ResidualBand::low));
  keys.push_back(bind(optional(at + ".high", "90th percentile.", "1.12"), &DeviceProfile::alone,
                      band, &ResidualBand::high));
}

KeyRows gemm_keys() {
  KeyRows keys{unbound(group("gemm", "Matrix multiplications, by number format."))};
  for (const auto& [precision, name] : EnumNames<Precision>::names) {
    const std::string at = "gemm." + std::string(name);
    const auto add = [&, format = precision](Field field, auto member) {
      keys.push_back(bind(std::move(field), &DeviceProfile::gemm, format, member));
    };
    keys.push_back(unbound(optional_group(at, "Left out where it was not measured.")));
    add(share(at + ".efficiency", "Share of the peak that a long full wave reaches.", "0.83"),
        &GemmProfile::efficiency);
    add(amount(at + ".ramp_k", "Depth whose cost a tile pays on top of its own.", "170"),
        &GemmProfile::ramp_k);
    add(share(at + ".tile_128", "Rate of a 128 x 128 tile against 256 x 128.", "0.87"),
        &GemmProfile::tile_128);
    add(share(at + ".sustained", "Clock in training over clock in the benchmark.", "0.87"),
        &GemmProfile::sustained);
    keys.back().fitted = true;
    add(amount(at + ".launch", "Least time of one kernel.", "2.4 us"), &GemmProfile::launch);
  }
  return keys;
}

/// One line `{base, step, share}`.
/// @param line path from the protocols of a device to it
template <class... Path>
void add_line_keys(const std::string& at, const std::string& help, KeyRows& keys, Path... line) {
  const auto add = [&](Field field, auto member) {
    keys.push_back(bind(std::move(field), &DeviceProfile::protocols, line..., member));
  };
  keys.push_back(unbound(group(at, help)));
  add(amount(at + ".base", "Fixed time.", "4.6 us"), &ProtocolLine::base);
  add(amount(at + ".step", "Per step between ranks.", "0.81 us"), &ProtocolLine::step);
  add(amount(at + ".share", "Share of the link rate; 0 where there is no such thing.", "0.7"),
      &ProtocolLine::share);
}

KeyRows protocol_keys() {
  struct Lines {
    std::string_view name;
    std::string_view help;
    ProtocolLines CollectiveProtocols::*lines;
  };
  constexpr std::array<Lines, 3> kinds{
      {{"gather", "Rings of all-gather and reduce-scatter.", &CollectiveProtocols::gather},
       {"all_reduce", "Rings of all-reduce.", &CollectiveProtocols::all_reduce},
       {"exchange", "All-to-all.", &CollectiveProtocols::exchange}}};
  KeyRows keys{unbound(group("protocols", "Collectives within one host, alone."))};
  for (const Lines& kind : kinds) {
    const std::string at = "protocols." + std::string(kind.name);
    keys.push_back(unbound(group(at, std::string(kind.help))));
    for (std::size_t i = 0; i < protocol_count; ++i) {
      const std::string name(EnumNames<Protocol>::names[i].second);
      add_line_keys(fmt::format("{}.{}", at, name), "NCCL's protocol of that name.", keys,
                    kind.lines, i);
    }
  }
  const auto own = [&](const std::string& name, double CollectiveProtocols::*member) {
    keys.push_back(
        bind(optional("protocols." + name + "_own",
                      "What a rank's own part costs, over as much traffic on the link.", "0.5"),
             &DeviceProfile::protocols, member));
  };
  own("gather", &CollectiveProtocols::gather_own);
  own("all_reduce", &CollectiveProtocols::all_reduce_own);
  own("exchange", &CollectiveProtocols::exchange_own);
  add_line_keys("protocols.in_switch", "All-reduce of 8 ranks in the switch (NVLS).", keys,
                &CollectiveProtocols::in_switch);
  return keys;
}

KeyRows attention_keys() {
  const auto member = &DeviceProfile::attention;
  return {
      unbound(group("attention", "Fused (flash) attention.")),
      fitted(
          bind(amount("attention.rate",
                      "Forward and backward together, causal scores counted half.", "480 TFLOP/s"),
               member, &AttentionProfile::rate)),
      fitted(bind(amount("attention.flash2_rate", "The same with FlashAttention-2.", "340 TFLOP/s"),
                  member, &AttentionProfile::flash2_rate)),
      fitted(bind(
          amount("attention.tiles_half", "Query tiles at which the device is half full.", "230"),
          member, &AttentionProfile::tiles_half)),
      fitted(bind(share("attention.small_head", "Factor for heads up to 64 wide.", "0.9"), member,
                  &AttentionProfile::small_head)),
      bind(
          settled(amount("attention.eight_bit", "Rate in 8 bits over that in 16.", "1.16"), "1.17"),
          member, &AttentionProfile::eight_bit),
      // BigScience with heads of 108, fitted on A100.
      fitted(
          bind(settled(amount("attention.misaligned",
                              "Time of unfused attention GEMMs whose head width is not a multiple "
                              "of 8.",
                              "12"),
                       "12"),
               member, &AttentionProfile::misaligned)),
      fitted(bind(share("memory_efficiency",
                        "Share of the memory bandwidth that streaming kernels reach.", "0.85"),
                  &DeviceProfile::memory_efficiency)),
      bind(optional("kin_apart",
                    "How far 16-bit GEMM rates of devices with the same cores are apart (of "
                    "ln); it widens the band.",
                    "0.18"),
           &DeviceProfile::kin_apart),
  };
}

KeyRows alone_keys() {
  const std::string at = "alone.attention.";
  KeyRows keys{unbound(optional_group("alone", "Kernels run again and again by themselves.")),
               unbound(optional_group(at.substr(0, at.size() - 1),
                                      "Fused attention; forward rates by library."))};
  const auto own = [&](Field field, auto member) {
    keys.push_back(bind(std::move(field), &DeviceProfile::alone, member));
  };
  own(optional("alone.boost", "Duration around which a GEMM loses the boost clock of short ones.",
               "1500 us"),
      &KernelsAlone::boost);
  own(optional("alone.long_clock", "Clock of much longer ones over that.", "0.82"),
      &KernelsAlone::long_clock);
  const auto key = [&](Field field, auto member) {
    keys.push_back(bind(std::move(field), &DeviceProfile::alone, &KernelsAlone::attention, member));
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
  add_band_keys("alone.gemm_band", &KernelsAlone::gemm_band, keys);
  add_band_keys("alone.attention_band", &KernelsAlone::attention_band, keys);
  add_band_keys("alone.memory_band", &KernelsAlone::memory_band, keys);
  return keys;
}

/// Cooling and power settings differ by site; nobody need have measured them.
Field site_clock() {
  Field field = optional("clock", "GPU clock under load over the device profile's.", "0.97");
  field.above_min = true;
  field.max = 2;
  return field;
}

KeyRows site_keys() {
  return {
      fitted(
          bind(share("lone_share",
                     "Share of the NIC rate that a group with one rank per host reaches.", "0.52"),
               &SiteProfile::lone_share)),
      fitted(bind(share("send_share", "Share that transfers between pipeline stages reach.", "0.7"),
                  &SiteProfile::send_share)),
      fitted(
          bind(amount("wait", "What the slowest rank adds to a collective inside a host.", "38 us"),
               &SiteProfile::wait)),
      fitted(bind(site_clock(), &SiteProfile::clock)),
  };
}

}  // namespace

const BoundTable<DeviceProfile>& device_profile_table() {
  static const BoundTable<DeviceProfile> table(
      "Device profiles",
      joined_rows(
          {head_keys(false),
           {unbound({.path = "device",
                     .help = "Catalog device that it is of; by default the one of its own name.",
                     .example = "h100-sxm5-80gb",
                     .own = true})},
           provenance_keys(&DeviceProfile::provenance),
           measurement_keys(),
           gemm_keys(),
           attention_keys(),
           alone_keys(),
           deviation_keys(),
           collective_keys("inside", "Collectives within one host, in training.",
                           &DeviceProfile::inside, settled(per_step_key("inside"), "0 us"),
                           ramp_key("inside")),
           protocol_keys()}));
  return table;
}

const BoundTable<SiteProfile>& site_table() {
  static const BoundTable<SiteProfile> table(
      "Site profiles",
      joined_rows({head_keys(true), provenance_keys(&SiteProfile::provenance), measurement_keys(),
                   collective_keys("across", "Collectives between hosts, several ranks in each.",
                                   &SiteProfile::across, per_step_key("across"),
                                   settled(ramp_key("across"), "0 ns")),
                   site_keys(), deviation_keys()}));
  return table;
}

std::optional<DeviceProfile> device_profile_of(FieldValues values, const std::string& name,
                                               const std::string& prefix, CatalogContext& context) {
  auto item = item_of(std::move(values), device_profile_table(), prefix, context);
  DeviceProfile& profile = item.value;
  profile.name = name;
  if (!profile.gemm.empty()) return std::move(profile);
  context.diagnostics.add(item.values.where("gemm"), "gemm",
                          "needs one precision at least; keys: " +
                              joined(device_profile_table().fields().child_names("gemm")));
  return std::nullopt;
}

std::optional<DeviceProfile> read_device_profile(const CatalogFile& file, const std::string& prefix,
                                                 CatalogContext& context) {
  auto values = read_catalog_file(file, device_profile_table().fields(), context, nullptr);
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

}  // namespace foretrain
