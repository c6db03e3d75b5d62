// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>

#include "topologies/imports/network_description.hpp"

namespace foretrain {
namespace {

using imports::import_lines;
using imports::in_quotes;
using imports::printable;

/// Without the escape sequences that underline the header.
std::string without_escapes(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && !(line[i] >= '@' && line[i] <= '~')) ++i;
      continue;
    }
    plain += line[i];
  }
  return plain;
}

/// 3 of GPU3; nothing for other words.
std::optional<int> index_after(std::string_view prefix, std::string_view word) {
  return word.starts_with(prefix) ? count_in(word.substr(prefix.size())) : std::nullopt;
}

struct Matrix {
  int header_line = 0;
  int gpus = 0;
  int nics = 0;                                  ///< columns of them
  std::vector<std::vector<int>> lanes;           ///< 0: none
  std::vector<std::vector<std::string>> to_nic;  ///< by GPU and NIC: PIX, PXB, ...
  std::vector<bool> seen;                        ///< rows
  std::vector<std::string> nic_names;            ///< by the legend; "mlx5_0" also as a column
  std::vector<int> threads;                      ///< upper ends of CPU affinities, for a count
};

bool is_header(const std::vector<std::string_view>& cells) {
  return !cells.empty() && cells.front() == "GPU0" &&
         std::ranges::none_of(cells, [](std::string_view cell) { return cell == "X"; });
}

bool is_nic_column(std::string_view word) {
  return index_after("NIC", word) || index_after("mlx5_", word) || index_after("mlx4_", word);
}

void read_header(const std::vector<std::string_view>& cells, int line, Matrix& matrix) {
  matrix.header_line = line;
  for (const std::string_view cell : cells) {
    if (const auto gpu = index_after("GPU", cell)) {
      if (*gpu != matrix.gpus || matrix.nics > 0)
        throw ImportError(line, in_quotes(cell) +
                                    " is out of order; columns are GPU0, GPU1, ... and "
                                    "then NICs");
      ++matrix.gpus;
    } else if (is_nic_column(cell)) {
      matrix.nic_names.emplace_back(cell);
      ++matrix.nics;
    } else {
      break;  // CPU Affinity, NUMA Affinity, GPU NUMA ID
    }
  }
  if (matrix.gpus > import_host_gpus)
    throw ImportError(line, "has " + std::to_string(matrix.gpus) + " GPUs, more than " +
                                std::to_string(import_host_gpus));
  const auto gpus = static_cast<std::size_t>(matrix.gpus);
  matrix.lanes.assign(gpus, std::vector<int>(gpus, 0));
  matrix.to_nic.assign(gpus, {});
  matrix.seen.assign(gpus, false);
}

/// Lanes of a cell; 0 for a way over PCIe.
int lanes_of(std::string_view cell, int line) {
  if (const auto lanes = index_after("NV", cell); lanes && *lanes >= 1 && *lanes <= 64)
    return *lanes;
  for (const std::string_view way : {"PIX", "PXB", "PHB", "NODE", "SYS", "SOC"})
    if (cell == way) return 0;
  throw ImportError(line, in_quotes(cell) +
                              " is not a connection; legal: X, NV#, PIX, PXB, PHB, NODE, "
                              "SYS");
}

void read_gpu_row(const std::vector<std::string_view>& cells, int gpu, int line, Matrix& matrix) {
  const std::size_t wanted = std::size_t{1} + static_cast<std::size_t>(matrix.gpus) +
                             static_cast<std::size_t>(matrix.nics);
  if (gpu >= matrix.gpus || matrix.seen[static_cast<std::size_t>(gpu)])
    throw ImportError(line, "a second row or no column for " + in_quotes(cells.front()));
  if (cells.size() < wanted)
    throw ImportError(line, "has " + std::to_string(cells.size() - 1) +
                                " cells where the header "
                                "has " +
                                std::to_string(wanted - 1) + " GPUs and NICs");
  const auto row = static_cast<std::size_t>(gpu);
  matrix.seen[row] = true;
  for (int other = 0; other < matrix.gpus; ++other) {
    const std::string_view cell = cells[static_cast<std::size_t>(other) + 1];
    if ((cell == "X") != (other == gpu))
      throw ImportError(line, in_quotes(cell) + " stands where GPU" + std::to_string(gpu) +
                                  " meets GPU" + std::to_string(other) +
                                  "; X marks the diagonal and nothing else");
    if (other != gpu) matrix.lanes[row][static_cast<std::size_t>(other)] = lanes_of(cell, line);
  }
  for (std::size_t i = static_cast<std::size_t>(matrix.gpus) + 1; i < wanted; ++i) {
    (void)lanes_of(cells[i], line);
    matrix.to_nic[row].emplace_back(cells[i]);
  }
  if (cells.size() > wanted && cells[wanted].find('-') != std::string_view::npos) {
    const std::string_view affinity = cells[wanted];
    if (const auto last = count_in(affinity.substr(affinity.find_last_of("-,") + 1)))
      matrix.threads.push_back(*last + 1);
  }
}

/// Names of the NIC legend replace NIC0, NIC1, ...
void read_legend(const std::vector<std::string_view>& cells, Matrix& matrix) {
  if (cells.size() != 2 || !cells[0].ends_with(':')) return;
  const auto nic = index_after("NIC", cells[0].substr(0, cells[0].size() - 1));
  if (nic && *nic < matrix.nics)
    matrix.nic_names[static_cast<std::size_t>(*nic)] = printable(cells[1]);
}

Matrix read_matrix(std::string_view text) {
  Matrix matrix;
  int number = 0;
  for (const std::string_view raw : import_lines(text)) {
    ++number;
    const std::string line = without_escapes(raw);
    const auto cells = blank_words(line);
    if (cells.empty()) continue;
    if (matrix.gpus == 0) {
      if (is_header(cells)) read_header(cells, number, matrix);
    } else if (const auto gpu = index_after("GPU", cells.front())) {
      read_gpu_row(cells, *gpu, number, matrix);
    } else {
      read_legend(cells, matrix);
    }
  }
  if (matrix.gpus == 0)
    throw ImportError(0, "has no header line GPU0 GPU1 ...; write it with nvidia-smi topo -m");
  for (std::size_t gpu = 0; gpu < matrix.seen.size(); ++gpu)
    if (!matrix.seen[gpu])
      throw ImportError(matrix.header_line, "there is no row for GPU" + std::to_string(gpu));
  for (std::size_t i = 0; i < matrix.lanes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (matrix.lanes[i][j] != matrix.lanes[j][i])
        throw ImportError(matrix.header_line, "GPU" + std::to_string(i) + " and GPU" +
                                                  std::to_string(j) + " are joined by " +
                                                  std::to_string(matrix.lanes[i][j]) + " and by " +
                                                  std::to_string(matrix.lanes[j][i]) + " lanes");
  return matrix;
}

bool behind_same_switch(const std::string& way) { return way == "PIX" || way == "PXB"; }

std::vector<FoundNic> gpu_nics(const Matrix& matrix, ImportNotes& notes) {
  std::vector<FoundNic> near;
  std::vector<FoundNic> far;
  for (int nic = 0; nic < matrix.nics; ++nic) {
    const auto index = static_cast<std::size_t>(nic);
    const bool close = std::ranges::any_of(
        matrix.to_nic, [&](const auto& row) { return behind_same_switch(row[index]); });
    (close ? near : far).push_back({matrix.nic_names[index], 0.0, NicTechnology::unknown});
  }
  if (near.empty()) return far;
  for (const FoundNic& nic : far)
    notes.ignored.push_back(nic.name + " (shares no PCIe switch with a GPU, as others do)");
  return near;
}

void require_alike(const std::vector<std::vector<int>>& lanes, int usual) {
  for (std::size_t i = 0; i < lanes.size(); ++i)
    for (std::size_t j = 0; j < lanes.size(); ++j)
      if (i != j && lanes[i][j] != usual)
        throw ImportError(0, "GPU" + std::to_string(i) + " reaches GPU" + std::to_string(j) +
                                 " over " + std::to_string(lanes[i][j]) +
                                 " lanes and others over " + std::to_string(usual) +
                                 "; behind an NVSwitch all are alike: is a lane down?");
}

}  // namespace

void judge_lanes(const std::vector<std::vector<int>>& lanes, HostDescription& host) {
  constexpr int most_lanes = 18;
  const auto total = [&](std::size_t gpu) {
    return std::accumulate(lanes[gpu].begin(), lanes[gpu].end(), 0);
  };
  for (std::size_t gpu = 0; gpu < lanes.size(); ++gpu)
    host.nvlink_lanes = std::max(host.nvlink_lanes, total(gpu));
  if (host.nvlink_lanes == 0) return;
  if (host.nvlink_lanes > most_lanes) {
    host.scale_up = ScaleUpKind::nvswitch;
    host.nvlink_lanes = lanes[0].size() > 1 ? lanes[0][1] : 0;
    require_alike(lanes, host.nvlink_lanes);
    return;
  }
  host.scale_up = ScaleUpKind::nvlink_mesh;
  for (std::size_t i = 0; i < lanes.size(); ++i)
    for (std::size_t j = i + 1; j < lanes.size(); ++j)
      if (lanes[i][j] > 0)
        host.pairs.push_back({static_cast<int>(i), static_cast<int>(j), lanes[i][j]});
}

HostDescription import_nvidia_smi(std::string_view text, ImportNotes& notes) {
  const Matrix matrix = read_matrix(text);
  HostDescription host;
  host.gpus = matrix.gpus;
  judge_lanes(matrix.lanes, host);
  host.nics = gpu_nics(matrix, notes);
  if (!matrix.threads.empty()) {
    host.cpu_threads = *std::ranges::max_element(matrix.threads);
    notes.assumed.push_back("the highest CPU number of the affinities ends the host: " +
                            std::to_string(host.cpu_threads) + " hardware threads");
  }
  return host;
}

}  // namespace foretrain
