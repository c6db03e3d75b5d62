// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/fit.hpp"

#include "models/grid/process_grid.hpp"
#include "planner/answer/memory_part.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

Json bytes(Bytes size) { return number_or_null(size.value()); }

void add_rows(const MemoryBytes& rows, Json& list) {
  for (std::size_t i = 0; i < memory_items; ++i) {
    if (rows.of[i] <= 0.0) continue;
    const MemoryItemInfo& info = memory_item_info(static_cast<MemoryItem>(i));
    list.push_back({{"name", info.name},
                    {"category", memory_category_name(info.category)},
                    {"bytes", bytes(Bytes{rows.of[i]})},
                    {"reason", info.reason}});
  }
}

void add_categories(const StageMemory& memory, Json& tree) {
  for (const MemoryPart& part : memory_parts()) tree[part.json_key()] = bytes(memory.*part.size);
}

Json phases_tree(const StageAccount& account) {
  Json phases = Json::array();
  for (std::size_t p = 0; p < memory_phases; ++p) {
    const StageMemory memory = phase_memory(account, static_cast<MemoryPhase>(p));
    if (memory.allocated == Bytes{}) continue;
    Json phase{{"phase", memory.phase}, {"allocated_bytes", bytes(memory.allocated)}};
    for (const MemoryPart& part : memory_parts())
      if (part.counted) phase[part.json_key()] = bytes(memory.*part.size);
    phases.push_back(std::move(phase));
  }
  return phases;
}

Json stage_tree(const FitReport& report, std::size_t index) {
  const StageMemory& stage = report.memory->stages[index];
  const StageAccount& account = report.accounts[index];
  Json tree{{"stage", stage.stage},
            {"layers", stage.layers},
            {"fits", stage.peak <= report.memory->usable},
            {"peak_phase", stage.phase}};
  add_categories(stage, tree);
  tree["resident_bytes"] = bytes(stage.resident);
  tree["allocated_bytes"] = bytes(stage.allocated);
  tree["reserved_bytes"] = bytes(stage.reserved);
  tree["device_bytes"] = bytes(stage.peak);
  tree["host_bytes"] = bytes(stage.host);
  tree["to_host_bytes_per_step"] = bytes(stage.to_host);
  tree["to_device_bytes_per_step"] = bytes(stage.to_device);
  Json rows = Json::array();
  add_rows(account.at(account.peak_phase), rows);
  add_rows(account.outside, rows);
  tree["rows"] = std::move(rows);
  tree["phases"] = phases_tree(account);
  return tree;
}

Json rank_tree(const Parallel& parallel, int rank, const MemoryForecast& memory) {
  const RankPlace place = ProcessGrid{parallel}.place(rank);
  const bool other = memory.replica && rank > 0;
  const StageMemory& stage =
      other ? *memory.replica : memory.stages[static_cast<std::size_t>(place.stage)];
  return {{"rank", rank},
          {"stage", place.stage},
          {"data", place.data},
          {"context", place.context},
          {"tensor", place.tensor},
          {"expert", place.expert},
          {"expert_tensor", place.expert_tensor},
          {"allocated_bytes", bytes(stage.allocated)},
          {"reserved_bytes", bytes(stage.reserved)},
          {"device_bytes", bytes(stage.peak)}};
}

Json change_tree(const Change& change) {
  return {{"set", change.settings},
          {"peak_bytes", bytes(change.peak)},
          {"step_s", change.step ? number_or_null(change.step->value()) : Json(nullptr)},
          {"gives_up", change.gives_up.empty() ? Json(nullptr) : Json(change.gives_up)}};
}

Json changes_tree(const std::vector<Change>& changes) {
  Json list = Json::array();
  for (const Change& change : changes) list.push_back(change_tree(change));
  return list;
}

Json tried_tree(const std::vector<TriedChange>& tried) {
  Json list = Json::array();
  for (const TriedChange& row : tried) {
    Json tree = change_tree(row.change);
    tree["name"] = row.name;
    tree["costs"] = row.costs;
    tree["fits"] = row.fits;
    list.push_back(std::move(tree));
  }
  return list;
}

Json room_tree(const std::vector<Room>& rooms) {
  Json list = Json::array();
  for (const Room& room : rooms)
    list.push_back({{"key", room.key},
                    {"now", room.now},
                    {"largest", room.largest ? Json(*room.largest) : Json(nullptr)},
                    {"peak_bytes", room.peak ? bytes(*room.peak) : Json(nullptr)},
                    {"bound", name_of(room.bound)},
                    {"rule", room.rule.empty() ? Json(nullptr) : Json(room.rule)},
                    {"why", room.why}});
  return list;
}

Json reasons_tree(const std::vector<Infeasible>& reasons) {
  Json list = Json::array();
  for (const Infeasible& reason : reasons)
    list.push_back({{"rule", reason.rule},
                    {"key", reason.key},
                    {"message", reason.message},
                    {"remedy", reason.remedy}});
  return list;
}

}  // namespace

std::string fit_json(const FitReport& report, const FitView& view) {
  const Job& job = report.scenario.job;
  Json tree{{"schema", "memory/1"},
            {"foretrain_version", version},
            {"name", job.name},
            {"verdict", name_of(report.verdict)},
            {"reasons", reasons_tree(report.reasons)},
            {"not_modelled", reasons_tree(report.not_forecast)}};
  if (!report.memory) return dump(tree);
  const MemoryForecast& memory = *report.memory;
  tree["capacity_bytes"] = bytes(memory.capacity);
  tree["usable_bytes"] = bytes(memory.usable);
  tree["peak_bytes"] = bytes(memory.peak);
  tree["headroom_bytes"] = bytes(memory.usable - memory.peak);
  tree["band"] = {{"low_bytes", bytes(report.band.low)},
                  {"high_bytes", bytes(report.band.high)},
                  {"share", report.band.share},
                  {"reserved_share", report.band.reserved_share},
                  {"allocated_low_bytes", bytes(report.band.allocated.low)},
                  {"allocated_high_bytes", bytes(report.band.allocated.high)},
                  {"reserved_low_bytes", bytes(report.band.reserved.low)},
                  {"reserved_high_bytes", bytes(report.band.reserved.high)},
                  {"stack", job.stack.name}};
  tree["peak_stage"] = memory.peak_stage;
  tree["selected_stage"] = view.stage.value_or(memory.peak_stage);
  if (memory.replica) {
    tree["heaviest_rank"] = 0;
    tree["other_ranks_peak_bytes"] = bytes(memory.replica->peak);
  }
  if (view.rank) tree["rank"] = rank_tree(job.parallel, *view.rank, memory);
  Json stages = Json::array();
  for (std::size_t s = 0; s < memory.stages.size(); ++s) stages.push_back(stage_tree(report, s));
  tree["stages"] = std::move(stages);
  tree["changes"] = changes_tree(report.changes);
  tree["tried"] = tried_tree(report.tried);
  tree["room"] = room_tree(report.room);
  return dump(tree);
}

}  // namespace foretrain
