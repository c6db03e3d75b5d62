// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topologies/imports/network_description.hpp"

namespace foretrain {

/// A port of a node by the file's id of it.
struct PortName {
  std::string id;
  int port = 0;
};

/// Collects nodes and cables of a subnet in any order, every cable from one end or from both.
class NetworkBuilder {
 public:
  explicit NetworkBuilder(ImportNotes& notes) : notes_{notes} {}

  /// A node by an id of the file; repeated calls add what is known. `ports` may be 0.
  void add_node(const std::string& id, bool is_switch, std::string_view description, int ports,
                int line);
  /// @throws ImportError where the other end said something else about a port
  void add_cable(const PortName& near, const PortName& far, double gbit_per_second, int line);
  [[nodiscard]] NetworkDescription finish();

 private:
  struct Node {
    bool is_switch = false;
    std::string description;
    int ports = 0;
    int line = 0;
  };
  struct End {
    int node = 0;
    int port = 0;
    bool operator==(const End&) const = default;
    auto operator<=>(const End&) const = default;
  };
  struct Cable {
    End from;
    End to;
    double gbit_per_second = 0.0;
    int line = 0;
  };
  /// An adapter: where it is plugged in.
  struct Plug {
    std::string host;
    std::string device;
    int to = 0;
    double gbit_per_second = 0.0;
    int line = 0;
  };

  int index_of(const std::string& id);
  void note_end(const End& from, const End& to, int line);
  [[nodiscard]] std::string end_text(const End& end) const;
  [[nodiscard]] std::vector<int> add_switches(NetworkDescription& result);
  [[nodiscard]] std::vector<Plug> add_cables(const std::vector<int>& switch_of,
                                             NetworkDescription& result);
  void add_plugs(std::vector<Plug>& plugs, NetworkDescription& result);
  [[nodiscard]] Plug plug_of(const Node& adapter, int number);

  ImportNotes& notes_;
  std::unordered_map<std::string, int> index_;
  std::vector<Node> nodes_;
  std::vector<Cable> cables_;
  std::map<End, End> peer_;
  int unnamed_ = 0;
};

/// Nominal rate of one lane of an InfiniBand generation in Gbit/s, by name (EDR) or by signalling
/// rate (25.78125): InfiniBand Architecture Specification. Nothing for others.
[[nodiscard]] std::optional<double> lane_gbit(std::string_view generation);
[[nodiscard]] std::optional<double> lane_gbit(double signalling);

}  // namespace foretrain

namespace foretrain::imports {

/// The hosts of a network that are for training, and its parts that no cable joins.
struct NetworkPlanes {
  int nics = 0;             ///< per host
  int hosts = 0;            ///< that are taken
  double gbit = 0.0;        ///< rate of their NICs
  std::vector<bool> taken;  ///< hosts with the usual number of NICs
  std::vector<int> plane;   ///< of a switch; -1: of none with such a host
  int count = 0;
};

/// Hosts with another number of NICs (storage, management) and switches without a way to the others
/// are left out and noted. @throws ImportError where planes are no rails
[[nodiscard]] NetworkPlanes network_planes(const NetworkDescription& network, ImportNotes& notes);

/// The hosts that are taken and the switches that they reach, cable by cable. A cable of several
/// times the NICs' rate counts as so many cables. `refused` says why where a cable has another rate
/// or the network is beyond the limits of switch_graph().
[[nodiscard]] FoundSwitches found_switches(const NetworkDescription& network,
                                           const NetworkPlanes& planes);

/// The most common value, the largest of equals.
template <class T>
T usual(const std::vector<T>& values) {
  std::map<T, int> count;
  for (const T& value : values) ++count[value];
  T best{};
  int most = 0;
  for (const auto& [value, times] : count)
    if (times >= most) {
      best = value;
      most = times;
    }
  return best;
}

}  // namespace foretrain::imports
