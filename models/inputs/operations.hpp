// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"

namespace foretrain {

enum class CheckpointMode { sync, async };
FORETRAIN_ENUM_NAMES(CheckpointMode, {CheckpointMode::sync, "sync"},
                     {CheckpointMode::async, "async"});

/// What a failure rate counts. A domain is what one NVSwitch fabric joins: a host, or a rack.
enum class ComponentKind { gpu, nic, host, domain, network_switch, job };
FORETRAIN_ENUM_NAMES(ComponentKind, {ComponentKind::gpu, "gpu"}, {ComponentKind::nic, "nic"},
                     {ComponentKind::host, "host"}, {ComponentKind::domain, "domain"},
                     {ComponentKind::network_switch, "switch"}, {ComponentKind::job, "job"});

/// A kind of part that fails by itself, and stops the job unless it runs on without it.
struct ComponentFailures {
  std::string name;
  ComponentKind per = ComponentKind::gpu;
  Seconds every;                          ///< mean time between failures of one of them
  std::optional<Seconds> degraded_for{};  ///< the job runs on, slower, until one is repaired
  std::optional<double> pace{};           ///< of the job meanwhile, 1 is full speed
  std::vector<double> paces{};            ///< the same as played, by how many are out less one
  double per_host = 0.0;                  ///< of a switch: how many there are, by host
};

/// A measured point of interruptions against job size.
struct InterruptionPoint {
  double gpus = 0.0;
  Seconds every;  ///< mean time between interruptions of a job of that size
};

/// One interruption of a recorded run.
struct Outage {
  Seconds at;                   ///< after the start of the record, increasing
  std::optional<Seconds> down;  ///< until training went on; absent: as the scenario's recovery
};

/// How often the job is interrupted without warning: at most one of the forms is given.
struct InterruptionFacts {
  std::optional<double> per_gpu_hour;
  std::optional<double> per_1000_node_days;
  std::vector<ComponentFailures> components;
  std::vector<InterruptionPoint> curve;  ///< by size, increasing
  std::vector<Outage> trace;
  std::optional<Seconds> planned_every;  ///< stops on schedule, after a checkpoint
  std::optional<Seconds> planned_pause;

  [[nodiscard]] bool gives_rate() const {
    return per_gpu_hour || per_1000_node_days || !components.empty() || !curve.empty() ||
           !trace.empty();
  }
};

/// From an interruption to training again, part by part.
struct RecoveryFacts {
  std::optional<Seconds> detection;
  std::optional<Seconds> reschedule;
  std::optional<Seconds> reload;  ///< absent: checkpoint size over read bandwidth
};

struct SpareFacts {
  std::optional<int> hosts;       ///< that stand ready for this job
  std::optional<Seconds> repair;  ///< until a host that was taken out is back
  double share = 1.0;             ///< of interruptions that take a host out
};

struct CheckpointFacts {
  std::optional<int> every_steps;                ///< instead of Operations::checkpoint_every
  bool optimal = false;                          ///< instead of both: the interval that loses least
  std::optional<Bytes> size;                     ///< absent: weights and optimizer states
  std::optional<BytesPerSecond> read_bandwidth;  ///< aggregate of the job
  std::optional<Seconds> stall;                  ///< measured; absent: from size and rates
  std::optional<int> writers;                    ///< processes; absent: a GPU for every part
  std::optional<BytesPerSecond> writer_rate;     ///< of one of them
  std::optional<double> slowdown;                ///< of steps while one is written beside them
  std::optional<BytesPerSecond> local_write;     ///< of a host's own storage, written first
  std::optional<BytesPerSecond> local_read;
  double local_share = 0.0;  ///< of interruptions after which that copy is loaded
};

/// Which NICs lead to storage: a network of its own, or those that gradients use.
enum class StorageNetwork { own, compute };
FORETRAIN_ENUM_NAMES(StorageNetwork, {StorageNetwork::own, "own"},
                     {StorageNetwork::compute, "compute"});

/// What the storage system and one host's way to it can do.
struct StorageFacts {
  std::optional<BytesPerSecond> read;
  std::optional<BytesPerSecond> write;
  std::optional<BytesPerSecond> host_link;
  StorageNetwork network = StorageNetwork::own;
};

struct EvaluationFacts {
  std::optional<int> every_steps;
  std::optional<Seconds> pause;
};

/// A part of the run at a smaller global batch, before the full one.
struct BatchPhase {
  int global_batch = 0;
  double tokens = 0.0;
};

struct LoadingFacts {
  std::optional<int> workers;               ///< processes per data-parallel rank
  std::optional<double> tokens_per_worker;  ///< per second
  std::optional<double> bytes_per_token;    ///< read from storage
};

/// Members that become slow without failing.
struct FailSlowFacts {
  std::optional<Seconds> every;  ///< mean time between two episodes anywhere in the job
  std::optional<double> per_1000_node_days;
  std::optional<double> pace;        ///< of the slow member's kernels, 1 is full speed
  std::optional<Seconds> lasts;      ///< until it is found or over
  bool restart = false;              ///< the end of an episode is a restart without the host
  std::optional<double> job_pace{};  ///< of the job during one, as played; absent: from `pace`
};

/// Capacity that is taken away and given back.
struct PreemptionFacts {
  std::optional<Seconds> every;   ///< mean time between two
  std::optional<Seconds> notice;  ///< warning ahead; absent: none
  std::optional<Seconds> wait;    ///< until capacity is back
};

/// A machine that is owned: prices are the user's, of the date in Operations::prices_as_of.
struct OwnershipFacts {
  std::optional<Dollars> gpu;      ///< per GPU with its share of the host
  std::optional<Dollars> network;  ///< per GPU
  std::optional<Dollars> storage;  ///< per GPU
  std::optional<Seconds> lifetime;
  double utilisation = 1.0;                ///< share of its life that pays
  std::optional<DollarsPerSecond> staff;   ///< of the whole machine
  std::optional<DollarsPerSecond> upkeep;  ///< support contracts, rent of the building
};

using DollarsPerJoule = Quantity<0, 0, 0, -1, 1>;

struct PowerFacts {
  std::optional<DollarsPerJoule> electricity;
  std::optional<double> pue;       ///< power at the meter over power of the machine
  std::optional<Watts> host;       ///< one host without its GPUs, these under load
  std::optional<Watts> host_idle;  ///< the same while its GPUs are idle
  std::optional<int> hosts_per_rack;
  std::optional<Watts> network;      ///< switches and optics, per host
  std::optional<Watts> gpu_busy;     ///< replaces the device catalog's
  std::optional<Watts> gpu_waiting;  ///< replaces the device catalog's
  std::optional<Watts> gpu_idle;     ///< replaces the device catalog's
  /// Power smoothing: the share of busy power that a GPU burns at least while steps run.
  std::optional<double> floor;
  std::optional<double> carbon_kg_per_joule;
};

/// Facts of operation. Absent means unknown, never a default.
struct Operations {
  std::optional<Seconds> mean_time_between_interruptions;
  InterruptionFacts interruptions;
  std::optional<Seconds> restart;  ///< detection, rescheduling and reload, per interruption
  RecoveryFacts recovery;          ///< instead of restart
  std::optional<Seconds> warm_up;  ///< lost at every start until steps run at full speed
  SpareFacts spares;
  std::optional<Seconds> checkpoint_every;                   ///< time between two
  std::optional<BytesPerSecond> checkpoint_write_bandwidth;  ///< aggregate of the job
  std::optional<CheckpointMode> checkpoint_mode;
  CheckpointFacts checkpoint;
  StorageFacts storage;
  EvaluationFacts evaluation;
  std::vector<BatchPhase> batch_ramp;
  LoadingFacts loading;
  FailSlowFacts fail_slow;
  PreemptionFacts preemption;
  std::optional<Seconds> queue;     ///< before the job first starts
  std::optional<Seconds> deadline;  ///< after the job is handed in
  std::optional<DollarsPerSecond> price_per_gpu;
  std::optional<std::string> prices_as_of;  ///< date, YYYY-MM-DD
  OwnershipFacts owned;
  PowerFacts power;
};

}  // namespace foretrain
