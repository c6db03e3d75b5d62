// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/sections.hpp"

#include <utility>

#include "scenarios/sections/operations_fields.hpp"

namespace foretrain {
namespace {

namespace kind = operations_field;
using section::always;
using section::group;
using section::left_out;
using section::with_default;

std::vector<SectionKey<Operations>> checkpoint_keys() {
  return {
      group<Operations>("operations.checkpoint", "Saving the state that a restart loads."),
      left_out(kind::positive("operations.checkpoint.every", Dimension::time,
                              "Time between two checkpoints.", "30 min"),
               &Operations::checkpoint_every),
      left_out(kind::integer("operations.checkpoint.every_steps", "The same in optimizer steps.",
                             "100", 1),
               &Operations::checkpoint, &CheckpointFacts::every_steps),
      with_default(
          kind::flag("operations.checkpoint.optimal", "Choose the interval that loses least time."),
          &Operations::checkpoint, &CheckpointFacts::optimal),
      left_out(
          kind::positive("operations.checkpoint.size", Dimension::bytes,
                         "Of one checkpoint; left out, weights and optimizer states.", "2.3 TB"),
          &Operations::checkpoint, &CheckpointFacts::size),
      left_out(kind::positive("operations.checkpoint.write_bandwidth", Dimension::bandwidth,
                              "Rate at which the whole job writes a checkpoint.", "200 GB/s"),
               &Operations::checkpoint_write_bandwidth),
      left_out(kind::positive("operations.checkpoint.read_bandwidth", Dimension::bandwidth,
                              "Rate at which the whole job reads one.", "400 GB/s"),
               &Operations::checkpoint, &CheckpointFacts::read_bandwidth),
      left_out(
          kind::time(
              "operations.checkpoint.stall",
              "Measured time that one stops training; left out, writing it (sync) or copying it to "
              "host memory (async).",
              "5 s"),
          &Operations::checkpoint, &CheckpointFacts::stall),
      left_out({.path = "operations.checkpoint.mode",
                .help = "sync stops training until it is written, async writes a copy in the "
                        "background; left out, async with a warning that has the cost of sync.",
                .example = "async"},
               &Operations::checkpoint_mode),
      left_out(kind::integer("operations.checkpoint.writers",
                             "Processes that write or read one at once; left out, every GPU with "
                             "a part of it.",
                             "64", 1),
               &Operations::checkpoint, &CheckpointFacts::writers),
      left_out(kind::positive("operations.checkpoint.writer_rate", Dimension::bandwidth,
                              "What one of them writes or reads.", "2 GB/s"),
               &Operations::checkpoint, &CheckpointFacts::writer_rate),
      left_out({.path = "operations.checkpoint.slowdown",
                .kind = FieldKind::number,
                .help = "How many times as long steps take while one is written beside them; left "
                        "out, 1 on a storage network of its own, else from what it leaves of the "
                        "NICs.",
                .example = "1.05",
                .min = 1},
               &Operations::checkpoint, &CheckpointFacts::slowdown),
      group<Operations>("operations.checkpoint.local",
                        "Storage of every host, or a burst buffer, that a checkpoint is written to "
                        "first; it drains from there."),
      left_out(kind::positive("operations.checkpoint.local.write", Dimension::bandwidth,
                              "One host's, to it.", "20 GB/s"),
               &Operations::checkpoint, &CheckpointFacts::local_write),
      left_out(kind::positive("operations.checkpoint.local.read", Dimension::bandwidth,
                              "One host's, from it.", "40 GB/s"),
               &Operations::checkpoint, &CheckpointFacts::local_read),
      left_out(kind::share("operations.checkpoint.local.share",
                           "Part of the interruptions after which that copy is loaded; left out, "
                           "none.",
                           "0.8"),
               &Operations::checkpoint, &CheckpointFacts::local_share),
      group<Operations>("operations.storage", "What checkpoints and training data share."),
      left_out(kind::positive("operations.storage.read", Dimension::bandwidth,
                              "Of the storage system.", "2 TB/s"),
               &Operations::storage, &StorageFacts::read),
      left_out(kind::positive("operations.storage.write", Dimension::bandwidth,
                              "Of the storage system.", "1 TB/s"),
               &Operations::storage, &StorageFacts::write),
      left_out(kind::positive("operations.storage.host_link", Dimension::bandwidth,
                              "One host's way to storage, per direction.", "25 GB/s"),
               &Operations::storage, &StorageFacts::host_link),
      with_default({.path = "operations.storage.network",
                    .help = "Which NICs lead to it: a network of its own, or those that gradients "
                            "use (compute).",
                    .example = "own"},
                   &Operations::storage, &StorageFacts::network),
  };
}

std::vector<SectionKey<Operations>> evaluation_keys() {
  return {
      group<Operations>("operations.evaluation", "Pauses of training for evaluation."),
      left_out(kind::integer("operations.evaluation.every_steps", "Optimizer steps between two.",
                             "1000", 1),
               &Operations::evaluation, &EvaluationFacts::every_steps),
      left_out(kind::time("operations.evaluation.pause", "How long one takes.", "3 min"),
               &Operations::evaluation, &EvaluationFacts::pause),
  };
}

std::vector<SectionKey<Operations>> batch_ramp_keys() {
  return section::list_of(
      "operations.batch_ramp",
      "Parts of the run with a smaller batch, in this order, before training.global_batch.",
      section::Elements<BatchPhase>{
          {always(kind::due(kind::integer("operations.batch_ramp[].global_batch",
                                          "Sequences per optimizer step.", "512", 1)),
                  &BatchPhase::global_batch),
           always(kind::due({.path = "operations.batch_ramp[].tokens",
                             .kind = FieldKind::quantity,
                             .help = "Tokens trained at this batch.",
                             .example = "252 M",
                             .dimension = Dimension::count,
                             .min = 1,
                             .max = 1e18}),
                  &BatchPhase::tokens)}},
      &Operations::batch_ramp);
}

std::vector<SectionKey<Operations>> loading_keys() {
  return {
      group<Operations>("operations.data_loading", "Where input may fall behind training."),
      left_out(kind::integer("operations.data_loading.workers",
                             "Loader processes of one data-parallel rank (of the one process with "
                             "parallel.processes: per-host), a core each.",
                             "4", 1),
               &Operations::loading, &LoadingFacts::workers),
      left_out({.path = "operations.data_loading.tokens_per_worker",
                .kind = FieldKind::quantity,
                .help = "Tokens per second that one of them prepares.",
                .example = "500 k",
                .dimension = Dimension::count,
                .min = 1,
                .max = 1e12},
               &Operations::loading, &LoadingFacts::tokens_per_worker),
      left_out({.path = "operations.data_loading.bytes_per_token",
                .kind = FieldKind::number,
                .help = "Read from operations.storage per token.",
                .example = "4",
                .min = 0,
                .above_min = true},
               &Operations::loading, &LoadingFacts::bytes_per_token),
  };
}

std::vector<SectionKey<Operations>> money_keys() {
  return {
      left_out(kind::quantity("operations.price", Dimension::price, "Rent of one GPU.",
                              "2.5 USD/GPU-hour"),
               &Operations::price_per_gpu),
      left_out({.path = "operations.prices_as_of",
                .help = "Day that all prices of this file are of, YYYY-MM-DD.",
                .example = "2026-11-01"},
               &Operations::prices_as_of),
      group<Operations>("operations.owned", "A machine that is bought instead of rented."),
      left_out(kind::quantity("operations.owned.gpu", Dimension::money,
                              "Price of one GPU with its share of the host.", "35 kUSD"),
               &Operations::owned, &OwnershipFacts::gpu),
      left_out(kind::quantity("operations.owned.network", Dimension::money, "Network per GPU.",
                              "4 kUSD"),
               &Operations::owned, &OwnershipFacts::network),
      left_out(kind::quantity("operations.owned.storage", Dimension::money, "Storage per GPU.",
                              "1 kUSD"),
               &Operations::owned, &OwnershipFacts::storage),
      left_out(kind::positive("operations.owned.lifetime", Dimension::time,
                              "Over which it is depreciated.", "1460 d"),
               &Operations::owned, &OwnershipFacts::lifetime),
      with_default(kind::share("operations.owned.utilisation",
                               "Part of that time in which it works.", "0.85"),
                   &Operations::owned, &OwnershipFacts::utilisation),
      left_out(kind::quantity("operations.owned.staff", Dimension::spending,
                              "Pay of those who run it.", "3 MUSD/year"),
               &Operations::owned, &OwnershipFacts::staff),
      left_out(kind::quantity("operations.owned.upkeep", Dimension::spending,
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

std::vector<SectionKey<Operations>> power_keys() {
  return {
      group<Operations>("operations.power", "What energy is counted and what it costs."),
      left_out(kind::quantity("operations.power.electricity", Dimension::energy_price,
                              "Price of energy that rent does not include.", "0.08 USD/kWh"),
               &Operations::power, &PowerFacts::electricity),
      left_out({.path = "operations.power.pue",
                .kind = FieldKind::number,
                .help = "Power of the building over power of the machine.",
                .example = "1.2",
                .min = 1,
                .max = 10},
               &Operations::power, &PowerFacts::pue),
      left_out(host_watts(kind::quantity("operations.power.host", Dimension::power,
                                         "One host without its GPUs, these under load.", "2.2 kW")),
               &Operations::power, &PowerFacts::host),
      left_out(host_watts(kind::positive(
                   "operations.power.host_idle", Dimension::power,
                   "One host without its GPUs while these are idle; left out, 0.87 of "
                   "what it draws under load.",
                   "1.9 kW")),
               &Operations::power, &PowerFacts::host_idle),
      left_out({.path = "operations.power.hosts_per_rack",
                .kind = FieldKind::integer,
                .help = "Hosts of one rack, for its power; left out, those that NVLink joins.",
                .example = "4",
                .min = 1,
                .max = 100},
               &Operations::power, &PowerFacts::hosts_per_rack),
      left_out(host_watts(kind::quantity("operations.power.network", Dimension::power,
                                         "Switches and optics, per host.", "400 W")),
               &Operations::power, &PowerFacts::network),
      left_out(gpu_watts("operations.power.gpu_busy",
                         "One GPU while kernels run; left out, as in the device catalog.", "650 W"),
               &Operations::power, &PowerFacts::gpu_busy),
      left_out(
          gpu_watts("operations.power.gpu_waiting",
                    "One GPU that waits for others; left out, as in the device catalog.", "300 W"),
          &Operations::power, &PowerFacts::gpu_waiting),
      left_out(gpu_watts("operations.power.gpu_idle",
                         "One GPU without work; left out, as in the device catalog.", "120 W"),
               &Operations::power, &PowerFacts::gpu_idle),
      left_out(
          {.path = "operations.power.floor",
           .kind = FieldKind::number,
           .help = "Power smoothing: share of busy power that a GPU burns at least while steps "
                   "run.",
           .example = "0.7",
           .min = 0,
           .max = 1},
          &Operations::power, &PowerFacts::floor),
      left_out(kind::quantity("operations.power.carbon", Dimension::carbon,
                              "Carbon dioxide per energy of this grid.", "350 g/kWh"),
               &Operations::power, &PowerFacts::carbon_kg_per_joule),
  };
}

}  // namespace

std::vector<SectionKey<Operations>> operations_upkeep_keys() {
  return section::joined<Operations>({checkpoint_keys(), evaluation_keys(), batch_ramp_keys(),
                                      loading_keys(), money_keys(), power_keys()});
}

}  // namespace foretrain
