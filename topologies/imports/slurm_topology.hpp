// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topologies/imports/import_text.hpp"

namespace foretrain {

/// A switch of a Slurm tree: hosts or switches below it, never both.
struct TreeSwitch {
  std::string name;
  int line = 0;
  int parent = -1;            ///< index of a switch; -1: at the top
  std::vector<int> switches;  ///< below, by index
  std::vector<std::string> hosts;
};

/// What Slurm schedules by. It has no cables: a leaf may stand for one switch or for a whole unit.
struct SwitchTree {
  std::vector<TreeSwitch> switches;
  int hosts = 0;
};

/// Slurm's topology.conf for topology/tree: SwitchName= with Nodes= or Switches=.
/// Format: slurm.schedmd.com/topology.conf.html.
/// @throws ImportError for topology/block, unknown keys, names used twice or nowhere defined,
///   circles, and switches with both nodes and switches
[[nodiscard]] SwitchTree import_slurm_topology(std::string_view text, ImportNotes& notes);

/// The names of a Slurm host list such as "tux[0-3,012],gpu[1-2]-[0-1],login".
/// @throws ImportError for what is none, and beyond `most` names
[[nodiscard]] std::vector<std::string> expand_hostlist(std::string_view list, int line,
                                                       int most = import_hosts);

}  // namespace foretrain
