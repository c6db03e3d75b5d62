// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/base/prediction.hpp"
#include "planner/answer/answer.hpp"
#include "planner/network/collective_request.hpp"

namespace foretrain {

/// One size, as nccl-tests prints it: size / time, and that times what a link carries of it.
struct CollectiveRow {
  Bytes size;
  double count = 0.0;  ///< elements, as nccl-tests counts them for the operation
  Seconds time;        ///< of the slowest group, all at once
  Seconds alone;       ///< the longest that a group takes when the fabric is idle
  std::vector<Seconds> groups;
  BytesPerSecond algorithm_bandwidth;
  BytesPerSecond bus_bandwidth;
  const CollectiveScheme* scheme = nullptr;
  std::optional<Protocol> protocol;
  bool measured = false;    ///< by the measured cost model, not put together from its parts
  std::uint64_t flows = 0;  ///< that were simulated
};

struct BusyLink {
  std::string name;
  Bytes bytes;
  double busy = 0.0;  ///< share of the row's time
  double used = 0.0;  ///< bytes over what it could have carried in that time
};

struct CollectiveTable {
  CollectiveRequest request;
  std::vector<CollectiveRow> rows;
  std::vector<BusyLink> links;  ///< of the last row, the fullest first, at most ten
  std::vector<std::string> notes;

  [[nodiscard]] BytesPerSecond average_bus_bandwidth() const;
};

/// Prices every size and plays it on the fabric, all groups at once.
/// @return why the fabric cannot hold the job
/// @throws UsageError where algorithm, protocol or library cannot do it
[[nodiscard]] std::variant<CollectiveTable, Infeasible> collective_table(
    const CollectiveRequest& request);

/// The columns of nccl-tests under what they say. @pre a row
[[nodiscard]] Answer collective_answer(const CollectiveTable& table);
/// {schema: "collective/1", ...}
[[nodiscard]] std::string collective_json(const CollectiveTable& table);
/// A header row and a row per size, RFC 4180.
[[nodiscard]] std::string collective_csv(const CollectiveTable& table);

}  // namespace foretrain
