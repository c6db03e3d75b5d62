// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/sections.hpp"

#include <utility>

#include "scenarios/sections/operations_fields.hpp"

namespace foretrain {
namespace {

namespace kind = operations_field;
using keys::always;
using keys::bind;
using keys::group;
using keys::with_default;

KeyRows checkpoint_keys() {
  return {
      group("operations.checkpoint", "Saving the state that a restart loads."),
      bind(kind::positive("operations.checkpoint.every", Dimension::time,
                          "Time between two checkpoints.", "30 min"),
           &Operations::checkpoint_every),
      bind(kind::integer("operations.checkpoint.every_steps", "The same in optimizer steps.", "100",
                         1),
           &Operations::checkpoint, &CheckpointFacts::every_steps),
      with_default(
          kind::flag("operations.checkpoint.optimal", "Choose the interval that loses least time."),
          &Operations::checkpoint, &CheckpointFacts::optimal),
      bind(kind::positive("operations.checkpoint.size", Dimension::bytes,
                          "Of one checkpoint; left out, weights and optimizer states.", "2.3 TB"),
           &Operations::checkpoint, &CheckpointFacts::size),
      bind(kind::positive("operations.checkpoint.write_bandwidth", Dimension::bandwidth,
                          "Rate at which the whole job writes a checkpoint.", "200 GB/s"),
           &Operations::checkpoint_write_bandwidth),
      bind(kind::positive("operations.checkpoint.read_bandwidth", Dimension::bandwidth,
                          "Rate at which the whole job reads one.", "400 GB/s"),
           &Operations::checkpoint, &CheckpointFacts::read_bandwidth),
      bind(
          kind::time(
              "operations.checkpoint.stall",
              "Measured time that one stops training; left out, writing it (sync) or copying it to "
              "host memory (async).",
              "5 s"),
          &Operations::checkpoint, &CheckpointFacts::stall),
      bind({.path = "operations.checkpoint.mode",
            .help = "sync stops training until it is written, async writes a copy in the "
                    "background; left out, async with a warning that has the cost of sync.",
            .example = "async"},
           &Operations::checkpoint_mode),
      bind(kind::integer("operations.checkpoint.writers",
                         "Processes that write or read one at once; left out, every GPU with "
                         "a part of it.",
                         "64", 1),
           &Operations::checkpoint, &CheckpointFacts::writers),
      bind(kind::positive("operations.checkpoint.writer_rate", Dimension::bandwidth,
                          "What one of them writes or reads.", "2 GB/s"),
           &Operations::checkpoint, &CheckpointFacts::writer_rate),
      bind({.path = "operations.checkpoint.slowdown",
            .kind = FieldKind::number,
            .help = "How many times as long steps take while one is written beside them; left "
                    "out, 1 on a storage network of its own, else from what it leaves of the "
                    "NICs.",
            .example = "1.05",
            .min = 1},
           &Operations::checkpoint, &CheckpointFacts::slowdown),
      group("operations.checkpoint.local",
            "Storage of every host, or a burst buffer, that a checkpoint is written to "
            "first; it drains from there."),
      bind(kind::positive("operations.checkpoint.local.write", Dimension::bandwidth,
                          "One host's, to it.", "20 GB/s"),
           &Operations::checkpoint, &CheckpointFacts::local_write),
      bind(kind::positive("operations.checkpoint.local.read", Dimension::bandwidth,
                          "One host's, from it.", "40 GB/s"),
           &Operations::checkpoint, &CheckpointFacts::local_read),
      bind(kind::share("operations.checkpoint.local.share",
                       "Part of the interruptions after which that copy is loaded; left out, "
                       "none.",
                       "0.8"),
           &Operations::checkpoint, &CheckpointFacts::local_share),
      group("operations.storage", "What checkpoints and training data share."),
      bind(kind::positive("operations.storage.read", Dimension::bandwidth, "Of the storage system.",
                          "2 TB/s"),
           &Operations::storage, &StorageFacts::read),
      bind(kind::positive("operations.storage.write", Dimension::bandwidth,
                          "Of the storage system.", "1 TB/s"),
           &Operations::storage, &StorageFacts::write),
      bind(kind::positive("operations.storage.host_link", Dimension::bandwidth,
                          "One host's way to storage, per direction.", "25 GB/s"),
           &Operations::storage, &StorageFacts::host_link),
      with_default({.path = "operations.storage.network",
                    .help = "Which NICs lead to it: a network of its own, or those that gradients "
                            "use (compute).",
                    .example = "own"},
                   &Operations::storage, &StorageFacts::network),
  };
}

KeyRows evaluation_keys() {
  return {
      group("operations.evaluation", "Pauses of training for evaluation."),
      bind(kind::integer("operations.evaluation.every_steps", "Optimizer steps between two.",
                         "1000", 1),
           &Operations::evaluation, &EvaluationFacts::every_steps),
      bind(kind::time("operations.evaluation.pause", "How long one takes.", "3 min"),
           &Operations::evaluation, &EvaluationFacts::pause),
  };
}

KeyRows batch_ramp_keys() {
  return keys::list_of(
      "operations.batch_ramp",
      "Parts of the run with a smaller batch, in this order, before training.global_batch.",
      KeyRows{always(kind::due(kind::integer("operations.batch_ramp[].global_batch",
                                             "Sequences per optimizer step.", "512", 1)),
                     &BatchPhase::global_batch),
              always(kind::due({.path = "operations.batch_ramp[].tokens",
                                .kind = FieldKind::quantity,
                                .help = "Tokens trained at this batch.",
                                .example = "252 M",
                                .dimension = Dimension::count,
                                .min = 1,
                                .max = 1e18}),
                     &BatchPhase::tokens)},
      &Operations::batch_ramp);
}

KeyRows loading_keys() {
  return {
      group("operations.data_loading", "Where input may fall behind training."),
      bind(kind::integer("operations.data_loading.workers",
                         "Loader processes of one data-parallel rank (of the one process with "
                         "parallel.processes: per-host), a core each.",
                         "4", 1),
           &Operations::loading, &LoadingFacts::workers),
      bind({.path = "operations.data_loading.tokens_per_worker",
            .kind = FieldKind::quantity,
            .help = "Tokens per second that one of them prepares.",
            .example = "500 k",
            .dimension = Dimension::count,
            .min = 1,
            .max = 1e12},
           &Operations::loading, &LoadingFacts::tokens_per_worker),
      bind({.path = "operations.data_loading.bytes_per_token",
            .kind = FieldKind::number,
            .help = "Read from operations.storage per token.",
            .example = "4",
            .min = 0,
            .above_min = true},
           &Operations::loading, &LoadingFacts::bytes_per_token),
  };
}

KeyRows money_keys() {
  return {
      bind(kind::quantity("operations.price", Dimension::price, "Rent of one GPU.",
                          "2.5 USD/GPU-hour"),
           &Operations::price_per_gpu),
      bind({.path = "operations.prices_as_of",
            .help = "Day that all prices of this file are of, YYYY-MM-DD.",
            .example = "2026-11-01"},
           &Operations::prices_as_of),
      group("operations.owned", "A machine that is bought instead of rented."),
      bind(kind::quantity("operations.owned.gpu", Dimension::money,
                          "Price of one GPU with its share of the host.", "35 kUSD"),
           &Operations::owned, &OwnershipFacts::gpu),
      bind(kind::quantity("operations.owned.network", Dimension::money, "Network per GPU.",
                          "4 kUSD"),
           &Operations::owned, &OwnershipFacts::network),
      bind(kind::quantity("operations.owned.storage", Dimension::money, "Storage per GPU.",
                          "1 kUSD"),
           &Operations::owned, &OwnershipFacts::storage),
      bind(kind::positive("operations.owned.lifetime", Dimension::time,
                          "Over which it is depreciated.", "1460 d"),
           &Operations::owned, &OwnershipFacts::lifetime),
      with_default(kind::share("operations.owned.utilisation",
                               "Part of that time in which it works.", "0.85"),
                   &Operations::owned, &OwnershipFacts::utilisation),
      bind(kind::quantity("operations.owned.staff", Dimension::spending, "Pay of those who run it.",
                          "3 MUSD/year"),
           &Operations::owned, &OwnershipFacts::staff),
      bind(kind::quantity("operations.owned.upkeep", Dimension::spending,
                          "Support contracts and rent of the building.", "1.5 MUSD/year"),
           &Operations::owned, &OwnershipFacts::upkeep),
  };
}

/// What one GPU draws.
Field gpu_watts(std::string path, std::string help, std::string example) {
  Field field =
      kind::positive(std::move(path), Dimension::power, std::move(help), std::move(example));
  field.max = 2e4;
  return field;
}

/// What one host draws beside its GPUs, or the network for it.
Field host_watts(Field field) {
  field.max = 1e6;
  return field;
}

KeyRows power_keys() {
  return {
      group("operations.power", "What energy is counted and what it costs."),
      bind(kind::quantity("operations.power.electricity", Dimension::energy_price,
                          "Price of energy that rent does not include.", "0.08 USD/kWh"),
           &Operations::power, &PowerFacts::electricity),
      bind({.path = "operations.power.pue",
            .kind = FieldKind::number,
            .help = "Power of the building over power of the machine.",
            .example = "1.2",
            .min = 1,
            .max = 10},
           &Operations::power, &PowerFacts::pue),
      bind(host_watts(kind::quantity("operations.power.host", Dimension::power,
                                     "One host without its GPUs, these under load.", "2.2 kW")),
           &Operations::power, &PowerFacts::host),
      bind(host_watts(
               kind::positive("operations.power.host_idle", Dimension::power,
                              "One host without its GPUs while these are idle; left out, 0.87 of "
                              "what it draws under load.",
                              "1.9 kW")),
           &Operations::power, &PowerFacts::host_idle),
      bind({.path = "operations.power.hosts_per_rack",
            .kind = FieldKind::integer,
            .help = "Hosts of one rack, for its power; left out, those that NVLink joins.",
            .example = "4",
            .min = 1,
            .max = 100},
           &Operations::power, &PowerFacts::hosts_per_rack),
      bind(host_watts(kind::quantity("operations.power.network", Dimension::power,
                                     "Switches and optics, per host.", "400 W")),
           &Operations::power, &PowerFacts::network),
      bind(gpu_watts("operations.power.gpu_busy",
                     "One GPU while kernels run; left out, as in the device catalog.", "650 W"),
           &Operations::power, &PowerFacts::gpu_busy),
      bind(gpu_watts("operations.power.gpu_waiting",
                     "One GPU that waits for others; left out, as in the device catalog.", "300 W"),
           &Operations::power, &PowerFacts::gpu_waiting),
      bind(gpu_watts("operations.power.gpu_idle",
                     "One GPU without work; left out, as in the device catalog.", "120 W"),
           &Operations::power, &PowerFacts::gpu_idle),
      bind({.path = "operations.power.floor",
            .kind = FieldKind::number,
            .help = "Power smoothing: share of busy power that a GPU burns at least while steps "
                    "run.",
            .example = "0.7",
            .min = 0,
            .max = 1},
           &Operations::power, &PowerFacts::floor),
      bind(kind::quantity("operations.power.carbon", Dimension::carbon,
                          "Carbon dioxide per energy of this grid.", "350 g/kWh"),
           &Operations::power, &PowerFacts::carbon_kg_per_joule),
  };
}

}  // namespace

KeyRows operations_upkeep_keys() {
  return joined_rows({checkpoint_keys(), evaluation_keys(), batch_ramp_keys(), loading_keys(),
                      money_keys(), power_keys()});
}

}  // namespace foretrain
