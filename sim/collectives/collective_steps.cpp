// SPDX-License-Identifier: Apache-2.0
#include "sim/collectives/internal/collective_steps.hpp"

#include <algorithm>

namespace foretrain {

StepOrder::StepOrder(const StepPlan& plan, int members)
    : left_{static_cast<std::uint32_t>(plan.transfers.size())} {
  int channels = 0;
  for (const StepTransfer& transfer : plan.transfers)
    channels = std::max(channels, transfer.channel + 1);
  nodes_.resize(static_cast<std::size_t>(channels) * static_cast<std::size_t>(members));
  for (std::uint32_t id = 0; id < left_; ++id) {
    const StepTransfer& transfer = plan.transfers[id];
    const auto node = [&](int member) {
      return static_cast<std::uint32_t>(transfer.channel * members + member);
    };
    from_.push_back(join(node(transfer.from), transfer.step));
    to_.push_back(join(node(transfer.to), transfer.step));
    nodes_[from_.back().node].groups[from_.back().group].sends.push_back(id);
  }
  for (const Node& node : nodes_)
    if (!node.groups.empty())
      first_.insert(first_.end(), node.groups.front().sends.begin(),
                    node.groups.front().sends.end());
}

/// Transfers come by step, so a new step is a new group at the end.
StepOrder::Place StepOrder::join(std::uint32_t node, int step) {
  std::vector<Group>& groups = nodes_[node].groups;
  if (groups.empty() || groups.back().step != step) groups.push_back({step, 0, {}});
  ++groups.back().open;
  return {node, static_cast<std::uint32_t>(groups.size() - 1)};
}

void StepOrder::close(const Place& place, std::vector<std::uint32_t>& ready) {
  Node& node = nodes_[place.node];
  --node.groups[place.group].open;
  while (node.now < node.groups.size() && node.groups[node.now].open == 0) {
    if (++node.now == node.groups.size()) return;
    const Group& next = node.groups[node.now];
    ready.insert(ready.end(), next.sends.begin(), next.sends.end());
  }
}

std::vector<std::uint32_t> StepOrder::ended(std::uint32_t transfer) {
  std::vector<std::uint32_t> ready;
  close(from_[transfer], ready);
  close(to_[transfer], ready);
  --left_;
  return ready;
}

}  // namespace foretrain
