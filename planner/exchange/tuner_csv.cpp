// SPDX-License-Identifier: Apache-2.0
#include "planner/exchange/tuner_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "models/grid/process_grid.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

/// The largest size that the plug-in's configuration names: that row counts for all above, too.
constexpr std::uint64_t largest = 4294967295;

struct TunedOp {
  CollectiveOp op;
  const char* name;
};
constexpr std::array<TunedOp, 5> tuned{{{CollectiveOp::all_reduce, "allreduce"},
                                        {CollectiveOp::all_gather, "allgather"},
                                        {CollectiveOp::reduce_scatter, "reducescatter"},
                                        {CollectiveOp::broadcast, "broadcast"},
                                        {CollectiveOp::reduce, "reduce"}}};

const char* algorithm_name(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::tree:
      return "tree";
    case CollectiveAlgorithm::in_switch:
      return "nvls";
    case CollectiveAlgorithm::in_switch_tree:
      return "nvls_tree";
    case CollectiveAlgorithm::ring:
    case CollectiveAlgorithm::direct:  // not of these operations
      return "ring";
  }
  return "ring";
}

/// Groups of a plan that differ in ranks or hosts; those within a rank need no library.
std::vector<CommGroup> groups_of(const Job& job) {
  const ProcessGrid grid{job.parallel};
  std::vector<CommGroup> groups;
  std::set<std::pair<int, int>> seen;
  for (const GroupKind kind : {GroupKind::tensor, GroupKind::context, GroupKind::data,
                               GroupKind::data_context, GroupKind::expert, GroupKind::world}) {
    const CommGroup group = grid.group(kind).on_hosts(job.cluster.packing());
    if (group.ranks > 1 && seen.emplace(group.domains(), group.ranks).second)
      groups.push_back(group);
  }
  return groups;
}

/// The cost model's choice at a size.
class Chooser {
 public:
  Chooser(const Job& job, CollectiveOp op, const CommGroup& group)
      : path_{job.cluster, job.device_profile, job.site}, op_{op}, group_{group} {}

  [[nodiscard]] TunerRange at(std::uint64_t bytes) const {
    const CollectiveChoice choice = collective_choice(
        op_, group_, Bytes{static_cast<double>(std::max<std::uint64_t>(1, bytes))}, path_);
    return {op_, group_, bytes, bytes, choice.algorithm, choice.protocol};
  }

 private:
  CollectivePath path_;
  CollectiveOp op_;
  CommGroup group_;
};

bool same(const TunerRange& a, const TunerRange& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol;
}

/// The last size with the choice of `low`. @pre high has another one
std::uint64_t border(const Chooser& chooser, const TunerRange& low, std::uint64_t high) {
  std::uint64_t first = low.last;
  while (high - first > 1) {
    const std::uint64_t middle = first + (high - first) / 2;
    (same(chooser.at(middle), low) ? first : high) = middle;
  }
  return first;
}

void add_ranges(const Chooser& chooser, std::vector<TunerRange>& ranges) {
  TunerRange now = chooser.at(0);
  // Eight sizes per factor of two: a choice that holds for less is not worth a row.
  for (int eighth = 0; now.last < largest; ++eighth) {
    const double size = std::min(std::exp2(eighth / 8.0), static_cast<double>(largest));
    const auto bytes = static_cast<std::uint64_t>(size);
    if (bytes <= now.last) continue;
    const TunerRange next = chooser.at(bytes);
    if (!same(now, next)) {
      // Two borders between neighbours would hide one; the second is found from the first on.
      now.last = border(chooser, now, bytes);
      ranges.push_back(now);
      now = chooser.at(now.last + 1);
      now.last = std::max(now.last, same(now, next) ? bytes : now.last);
      continue;
    }
    now.last = bytes;
  }
  ranges.push_back(now);
}

}  // namespace

std::vector<TunerRange> tuner_ranges(const Job& job) {
  std::vector<TunerRange> ranges;
  for (const CommGroup& group : groups_of(job))
    for (const TunedOp& op : tuned) add_ranges(Chooser(job, op.op, group), ranges);
  return ranges;
}

std::string tuner_csv(const Job& job) {
  if (job.cluster.host.domain_hosts > 1)
    throw UsageError(fmt::format(
        "export nccl-tuner: {} shares NVLink between hosts, and how the plug-in counts the nodes "
        "of such groups (nNodes) is not known here",
        job.cluster.host.name));
  std::string text =
      "# "
      "collective,minBytes,maxBytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n";
  for (const TunerRange& range : tuner_ranges(job)) {
    const auto* name =
        std::ranges::find_if(tuned, [&](const TunedOp& op) { return op.op == range.op; });
    text += fmt::format("{},{},{},{},{},-1,{},{},-1,-1\n", name->name, range.first, range.last,
                        algorithm_name(range.algorithm), name_of(range.protocol),
                        range.group.domains(), range.group.ranks);
  }
  return text;
}

}  // namespace foretrain
