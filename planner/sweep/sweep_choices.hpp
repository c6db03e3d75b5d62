// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "models/inputs/job.hpp"
#include "planner/sweep/sweep.hpp"
#include "planner/sweep/sweep_pool.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// An axis that people vary, with values around the scenario's own.
struct SweepChoice {
  std::string key;                  ///< e.g. "parallel.tensor"
  std::vector<std::string> values;  ///< as for --vary, two or more
  std::string own;                  ///< what the scenario has
};

/// Axes of the plan as a search tries them, the global batch and the number of hosts doubled and
/// halved.
[[nodiscard]] std::vector<SweepChoice> sweep_choices(const Scenario& scenario);

/// Two axes and a number: what a map shows. Points count row by row: rows * columns of them.
struct MapQuestion {
  SweepChoice columns;
  SweepChoice rows;
  std::string metric;  ///< path of the JSON, e.g. "step.time_s"
};

/// A number that a map can show.
struct MapMetric {
  const char* path;
  const char* name;
  bool less_is_better;
};
[[nodiscard]] std::span<const MapMetric> map_metrics();

/// The sweep of a map: data-parallel ranks are what the machine has left, and sequence parallelism
/// goes with tensor parallelism where the scenario has it.
/// @throws ScenarioError, UsageError
[[nodiscard]] SweepQuestion sweep_of_map(const Scenario& scenario, const MapQuestion& map);

/// The settings of a point, as for --set, the data-parallel ranks that are left included.
[[nodiscard]] std::vector<std::string> map_settings(const Scenario& scenario,
                                                    const MapQuestion& map, std::size_t column,
                                                    std::size_t row);

/// A map with its numbers.
struct SweepMap {
  MapQuestion question;
  const MapMetric* metric = nullptr;
  std::vector<SweepRow> cells;  ///< row by row
  std::optional<std::size_t> best;
  double least = 0.0;
  double most = 0.0;
};
/// @pre question.metric is one of map_metrics(). `stop` ends it: then cells are missing
[[nodiscard]] SweepMap sweep_map(const Scenario& scenario, const MapQuestion& question,
                                 const std::stop_token& stop = {});

struct Scene;
struct SceneSpace;
/// A cell per combination, as hot as it is good, the best and the scenario's own outlined, what
/// cannot run hatched with the rule that it breaks. @pre the map has all cells
[[nodiscard]] Scene map_chart(const SweepMap& map, const Scenario& scenario,
                              const SceneSpace& space);
[[nodiscard]] std::string map_csv(const SweepMap& map);

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
