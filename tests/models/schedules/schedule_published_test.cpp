// SPDX-License-Identifier: Apache-2.0
// Bubble rates that arXiv 2401.10241 prints in tables 5 and 8, from its profiled times.
#include <array>
#include <catch2/catch.hpp>

#include "tests/models/schedules/schedule_simulator.hpp"

namespace foretrain {
namespace {

/// One row; interleaving has a layer per chunk (table 8: two chunks). Times in microseconds of a
/// whole stage as published in the paper's repository (pipeline_parallel/efficiency.py); its rates
/// are (longest stage - m (f + i + w)) / longest stage.
struct PublishedRow {
  int stages;
  int micros;
  double forward;
  double input_gradient;
  double weight_gradient;
  double transfer;
  int hidden;
  int heads;
  int chunks;
  double one_f_one_b;
  double interleaved;
  double zb_h1;
  double zb_h2;
  double automatic;  ///< ZB-2p in table 5, ZB-V in table 8
};

// clang-format off
constexpr auto table_5 = std::to_array<PublishedRow>({
    {8, 24, 18522, 18086, 9337, 601, 2304, 24, 3, 0.2431, 0.1055, 0.1585, 0.1083, 0.0433},
    {8, 32, 18513, 18086, 9331, 626, 2304, 24, 3, 0.1985, 0.0818, 0.1242, 0.0837, 0.0039},
    {8, 64, 18546, 18097, 9321, 762, 2304, 24, 3, 0.1240, 0.0443, 0.0674, 0.0444, 0.0026},
    {8, 24, 29718, 29444, 19927, 527, 4096, 32, 4, 0.2347, 0.0808, 0.1323, 0.0698, 0.0029},
    {8, 32, 29802, 29428, 19530, 577, 4096, 32, 4, 0.1898, 0.0628, 0.1045, 0.0559, 0.0022},
    {8, 64, 29935, 29621, 19388, 535, 4096, 32, 4, 0.1091, 0.0320, 0.0554, 0.0294, 0.0010},
    {16, 48, 11347, 11248, 8132, 377, 5120, 40, 3, 0.2552, 0.1104, 0.1397, 0.0672, 0.0066},
    {16, 64, 11307, 11254, 8101, 379, 5120, 40, 3, 0.2082, 0.0852, 0.1088, 0.0516, 0.0054},
    {16, 128, 11325, 11308, 8109, 378, 5120, 40, 3, 0.1251, 0.0445, 0.0576, 0.0266, 0.0028},
    {32, 96, 10419, 10207, 7715, 408, 6144, 48, 2, 0.2646, 0.1493, 0.1421, 0.0641, 0.0038},
    {32, 128, 10408, 10204, 7703, 408, 6144, 48, 2, 0.2168, 0.1164, 0.1106, 0.0490, 0.0029},
    {32, 256, 10402, 10248, 7698, 460, 6144, 48, 2, 0.1352, 0.0624, 0.0594, 0.0257, 0.0018},
});
constexpr auto table_8 = std::to_array<PublishedRow>({
    {16, 48, 28814, 28760, 19352, 1610, 4096, 32, 2, 0.2668, 0.1499, 0.1536, 0.0823, 0.0697},
    {16, 64, 28824, 28786, 19376, 1621, 4096, 32, 2, 0.2206, 0.1169, 0.1198, 0.0630, 0.0533},
    {16, 128, 28632, 28612, 19278, 1619, 4096, 32, 2, 0.1390, 0.0621, 0.0637, 0.0325, 0.0274},
    {24, 72, 13526, 13938, 10502, 755, 5120, 40, 2, 0.2699, 0.1519, 0.1439, 0.0628, 0.0638},
    {24, 96, 13566, 13968, 10518, 758, 5120, 40, 2, 0.2229, 0.1184, 0.1121, 0.0480, 0.0483},
    {24, 192, 13570, 13980, 10520, 770, 5120, 40, 2, 0.1403, 0.0630, 0.0595, 0.0247, 0.0250},
    {32, 96, 18916, 19496, 14576, 879, 6144, 48, 2, 0.2676, 0.1509, 0.1429, 0.0629, 0.0593},
    {32, 128, 18938, 19488, 14612, 892, 6144, 48, 2, 0.2204, 0.1177, 0.1111, 0.0478, 0.0451},
    {32, 256, 18894, 19288, 14386, 887, 6144, 48, 2, 0.1362, 0.0626, 0.0593, 0.0251, 0.0236},
});
// clang-format on

PassTimes times_of(const PublishedRow& row, int chunks) {
  return {row.forward / chunks, row.input_gradient / chunks, row.weight_gradient / chunks,
          row.transfer};
}

ScheduleTimes schedule_times(const PublishedRow& row, int chunks) {
  const PassTimes times = times_of(row, chunks);
  ScheduleTimes result;
  const PassDurations place{times.forward * us, times.input_gradient * us,
                            times.weight_gradient * us};
  const int places = row.stages * chunks;
  result.places.assign(static_cast<std::size_t>(places), place);
  result.transfer = row.transfer * us;
  result.weight_share = 32.0 / (34.0 + 5.0 * row.heads * 1024 / row.hidden);
  return result;
}

double rate(const PublishedRow& row, const Schedule& schedule) {
  const PassTimes times = times_of(row, schedule.shape.chunks);
  const double busy = row.micros * schedule.shape.chunks * times.all();
  const double longest = simulate_schedule(schedule, times).longest_stage;
  return (longest - busy) / longest;
}

double rate(const PublishedRow& row, ScheduleKind kind, int chunks = 1) {
  return rate(row, make_schedule(shape_of(kind, row.stages, row.micros, chunks)));
}

double fitted_rate(const PublishedRow& row, ScheduleKind kind) {
  const ScheduleShape shape = shape_of(kind, row.stages, row.micros);
  return rate(row, make_schedule(shape, schedule_times(row, shape.chunks)));
}

/// The script behind the table lets only the first micro-batch of a group wait for the transfer
/// from the last stage back to the first; with all of them waiting the step takes p transfers
/// longer.
double interleaved_rate_as_published(const PublishedRow& row) {
  const ScheduleShape shape =
      shape_of(ScheduleKind::interleaved, row.stages, row.micros, row.chunks);
  const PassTimes times = times_of(row, row.chunks);
  const double longest =
      simulate_schedule(make_schedule(shape), times).longest_stage - row.stages * row.transfer;
  return (longest - row.micros * row.chunks * times.all()) / longest;
}

constexpr double printed = 0.000051;  ///< four digits

}  // namespace

TEST_CASE("fixed orders have the bubble rates of the zero-bubble paper", "[models][schedule]") {
  const auto check = [](const PublishedRow& row) {
    INFO(row.stages << " stages, " << row.micros << " micro-batches, hidden " << row.hidden);
    CHECK(rate(row, ScheduleKind::one_f_one_b) == Approx(row.one_f_one_b).margin(printed));
    CHECK(interleaved_rate_as_published(row) == Approx(row.interleaved).margin(printed));
    CHECK(rate(row, ScheduleKind::zb_h1) == Approx(row.zb_h1).margin(printed));
    CHECK(rate(row, ScheduleKind::zb_2p) == Approx(row.zb_h2).margin(printed));
  };
  for (const PublishedRow& row : table_5) check(row);
  for (const PublishedRow& row : table_8) check(row);
}

TEST_CASE("orders fitted to times have the bubble rates of the paper's search",
          "[models][schedule]") {
  for (const PublishedRow& row : table_5) {
    INFO(row.stages << " stages, " << row.micros << " micro-batches, hidden " << row.hidden);
    CHECK(fitted_rate(row, ScheduleKind::zb_2p) == Approx(row.automatic).margin(0.00015));
    // ZB-1p and ZB-H1 are the same in every row.
    CHECK(fitted_rate(row, ScheduleKind::zb_h1) == Approx(row.zb_h1).margin(printed));
  }
  for (const PublishedRow& row : table_8) {
    INFO(row.stages << " stages, " << row.micros << " micro-batches, hidden " << row.hidden);
    CHECK(fitted_rate(row, ScheduleKind::zb_v) == Approx(row.automatic).margin(0.0016));
  }
}

}  // namespace foretrain
