// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/record_networks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "calibration/records/internal/words.hpp"
#include "calibration/records/measured_data.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

/// A line about training runs.
struct RunNetwork {
  std::vector<std::string> words;
  std::string fabric;
  std::optional<BytesPerSecond> up_to;
  bool otherwise = false;
};

struct SweepLine {
  std::vector<std::string> words;
  SweepNetwork network;
};

struct RecordNetworks {
  std::vector<RunNetwork> runs;
  std::vector<SweepLine> sweeps;
  std::vector<std::string> apart;  ///< words of hosts that share no scale-up domain
};

Field words_key(const char* path, const char* example) {
  return {.path = path,
          .kind = FieldKind::text_list,
          .help = "Any of these in what the record says.",
          .example = example,
          .required = true};
}

Field rate_key(const char* path, const char* help) {
  return {.path = path,
          .kind = FieldKind::quantity,
          .help = help,
          .example = "200 Gbit/s",
          .dimension = Dimension::bandwidth,
          .min = 0,
          .above_min = true};
}

const FieldTable& network_fields() {
  static const FieldTable table(
      "Networks of records",
      {schema_field(),
       {.path = "runs", .kind = FieldKind::list, .help = "Of training runs; the first that fits."},
       words_key("runs[].words", "[EFA]"),
       {.path = "runs[].fabric", .help = "Fabric preset.", .example = "efa-p5", .required = true},
       rate_key("runs[].up_to", "Fastest NIC that it stands for."),
       {.path = "runs[].otherwise",
        .kind = FieldKind::boolean,
        .help = "Stands for what has the words of no line as well.",
        .example = "true",
        .default_text = "false"},
       {.path = "apart",
        .kind = FieldKind::text_list,
        .help = "Any of these in a size sweep: scale-up links end at the host.",
        .example = "[MNNVL off]"},
       {.path = "sweeps", .kind = FieldKind::list, .help = "Of size sweeps; the first that fits."},
       words_key("sweeps[].words", "[EFA v2]"),
       {.path = "sweeps[].why",
        .help = "Why such a network cannot be expressed.",
        .example = "the network is not stated"},
       {.path = "sweeps[].fabric", .help = "Fabric preset.", .example = "efa-p5"},
       {.path = "sweeps[].nics",
        .kind = FieldKind::integer,
        .help = "NICs of a host with eight GPUs.",
        .example = "8",
        .min = 1,
        .max = 1024},
       rate_key("sweeps[].rate", "Of one NIC; left out, that of the host's own."),
       {.path = "sweeps[].fitted",
        .kind = FieldKind::boolean,
        .help = "Constants of the fabric are fitted to such sweeps.",
        .example = "false",
        .default_text = "true"}});
  return table;
}

SweepLine sweep_line(const FieldValues& values, const std::string& at, Diagnostics& diagnostics) {
  SweepLine line{values.at(at + "words").texts, {}};
  SweepNetwork& network = line.network;
  if (values.has(at + "why")) network.why = values.text(at + "why");
  if (values.has(at + "fabric")) network.fabric = values.text(at + "fabric");
  if (values.has(at + "nics")) network.nics = values.integer(at + "nics");
  network.rate = values.optional_quantity<BytesPerSecond>(at + "rate");
  network.fitted = values.boolean(at + "fitted");
  if (network.why.empty() == (network.fabric.empty() || network.nics == 0))
    diagnostics.add(values.where(at + "words"), at + "words",
                    "a line says either why, or fabric and nics");
  return line;
}

RecordNetworks read_record_networks() {
  Diagnostics diagnostics;
  const FieldValues values = read_measured_data("networks.yaml", network_fields(), diagnostics);
  RecordNetworks networks;
  for (int i = 0; i < values.list_size("runs"); ++i) {
    const std::string at = fmt::format("runs[{}].", i);
    networks.runs.push_back({values.at(at + "words").texts, values.text(at + "fabric"),
                             values.optional_quantity<BytesPerSecond>(at + "up_to"),
                             values.boolean(at + "otherwise")});
  }
  for (int i = 0; i < values.list_size("sweeps"); ++i)
    networks.sweeps.push_back(sweep_line(values, fmt::format("sweeps[{}].", i), diagnostics));
  if (values.has("apart")) networks.apart = values.at("apart").texts;
  if (networks.runs.empty() || !networks.runs.back().otherwise || networks.runs.back().up_to)
    diagnostics.add(values.where("runs"), "runs",
                    "the last line stands for every other network: otherwise: true, no up_to");
  diagnostics.throw_if_any();
  return networks;
}

const RecordNetworks& record_networks() {
  static const RecordNetworks networks = read_record_networks();
  return networks;
}

bool has_any(const std::string& words, const std::vector<std::string>& parts) {
  return std::ranges::any_of(parts, [&](const std::string& part) { return has_part(words, part); });
}

}  // namespace

std::optional<SweepNetwork> sweep_network(const std::string& words) {
  for (const SweepLine& line : record_networks().sweeps)
    if (has_any(words, line.words)) return line.network;
  return std::nullopt;
}

bool shares_domains(const std::string& words) { return !has_any(words, record_networks().apart); }

std::string run_fabric(const std::string& words, BytesPerSecond nic, const Host& host) {
  const std::vector<RunNetwork>& lines = record_networks().runs;
  const auto fast_enough = [&](const RunNetwork& line) {
    return !line.up_to || nic <= *line.up_to;
  };
  const bool named = std::ranges::any_of(
      lines, [&](const RunNetwork& line) { return has_any(words, line.words); });
  if (!named && nic == host.nic.bandwidth) return host.nic.name;
  const auto found = std::ranges::find_if(lines, [&](const RunNetwork& line) {
    return fast_enough(line) && (named ? has_any(words, line.words) : line.otherwise);
  });
  FORETRAIN_REQUIRE(found != lines.end());
  return found->fabric;
}

}  // namespace foretrain
