// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/collectives/scheme.hpp"

namespace foretrain::tree {

/// Parent of a host in the in-order binary tree over `hosts` hosts, -1 at its root, host 0. The
/// second tree is the first mirrored (even number of hosts) or shifted by one.
[[nodiscard]] int parent(int host, int hosts, bool second);

/// The transfers between hosts of `tree`, both ways: what in-switch reduction climbs too.
void emit_between_hosts(const Seats& seats, const TransferSink& sink);

}  // namespace foretrain::tree
