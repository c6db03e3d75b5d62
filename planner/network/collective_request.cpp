// SPDX-License-Identifier: Apache-2.0
#include "planner/network/collective_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

constexpr std::size_t most_sizes = 256;
constexpr double largest_size = 1e12 - 1.0;
constexpr int most_ranks = 1 << 20;

std::vector<std::string> split(const std::string& text, char mark) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == mark)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

Bytes parse_size(const std::string& text) {
  const auto parsed = parse_quantity(text, Dimension::bytes);
  if (!parsed.value) throw UsageError("--sizes: " + in_quotes(text) + " " + parsed.error);
  if (!(*parsed.value > 0.0))
    throw UsageError("--sizes: " + in_quotes(text) + " is not above zero");
  if (!(*parsed.value <= largest_size))
    throw UsageError("--sizes: " + in_quotes(text) + " is more than any device holds (1 TB)");
  return Bytes{*parsed.value};
}

int parse_rank(const std::string& text, const std::string& all) {
  const auto parsed = parse_integer(text);
  if (!parsed.value || *parsed.value < 0 || *parsed.value >= most_ranks)
    throw UsageError("--ranks: " + in_quotes(text) + " in " + in_quotes(all) +
                     " is not a rank; write 0-7, 0,8,16, 0-63:8 or size=8,stride=8");
  return static_cast<int>(*parsed.value);
}

/// "3", "0-7", "0-63:8".
void add_range(const std::string& part, const std::string& all, std::vector<int>& ranks) {
  const auto stride_parts = split(part, ':');
  const auto ends = split(stride_parts[0], '-');
  if (stride_parts.size() > 2 || ends.size() > 2) parse_rank(part, all);
  const int first = parse_rank(ends.front(), all);
  const int last = parse_rank(ends.back(), all);
  const int stride = stride_parts.size() == 2 ? parse_rank(stride_parts[1], all) : 1;
  if (last < first || stride < 1)
    throw UsageError("--ranks: " + in_quotes(part) + " names no rank");
  for (int rank = first; rank <= last; rank += stride) ranks.push_back(rank);
}

/// Every group of `size` ranks that are `stride` apart, as tensor and data groups lie.
std::vector<std::vector<int>> shaped(const std::string& text, int gpus) {
  int size = 0, stride = 1;
  for (const std::string& part : split(text, ',')) {
    if (part.starts_with("size="))
      size = parse_rank(part.substr(5), text);
    else if (part.starts_with("stride="))
      stride = parse_rank(part.substr(7), text);
    else
      parse_rank(part, text);
  }
  if (size < 2 || stride < 1 || gpus % (size * stride) != 0)
    throw UsageError(
        fmt::format("--ranks: groups of {} ranks that are {} apart do not divide {} "
                    "ranks",
                    size, stride, gpus));
  std::vector<std::vector<int>> groups;
  for (int block = 0; block < gpus; block += size * stride)
    for (int first = 0; first < stride; ++first) {
      groups.emplace_back();
      for (int i = 0; i < size; ++i) groups.back().push_back(block + first + i * stride);
    }
  return groups;
}

std::vector<std::vector<int>> listed(const std::string& text) {
  std::vector<int> ranks;
  for (const std::string& part : split(text, ',')) add_range(part, text, ranks);
  if (std::set<int>(ranks.begin(), ranks.end()).size() != ranks.size())
    throw UsageError("--ranks: " + in_quotes(text) + " names a rank twice");
  return {ranks};
}

}  // namespace

int bytes_of(ElementType type) {
  switch (type) {
    case ElementType::int8:
      return 1;
    case ElementType::half:
    case ElementType::bfloat16:
      return 2;
    case ElementType::float32:
      return 4;
    case ElementType::float64:
      return 8;
  }
  return 1;
}

CollectiveOp parse_collective_op(const std::string& text) {
  std::string name = text;
  std::ranges::replace(name, '_', '-');
  if (name == "alltoall") name = "all-to-all";
  if (name == "sendrecv") name = "send";
  if (const auto op = from_name<CollectiveOp>(name)) return *op;
  std::vector<std::string> known;
  for (const auto legal : all_names<CollectiveOp>()) known.emplace_back(legal);
  throw UsageError("--op: there is no collective " + in_quotes(text) + "; known: " + joined(known) +
                   nearest_hint(name, known));
}

std::vector<Bytes> parse_sizes(const std::string& text, double factor, int element) {
  if (!(factor > 1.0) || !std::isfinite(factor))
    throw UsageError("--step-factor: has to be above 1");
  std::vector<Bytes> sizes;
  for (const std::string& part : split(text, ',')) {
    const auto ends = split(part, ':');
    if (ends.size() > 2) throw UsageError("--sizes: " + in_quotes(part) + " is not FIRST:LAST");
    const Bytes first = parse_size(ends.front());
    const Bytes last = parse_size(ends.back());
    if (last < first) throw UsageError("--sizes: " + in_quotes(part) + " ends before it begins");
    for (Bytes size = first; size <= last && sizes.size() <= most_sizes; size *= factor)
      sizes.emplace_back(std::floor(size.value()));
  }
  if (sizes.size() > most_sizes)
    throw UsageError(
        fmt::format("--sizes: more than {} sizes; use a larger --step-factor", most_sizes));
  for (const Bytes size : sizes)
    if (size.value() < element)
      throw UsageError(fmt::format("--sizes: {} bytes hold no element of {} bytes (--type)",
                                   size.value(), element));
  return sizes;
}

std::vector<std::vector<int>> parse_groups(const GroupWish& wish) {
  const int gpus = wish.hosts * wish.gpus_per_host;
  if (!wish.ranks.empty())
    return wish.ranks.find('=') != std::string::npos ? shaped(wish.ranks, gpus)
                                                     : listed(wish.ranks);
  if (wish.used_per_host < 1 || wish.used_per_host > wish.gpus_per_host)
    throw UsageError(fmt::format("--gpus-per-host: a host has {} GPUs, not {}", wish.gpus_per_host,
                                 wish.used_per_host));
  if (wish.per_host < 1 || wish.used_per_host % wish.per_host != 0)
    throw UsageError(fmt::format("--groups: {} groups do not divide {} GPUs of a host",
                                 wish.per_host, wish.used_per_host));
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(wish.per_host));
  for (int host = 0; host < wish.hosts; ++host)
    for (int gpu = 0; gpu < wish.used_per_host; ++gpu)
      groups[static_cast<std::size_t>(gpu % wish.per_host)].push_back(host * wish.gpus_per_host +
                                                                      gpu);
  return groups;
}

}  // namespace foretrain
