// SPDX-License-Identifier: Apache-2.0
#include "models/grid/process_grid.hpp"
#include "planner/answer/prediction_parts.hpp"
#include "planner/answer/value_json.hpp"
#include "planner/forecast/fit_room.hpp"

namespace foretrain {
namespace {

struct ItemShown {
  const MemoryItemInfo& info;
  Bytes size;
};

const ValueTable<ItemShown> item_values =
    ValueTable<ItemShown>{}
        .add("name", [](const ItemShown& item) { return item.info.name; })
        .add("category",
             [](const ItemShown& item) { return memory_category_name(item.info.category); })
        .add("bytes", &ItemShown::size)
        .add("reason", [](const ItemShown& item) { return item.info.reason; });

void add_items(const MemoryBytes& bytes, std::vector<ItemShown>& items) {
  for (std::size_t i = 0; i < memory_items; ++i)
    if (bytes.of[i] > 0.0)
      items.push_back({memory_item_info(static_cast<MemoryItem>(i)), Bytes{bytes.of[i]}});
}

void add_categories(ValueTable<StageMemory>& table, bool counted_only) {
  for (const MemoryPart& part : memory_parts())
    if (part.counted || !counted_only) table.add(part.json_key(), part.size, part.meaning);
}

const ValueTable<StageMemory> phase_values = [] {
  ValueTable<StageMemory> rows;
  rows.add("phase", &StageMemory::phase).add("allocated_bytes", &StageMemory::allocated);
  add_categories(rows, true);
  return rows;
}();

/// A stage beside what it allocates, row by row.
struct StageShown {
  const StageMemory& stage;
  const StageAccount& account;
  Bytes usable;
};

std::vector<ItemShown> items_of(const StageShown& shown) {
  std::vector<ItemShown> items;
  add_items(shown.account.at(shown.account.peak_phase), items);
  add_items(shown.account.outside, items);
  return items;
}

std::vector<StageMemory> phases_of(const StageShown& shown) {
  std::vector<StageMemory> phases;
  for (std::size_t p = 0; p < memory_phases; ++p) {
    StageMemory memory = phase_memory(shown.account, static_cast<MemoryPhase>(p));
    if (memory.allocated != Bytes{}) phases.push_back(std::move(memory));
  }
  return phases;
}

const ValueTable<StageMemory> stage_sizes = [] {
  ValueTable<StageMemory> rows;
  add_categories(rows, false);
  return rows
      .add("resident_bytes", &StageMemory::resident, "Bytes that stay allocated between steps.")
      .add("allocated_bytes", &StageMemory::allocated,
           "What torch reports as max_memory_allocated.")
      .add("reserved_bytes", &StageMemory::reserved, "What torch reports as max_memory_reserved.")
      .add("device_bytes", &StageMemory::peak, "What the device counter shows.")
      .add("host_bytes", &StageMemory::host, "Bytes offloaded to host memory.")
      .add("to_host_bytes_per_step", &StageMemory::to_host)
      .add("to_device_bytes_per_step", &StageMemory::to_device);
}();

const ValueTable<StageShown> stage_values =
    ValueTable<StageShown>{}
        .add("stage", [](const StageShown& shown) { return shown.stage.stage; })
        .add("layers", [](const StageShown& shown) { return shown.stage.layers; })
        .add("fits", [](const StageShown& shown) { return shown.stage.peak <= shown.usable; })
        .add("peak_phase", [](const StageShown& shown) { return shown.stage.phase; })
        .add_from(stage_sizes.rows(), "",
                  [](const StageShown& shown) -> const StageMemory& { return shown.stage; })
        .add("rows", items_of, item_values, "What is allocated at the peak, item by item.")
        .add("phases", phases_of, phase_values, "Memory in each phase of a step.");

struct RankShown {
  int rank = 0;
  RankPlace place;
  const StageMemory& stage;
};

RankShown rank_of(const Parallel& parallel, int rank, const MemoryForecast& memory) {
  const RankPlace place = ProcessGrid{parallel}.place(rank);
  const bool other = memory.replica && rank > 0;
  return {rank, place,
          other ? *memory.replica : memory.stages[static_cast<std::size_t>(place.stage)]};
}

const ValueTable<RankShown>& rank_values() {
  using R = const RankShown&;
  const auto place = [](auto RankPlace::*number) {
    return [number](R shown) { return shown.place.*number; };
  };
  const auto size = [](Bytes StageMemory::*bytes) {
    return [bytes](R shown) { return shown.stage.*bytes; };
  };
  static const auto table = ValueTable<RankShown>{}
                                .add("rank", &RankShown::rank)
                                .add("stage", place(&RankPlace::stage))
                                .add("data", place(&RankPlace::data))
                                .add("context", place(&RankPlace::context))
                                .add("tensor", place(&RankPlace::tensor))
                                .add("expert", place(&RankPlace::expert))
                                .add("expert_tensor", place(&RankPlace::expert_tensor))
                                .add("allocated_bytes", size(&StageMemory::allocated))
                                .add("reserved_bytes", size(&StageMemory::reserved))
                                .add("device_bytes", size(&StageMemory::peak));
  return table;
}

const ValueTable<Change> change_values =
    ValueTable<Change>{}
        .add("set", &Change::settings, "Settings of the change, as for --set.")
        .add("peak_bytes", &Change::peak)
        .add("step_s", &Change::step, "Step time after the change; null: not modelled.")
        .add(
            "gives_up", [](const Change& change) { return if_any(change.gives_up); },
            "What the change gives up in training quality; null: nothing.");

const ValueTable<TriedChange> tried_values =
    ValueTable<TriedChange>{}
        .add_from(change_values.rows(), "",
                  [](const TriedChange& tried) -> const Change& { return tried.change; })
        .add("name", &TriedChange::name)
        .add("costs", &TriedChange::costs, "What the change costs, as far as known.")
        .add("fits", &TriedChange::fits);

const ValueTable<Room> room_values =
    ValueTable<Room>{}
        .add("key", &Room::key)
        .add("now", &Room::now)
        .add("largest", &Room::largest, "Largest value that is legal and fits; null: none.")
        .add("peak_bytes", &Room::peak, "Peak memory with the largest value.")
        .add("bound", &Room::bound, "What limits growth: memory, a rule, or the search.")
        .add("rule", [](const Room& room) { return if_any(room.rule); })
        .add("why", &Room::why, "Why it cannot grow further.");

struct FitShown {
  const FitReport& report;
  const FitView& view;
};

std::vector<StageShown> stages_of(const FitShown& shown) {
  std::vector<StageShown> stages;
  const MemoryForecast& memory = *shown.report.memory;
  for (std::size_t s = 0; s < memory.stages.size(); ++s)
    stages.push_back({memory.stages[s], shown.report.accounts[s], memory.usable});
  return stages;
}

auto end_of(ByteRange MemoryBand::*range, Bytes ByteRange::*end) {
  return [range, end](const MemoryBand& band) { return band.*range.*end; };
}

const ValueTable<MemoryBand> band_values =
    ValueTable<MemoryBand>{}
        .add("low_bytes", &MemoryBand::low)
        .add("high_bytes", &MemoryBand::high)
        .add("share", &MemoryBand::share)
        .add("reserved_share", &MemoryBand::reserved_share)
        .add("allocated_low_bytes", end_of(&MemoryBand::allocated, &ByteRange::low))
        .add("allocated_high_bytes", end_of(&MemoryBand::allocated, &ByteRange::high))
        .add("reserved_low_bytes", end_of(&MemoryBand::reserved, &ByteRange::low))
        .add("reserved_high_bytes", end_of(&MemoryBand::reserved, &ByteRange::high));

/// What a plan that is not legal has not, so that its JSON ends before it.
const ValueTable<FitShown>& memory_values() {
  using R = const FitShown&;
  const auto of_memory = [](auto MemoryForecast::*member) {
    return [member](R shown) { return (*shown.report.memory).*member; };
  };
  using M = MemoryForecast;
  static const auto table =
      ValueTable<FitShown>{}
          .add("capacity_bytes", of_memory(&M::capacity), "Nominal memory of a GPU.")
          .add("usable_bytes", of_memory(&M::usable), "What the driver offers to one process.")
          .add("peak_bytes", of_memory(&M::peak), "Device memory of the stage that needs most.")
          .add(
              "headroom_bytes",
              [](R shown) { return shown.report.memory->usable - shown.report.memory->peak; },
              "Usable memory minus the peak; negative where the plan does not fit.")
          .as(Measure::count)
          .add_from(
              band_values.rows(), "",
              [](R shown) -> const MemoryBand& { return shown.report.band; }, "band.")
          .add("band.stack", [](R shown) { return shown.report.scenario.job.stack.name; })
          .add("peak_stage", of_memory(&M::peak_stage))
          .add("selected_stage",
               [](R shown) { return shown.view.stage.value_or(shown.report.memory->peak_stage); })
          .add(
              "heaviest_rank",
              [](R shown) {
                return shown.report.memory->replica ? std::optional(0) : std::nullopt;
              },
              "Rank with most memory, only where one process drives all GPUs.")
          .left_out()
          .add("other_ranks_peak_bytes",
               [](R shown) {
                 const auto& replica = shown.report.memory->replica;
                 return replica ? std::optional(replica->peak) : std::nullopt;
               })
          .left_out()
          .add(
              "rank",
              [](R shown) {
                return shown.view.rank ? std::optional<RankShown>(
                                             rank_of(shown.report.scenario.job.parallel,
                                                     *shown.view.rank, *shown.report.memory))
                                       : std::nullopt;
              },
              rank_values(), "The rank that was asked about.")
          .left_out()
          .add("stages", stages_of, stage_values)
          .add(
              "changes", [](R shown) { return shown.report.changes; }, change_values,
              "Changes that make the plan fit, fastest first.")
          .add(
              "tried", [](R shown) { return shown.report.tried; }, tried_values,
              "Usual changes on one host or less, one at a time.")
          .add(
              "room", [](R shown) { return shown.report.room; }, room_values,
              "How far micro-batch, sequence and layers can grow.");
  return table;
}

ValueTable<FitShown> make_fit_table() {
  using R = const FitShown&;
  ValueTable<FitShown> table{"memory/1", "foretrain fit --json, schema memory/1; null is unknown"};
  table.add("name", [](R shown) { return shown.report.scenario.job.name; })
      .add("verdict", [](R shown) { return shown.report.verdict; })
      .add(
          "reasons", [](R shown) { return shown.report.reasons; }, reason_values())
      .add(
          "not_modelled", [](R shown) { return shown.report.not_forecast; }, reason_values(),
          "Why a legal plan has no step time.");
  for (const ValueRow& row : memory_values().rows().rows)
    table
        .add_from(memory_values().rows(), row.path,
                  [](R shown) { return shown.report.memory ? &shown : nullptr; })
        .left_out();
  return table;
}

const ValueTable<FitShown>& fit_table() {
  static const auto table = make_fit_table();
  return table;
}

}  // namespace

std::string fit_json(const FitReport& report, const FitView& view) {
  return json_text(fit_table(), FitShown{report, view});
}

const ValueRows& fit_document() { return fit_table().rows(); }

}  // namespace foretrain
