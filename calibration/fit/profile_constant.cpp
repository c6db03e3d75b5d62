// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/profile_constant.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "models/base/require.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"

namespace foretrain {
namespace {

// One line per constant that a fit may move: its key in the profile's file, and its member.
template <class Owner>
struct NamedConstant {
  std::string_view key;
  ConstantRef (*find)(Owner&);
};

template <auto Member, class Owner>
ConstantRef at(Owner& owner) {
  return ConstantRef(owner.*Member);
}

using Times = StackTimes;
constexpr auto stack_constants = std::to_array<NamedConstant<Times>>({
    {"times.elementwise", at<&Times::elementwise>},
    {"times.head", at<&Times::head>},
    {"times.score_forward_bytes", at<&Times::score_forward_bytes>},
    {"times.score_backward_bytes", at<&Times::score_backward_bytes>},
    {"times.flash_factor", at<&Times::flash_factor>},
    {"times.launch_forward", at<&Times::launch_forward>},
    {"times.launch_backward", at<&Times::launch_backward>},
    {"times.launch_tensor", at<&Times::launch_tensor>},
    {"times.layer_fixed", at<&Times::layer_fixed>},
    {"times.head_fixed", at<&Times::head_fixed>},
    {"times.tensor_slowdown", at<&Times::tensor_slowdown>},
    {"times.tensor_slowdown_backward", at<&Times::tensor_slowdown_backward>},
    {"times.context_slowdown", at<&Times::context_slowdown>},
    {"times.expert_slowdown", at<&Times::expert_slowdown>},
    {"times.shard_slowdown", at<&Times::shard_slowdown>},
    {"times.data_slowdown", at<&Times::data_slowdown>},
    {"times.shard_bus", at<&Times::shard_bus>},
    {"times.shard_update", at<&Times::shard_update>},
    {"times.vocabulary_split", at<&Times::vocabulary_split>},
    {"times.expert_elementwise", at<&Times::expert_elementwise>},
    {"times.grouped_product", at<&Times::grouped_product>},
    {"times.expert_latency", at<&Times::expert_latency>},
    {"times.fp8_cast_forward", at<&Times::fp8_cast_forward>},
    {"times.fp8_cast_backward", at<&Times::fp8_cast_backward>},
    {"times.fp8_row_casts", at<&Times::fp8_row_casts>},
    {"times.gradient_sums", at<&Times::gradient_sums>},
    {"times.gradient_sums_fused", at<&Times::gradient_sums_fused>},
    {"times.exchange_copy", at<&Times::exchange_copy>},
    {"times.step_constant", at<&Times::step_constant>},
    {"times.jitter", at<&Times::jitter>},
    {"times.release", at<&Times::release>},
});

constexpr auto site_constants = std::to_array<NamedConstant<SiteProfile>>({
    {"across.launch", [](SiteProfile& site) { return ConstantRef(site.across.launch); }},
    {"across.per_step", [](SiteProfile& site) { return ConstantRef(site.across.per_step); }},
    {"across.share", [](SiteProfile& site) { return ConstantRef(site.across.share); }},
    {"lone_share", at<&SiteProfile::lone_share>},
    {"send_share", at<&SiteProfile::send_share>},
    {"wait", at<&SiteProfile::wait>},
    {"clock", at<&SiteProfile::clock>},
});

constexpr auto device_constants = std::to_array<NamedConstant<DeviceProfile>>({
    {"attention.rate", [](DeviceProfile& device) { return ConstantRef(device.attention.rate); }},
    {"attention.flash2_rate",
     [](DeviceProfile& device) { return ConstantRef(device.attention.flash2_rate); }},
    {"attention.tiles_half",
     [](DeviceProfile& device) { return ConstantRef(device.attention.tiles_half); }},
    {"attention.small_head",
     [](DeviceProfile& device) { return ConstantRef(device.attention.small_head); }},
    {"attention.misaligned",
     [](DeviceProfile& device) { return ConstantRef(device.attention.misaligned); }},
    {"memory_efficiency", at<&DeviceProfile::memory_efficiency>},
    {"inside.launch", [](DeviceProfile& device) { return ConstantRef(device.inside.launch); }},
    {"inside.ramp", [](DeviceProfile& device) { return ConstantRef(device.inside.ramp); }},
    {"inside.share", [](DeviceProfile& device) { return ConstantRef(device.inside.share); }},
});

template <class Owner, std::size_t Count>
std::optional<ConstantRef> find_in(const std::array<NamedConstant<Owner>, Count>& table,
                                   std::string_view key, Owner& owner) {
  for (const NamedConstant<Owner>& line : table)
    if (line.key == key) return line.find(owner);
  return std::nullopt;
}

/// "gemm.bf16.sustained" -> bf16.
std::optional<Precision> sustained_precision(std::string_view key) {
  constexpr std::string_view front = "gemm.";
  constexpr std::string_view back = ".sustained";
  if (!key.starts_with(front) || !key.ends_with(back)) return std::nullopt;
  key.remove_prefix(front.size());
  return from_name<Precision>(key.substr(0, key.size() - std::min(back.size(), key.size())));
}

std::optional<ConstantRef> device_constant(std::string_view key, DeviceProfile& device) {
  const auto precision = sustained_precision(key);
  if (!precision) return find_in(device_constants, key, device);
  const auto found = device.gemm.find(*precision);
  if (found == device.gemm.end()) return std::nullopt;
  return ConstantRef(found->second.sustained);
}

template <class Owner, std::size_t Count>
void append_keys(const std::array<NamedConstant<Owner>, Count>& table,
                 std::vector<std::string>& keys) {
  for (const NamedConstant<Owner>& line : table) keys.emplace_back(line.key);
}

const FieldTable& fields_of(ProfileLayer layer) {
  switch (layer) {
    case ProfileLayer::device:
      return device_profile_table().fields();
    case ProfileLayer::stack:
      return stack_table().fields();
    case ProfileLayer::site:
      break;
  }
  return site_table().fields();
}

}  // namespace

std::string ProfileRef::text() const { return std::string(name_of(layer)) + "/" + name; }

std::optional<ProfileRef> profile_ref(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto layer = from_name<ProfileLayer>(text.substr(0, slash));
  if (!layer || slash + 1 == text.size()) return std::nullopt;
  return ProfileRef{*layer, std::string(text.substr(slash + 1))};
}

std::optional<ConstantRef> constant_of(const ProfileRef& profile, std::string_view key,
                                       RunCatalog& catalog) {
  if (profile.layer == ProfileLayer::stack) {
    const auto found = catalog.stacks.find(profile.name);
    if (found == catalog.stacks.end()) return std::nullopt;
    return find_in(stack_constants, key, found->second.times);
  }
  if (profile.layer == ProfileLayer::site) {
    const auto found = catalog.sites.find(profile.name);
    return found == catalog.sites.end() ? std::nullopt
                                        : find_in(site_constants, key, found->second);
  }
  const auto found = catalog.device_profiles.find(profile.name);
  return found == catalog.device_profiles.end() ? std::nullopt
                                                : device_constant(key, found->second);
}

std::optional<ConstantRef> constant_of(const ProfileRef& profile, std::string_view key, Job& job) {
  FORETRAIN_REQUIRE(uses(job, profile));
  if (profile.layer == ProfileLayer::stack) return find_in(stack_constants, key, job.stack.times);
  if (profile.layer == ProfileLayer::site) return find_in(site_constants, key, job.site);
  return device_constant(key, job.device_profile);
}

Dimension dimension_of(ProfileLayer layer, std::string_view key) {
  const Field* const field = fields_of(layer).find(key);
  FORETRAIN_REQUIRE(field != nullptr);
  return field->dimension;
}

double most_of(ProfileLayer layer, std::string_view key) {
  const Field* const field = fields_of(layer).find(key);
  FORETRAIN_REQUIRE(field != nullptr);
  return field->max.value_or(std::numeric_limits<double>::infinity());
}

std::vector<std::string> constant_keys(ProfileLayer layer) {
  std::vector<std::string> keys;
  if (layer == ProfileLayer::stack) append_keys(stack_constants, keys);
  if (layer == ProfileLayer::site) append_keys(site_constants, keys);
  if (layer != ProfileLayer::device) return keys;
  for (const auto name : all_names<Precision>())
    keys.push_back("gemm." + std::string(name) + ".sustained");
  append_keys(device_constants, keys);
  return keys;
}

bool uses(const Job& job, const ProfileRef& profile) {
  switch (profile.layer) {
    case ProfileLayer::device:
      return job.device_profile.name == profile.name;
    case ProfileLayer::stack:
      return job.stack.name == profile.name;
    case ProfileLayer::site:
      break;
  }
  return job.site.name == profile.name;
}

}  // namespace foretrain
