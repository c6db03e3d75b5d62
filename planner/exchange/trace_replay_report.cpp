// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "planner/exchange/trace_replay.hpp"
#include "planner/text/format.hpp"

namespace foretrain {

std::string trace_replay_text(const TraceReplay& replay, const TextStyle&) {
  std::string text =
      fmt::format("Replay: {}, {} ranks, {} nodes, {} exchanges\n\n", seconds_text(replay.time),
                  replay.ranks.size(), replay.nodes, replay.exchanges);
  text += replay.recorded ? "  Communication takes the recorded time.\n"
                          : fmt::format("  Communication is priced and shares links: {} flows.\n",
                                        replay.flows);
  const auto by = [&](auto member) {
    return std::minmax_element(
        replay.ranks.begin(), replay.ranks.end(),
        [&](const RankUse& a, const RankUse& b) { return a.*member < b.*member; });
  };
  if (!replay.ranks.empty()) {
    const auto row = [&](const char* name, auto member) {
      const auto [least, most] = by(member);
      text += fmt::format("  {:<15}{:>12} (rank {}) to {:>12} (rank {})\n", name,
                          seconds_text((*least).*member), least - replay.ranks.begin(),
                          seconds_text((*most).*member), most - replay.ranks.begin());
    };
    row("ends", &RankUse::end);
    row("computes", &RankUse::compute);
    row("communicates", &RankUse::communication);
  }
  if (!replay.links.empty()) text += "\nBusiest links\n";
  for (const BusyLink& link : replay.links)
    text += fmt::format("  {:<24}{:>11}, {:4.1f} % of what it can carry, busy {:4.1f} %\n",
                        link.name, bytes_text(link.bytes), 100.0 * link.used, 100.0 * link.busy);
  for (const std::string& note : replay.notes) text += "\nnote: " + note;
  return text + (replay.notes.empty() ? "" : "\n");
}

std::string trace_replay_json(const TraceReplay& replay) {
  nlohmann::ordered_json root;
  root["schema"] = "replay/1";
  root["time_s"] = replay.time.value();
  root["communication"] = replay.recorded ? "recorded" : "priced";
  root["nodes"] = replay.nodes;
  root["exchanges"] = replay.exchanges;
  root["flows"] = replay.flows;
  root["ranks"] = nlohmann::ordered_json::array();
  for (const RankUse& rank : replay.ranks)
    root["ranks"].push_back({{"end_s", rank.end.value()},
                             {"compute_s", rank.compute.value()},
                             {"communication_s", rank.communication.value()}});
  root["links"] = nlohmann::ordered_json::array();
  for (const BusyLink& link : replay.links)
    root["links"].push_back({{"name", link.name},
                             {"bytes", link.bytes.value()},
                             {"busy", link.busy},
                             {"utilisation", link.used}});
  root["notes"] = replay.notes;
  return root.dump(2) + "\n";
}

}  // namespace foretrain
