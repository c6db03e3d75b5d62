// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "planner/sweep/sweep_pool.hpp"

namespace foretrain {

/// Place of this process among those that mpirun started together.
struct MpiPlace {
  int rank = 0;
  int size = 1;
};

/// What mpirun, or srun with PMIx, tells its processes by environment variables; nothing where
/// there is one process alone. @param variable gives the value of one, null when it is not set
[[nodiscard]] std::optional<MpiPlace> rank_place(
    const std::function<const char*(const char*)>& variable);

/// The processes of an MPI job. Messages are bytes.
class Ranks {
 public:
  /// Loads the part of the program that is linked with MPI, and joins the others.
  /// @throws UsageError when it was not built, or is of another MPI than mpirun's
  explicit Ranks(const MpiPlace& expected);
  /// Leaves; all processes must.
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] MpiPlace place() const { return place_; }
  /// @throws std::runtime_error for all three
  void send(int to, const std::string& message);
  struct Message {
    int from = 0;
    std::string bytes;
  };
  [[nodiscard]] std::optional<Message> poll();
  [[nodiscard]] Message wait();

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  MpiPlace place_;
};

/// Rank 0: gives points to the other ranks as they ask, and takes their rows, until all have left.
void serve_ranks(Ranks& ranks, const PoolOptions& options, const PoolTraffic& traffic);

/// Any other rank: runs a pool of its own on points that rank 0 gives.
void run_rank(Ranks& ranks, const std::function<SweepRow(std::int64_t)>& forecast,
              std::size_t metrics, const PoolOptions& options);

}  // namespace foretrain
