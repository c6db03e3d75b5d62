// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/scenario_fields_operations.hpp"

#include <utility>

#include "models/inputs/operations.hpp"

namespace foretrain {
namespace {

Field group(std::string path, std::string help) {
  return {.path = std::move(path), .kind = FieldKind::group, .help = std::move(help)};
}

Field quantity(std::string path, Dimension dimension, std::string help, std::string example) {
  return {.path = std::move(path),
          .kind = FieldKind::quantity,
          .help = std::move(help),
          .example = std::move(example),
          .dimension = dimension,
          .min = 0};
}

/// A time, rate or size that must be above zero.
Field positive(std::string path, Dimension dimension, std::string help, std::string example) {
  Field field = quantity(std::move(path), dimension, std::move(help), std::move(example));
  field.above_min = true;
  return field;
}

Field time(std::string path, std::string help, std::string example) {
  return quantity(std::move(path), Dimension::time, std::move(help), std::move(example));
}

Field number(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .kind = FieldKind::number,
          .help = std::move(help),
          .example = std::move(example),
          .min = 0};
}

Field integer(std::string path, std::string help, std::string example, double min) {
  return {.path = std::move(path),
          .kind = FieldKind::integer,
          .help = std::move(help),
          .example = std::move(example),
          .min = min,
          .max = 1000000};
}

/// Above zero, at most one.
Field share(std::string path, std::string help, std::string example, std::string standard = {}) {
  return {.path = std::move(path),
          .kind = FieldKind::number,
          .help = std::move(help),
          .example = std::move(example),
          .default_text = std::move(standard),
          .min = 0,
          .max = 1,
          .above_min = true};
}

Field flag(std::string path, std::string help) {
  return {.path = std::move(path),
          .kind = FieldKind::boolean,
          .help = std::move(help),
          .example = "true",
          .default_text = "false"};
}

Field due(Field field) {
  field.required = true;
  return field;
}

Field list(std::string path, std::string help) {
  return {.path = std::move(path), .kind = FieldKind::list, .help = std::move(help)};
}

std::vector<Field> interruption_fields() {
  const std::string base = "operations.interruptions";
  return {
      group("operations",
            "Facts of running the cluster; what is left out stays unknown in the forecast."),
      positive("operations.mean_time_between_interruptions", Dimension::time,
               "Average time from one interruption of the job to the next, all GPUs together.",
               "3.1 h"),
      group(base,
            "How often the job is interrupted without warning, where that is known per part: one "
            "of the forms below instead of mean_time_between_interruptions."),
      number(base + ".per_gpu_hour", "Interruptions per GPU and hour.", "0.0000197"),
      number(base + ".per_1000_node_days", "Interruptions per thousand hosts and day.", "6.5"),
      list(base + ".components", "Parts that fail by themselves; one failing stops the job."),
      due({.path = base + ".components[].name", .help = "What reports call it.", .example = "hbm"}),
      due({.path = base + ".components[].per",
           .kind = FieldKind::choice,
           .help = "How many there are: one per GPU, NIC, host or job.",
           .example = "gpu",
           .choices = choices_of<ComponentKind>()}),
      due(positive(base + ".components[].every", Dimension::time,
                   "Mean time between failures of one such part.", "50000 h")),
      list(base + ".curve",
           "Measured time between interruptions by job size; large jobs fail more often than "
           "their hosts' rate says."),
      due(integer(base + ".curve[].gpus", "Size of the job.", "1024", 1)),
      due(positive(base + ".curve[].every", Dimension::time, "Its mean time between interruptions.",
                   "7.9 h")),
      list(base + ".trace", "Interruptions of a recorded run, repeated in random order."),
      due(positive(base + ".trace[].at", Dimension::time, "Time after the start of the record.",
                   "3.2 h")),
      time(base + ".trace[].down", "From this one to training again; left out, as `recovery`.",
           "40 min"),
      {.path = base + ".trace_file",
       .help = "The same as a CSV file with the columns at,down (times with units), relative to "
               "this file.",
       .example = "interruptions.csv"},
      positive(base + ".planned_every", Dimension::time,
               "Time between stops that are announced, so that a checkpoint is taken first.",
               "1.1 d"),
      time(base + ".planned_pause", "How long such a stop takes until the checkpoint is loaded.",
           "20 min"),
  };
}

std::vector<Field> recovery_fields() {
  return {
      time("operations.restart",
           "From an interruption to training again: detection, rescheduling, loading the "
           "checkpoint.",
           "10 min"),
      group("operations.recovery", "The same part by part, instead of `restart`."),
      time("operations.recovery.detection", "Until the interruption is detected.", "3 min"),
      time("operations.recovery.reschedule", "Until hosts are chosen and processes run again.",
           "5 min"),
      time("operations.recovery.reload",
           "Until the checkpoint is in GPU memory; left out, its size over "
           "checkpoint.read_bandwidth.",
           "2 min"),
      time("operations.warm_up",
           "Lost at every start, beyond the restart, until steps run at full speed.", "1 min"),
      group("operations.spares", "Hosts that replace failed ones; left out, one is always there."),
      integer("operations.spares.hosts", "How many stand ready for this job.", "16", 0),
      positive("operations.spares.repair", Dimension::time,
               "Mean time until a host that was taken out is back.", "2 d"),
      share("operations.spares.share", "Part of the interruptions that take a host out.", "0.78",
            "1"),
      group("operations.fail_slow",
            "Hosts that become slow without failing (stragglers): all ranks wait for them."),
      positive("operations.fail_slow.every", Dimension::time,
               "Mean time between two such episodes anywhere in the job.", "2 d"),
      number("operations.fail_slow.per_1000_node_days", "The same per thousand hosts and day.",
             "1.5"),
      share("operations.fail_slow.pace", "Speed of the straggler's kernels; 1 is full speed.",
            "0.8"),
      positive("operations.fail_slow.lasts", Dimension::time,
               "Mean time until an episode is found or over.", "72 min"),
      flag("operations.fail_slow.restart",
           "Each episode ends in a restart without the slow host, after a checkpoint."),
      group("operations.preemption", "Spot capacity that is taken away and given back."),
      positive("operations.preemption.every", Dimension::time, "Mean time between two losses.",
               "8 h"),
      time("operations.preemption.notice",
           "Warning ahead of each: one that suffices for a checkpoint saves the work.", "2 min"),
      time("operations.preemption.wait", "Until capacity is back.", "30 min"),
      time("operations.queue", "Wait before the job first starts.", "6 h"),
      positive("operations.deadline", Dimension::time,
               "The run must end this long after submission; the forecast gives the probability.",
               "60 d"),
  };
}

std::vector<Field> checkpoint_fields() {
  return {
      group("operations.checkpoint", "Saving the state that a restart loads."),
      positive("operations.checkpoint.every", Dimension::time, "Time between two checkpoints.",
               "30 min"),
      integer("operations.checkpoint.every_steps", "The same in optimizer steps.", "100", 1),
      flag("operations.checkpoint.optimal", "Choose the interval that loses least time."),
      positive("operations.checkpoint.size", Dimension::bytes,
               "Of one checkpoint; left out, weights and optimizer states.", "2.3 TB"),
      positive("operations.checkpoint.write_bandwidth", Dimension::bandwidth,
               "Rate at which the whole job writes a checkpoint.", "200 GB/s"),
      positive("operations.checkpoint.read_bandwidth", Dimension::bandwidth,
               "Rate at which the whole job reads one.", "400 GB/s"),
      time("operations.checkpoint.stall",
           "Measured time that one stops training; left out, writing it (sync) or copying it to "
           "host memory (async).",
           "5 s"),
      {.path = "operations.checkpoint.mode",
       .kind = FieldKind::choice,
       .help = "sync stops training until it is written, async writes a copy in the background.",
       .example = "async",
       .default_text = "async",
       .choices = choices_of<CheckpointMode>()},
      group("operations.storage", "What checkpoints and training data share."),
      positive("operations.storage.read", Dimension::bandwidth, "Of the storage system.", "2 TB/s"),
      positive("operations.storage.write", Dimension::bandwidth, "Of the storage system.",
               "1 TB/s"),
      positive("operations.storage.host_link", Dimension::bandwidth,
               "One host's way to storage, per direction.", "25 GB/s"),
  };
}

std::vector<Field> flow_fields() {
  return {
      group("operations.evaluation", "Pauses of training for evaluation."),
      integer("operations.evaluation.every_steps", "Optimizer steps between two.", "1000", 1),
      time("operations.evaluation.pause", "How long one takes.", "3 min"),
      list("operations.batch_ramp",
           "Parts of the run with a smaller batch, in this order, before training.global_batch."),
      due(integer("operations.batch_ramp[].global_batch", "Sequences per optimizer step.", "512",
                  1)),
      due({.path = "operations.batch_ramp[].tokens",
           .kind = FieldKind::quantity,
           .help = "Tokens trained at this batch.",
           .example = "252 M",
           .dimension = Dimension::count,
           .min = 0,
           .above_min = true}),
      group("operations.data_loading", "Where input may fall behind training."),
      integer("operations.data_loading.workers",
              "Loader processes of one data-parallel rank (of the one process with "
              "parallel.processes: per-host), a core each.",
              "4", 1),
      {.path = "operations.data_loading.tokens_per_worker",
       .kind = FieldKind::quantity,
       .help = "Tokens per second that one of them prepares.",
       .example = "500 k",
       .dimension = Dimension::count,
       .min = 0,
       .above_min = true},
      {.path = "operations.data_loading.bytes_per_token",
       .kind = FieldKind::number,
       .help = "Read from operations.storage per token.",
       .example = "4",
       .min = 0,
       .above_min = true},
  };
}

std::vector<Field> money_fields() {
  return {
      quantity("operations.price", Dimension::price, "Rent of one GPU.", "2.5 USD/GPU-hour"),
      {.path = "operations.prices_as_of",
       .help = "Day that all prices of this file are of, YYYY-MM-DD.",
       .example = "2026-11-01"},
      group("operations.owned", "A machine that is bought instead of rented."),
      quantity("operations.owned.gpu", Dimension::money,
               "Price of one GPU with its share of the host.", "35 kUSD"),
      quantity("operations.owned.network", Dimension::money, "Network per GPU.", "4 kUSD"),
      quantity("operations.owned.storage", Dimension::money, "Storage per GPU.", "1 kUSD"),
      positive("operations.owned.lifetime", Dimension::time, "Over which it is depreciated.",
               "1460 d"),
      share("operations.owned.utilisation", "Part of that time in which it works.", "0.85", "1"),
      quantity("operations.owned.staff", Dimension::spending, "Pay of those who run it.",
               "3 MUSD/year"),
      quantity("operations.owned.upkeep", Dimension::spending,
               "Support contracts and rent of the building.", "1.5 MUSD/year"),
      group("operations.power", "What energy is counted and what it costs."),
      quantity("operations.power.electricity", Dimension::energy_price,
               "Price of energy that rent does not include.", "0.08 USD/kWh"),
      {.path = "operations.power.pue",
       .kind = FieldKind::number,
       .help = "Power of the building over power of the machine.",
       .example = "1.2",
       .min = 1,
       .max = 10},
      quantity("operations.power.host", Dimension::power, "One host without its GPUs.", "2.2 kW"),
      quantity("operations.power.network", Dimension::power, "Switches and optics, per host.",
               "400 W"),
      positive("operations.power.gpu_busy", Dimension::power,
               "One GPU while kernels run; left out, as in the device catalog.", "650 W"),
      positive("operations.power.gpu_waiting", Dimension::power,
               "One GPU that waits for others; left out, as in the device catalog.", "300 W"),
      positive("operations.power.gpu_idle", Dimension::power,
               "One GPU without work; left out, as in the device catalog.", "120 W"),
      quantity("operations.power.carbon", Dimension::carbon,
               "Carbon dioxide per energy of this grid.", "350 g/kWh"),
  };
}

}  // namespace

std::vector<Field> operations_fields() {
  std::vector<Field> all;
  for (const std::vector<Field>& part : {interruption_fields(), recovery_fields(),
                                         checkpoint_fields(), flow_fields(), money_fields()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace foretrain
