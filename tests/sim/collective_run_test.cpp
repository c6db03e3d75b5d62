// SPDX-License-Identifier: Apache-2.0
#include "sim/collectives/collective_run.hpp"

#include <catch2/catch.hpp>

#include "models/collectives/registry.hpp"
#include "tests/sim/collective_machine.hpp"

using namespace foretrain;
using test::CollectiveMachine;
using test::gpus_from;

namespace {

constexpr double exact = 1e-9;

}  // namespace

TEST_CASE("collectives on a fabric: alone they take the cost model's time",
          "[sim][collective][property]") {
  const int hosts = GENERATE(1, 2, 4, 40);
  const CollectiveMachine machine{hosts};
  const Seats seats = seats_of(gpus_from(0, 8 * hosts), {8, 8});
  for (const auto& [op, name] : EnumNames<CollectiveOp>::names) {
    if (op == CollectiveOp::send) continue;
    if (op == CollectiveOp::all_to_all && hosts > 4) continue;  // meets itself: see below
    for (const double size : {8.0, 512.0, 32768.0, 2097152.0, 134217728.0, 8589934592.0}) {
      const CollectiveCall call = machine.call(op, seats, Bytes{size});
      const Seconds price = collective_time(op, seats.group(), Bytes{size}, machine.path());
      CAPTURE(hosts, name, size, call.price.scheme->name);
      CHECK(machine.run({call}).end[0] / price == Approx(1.0).epsilon(exact));
    }
  }
}

TEST_CASE("collectives on a fabric: every scheme alone takes its price",
          "[sim][collective][property]") {
  const CollectiveMachine machine{4};
  const Seats seats = seats_of(gpus_from(0, 32), {8, 8});
  int played = 0;
  for (const CollectiveScheme& scheme : collective_schemes())
    for (const auto& [op, name] : EnumNames<CollectiveOp>::names) {
      if (!scheme.refusal({op, seats, 0}).empty()) continue;
      for (const Bytes size : {Bytes{1024.0}, 1.0 * GiB}) {
        const CollectiveCall call = machine.call(op, seats, size, {&scheme, std::nullopt});
        CAPTURE(scheme.name, name, size.value());
        CHECK(machine.run({call}).end[0] / call.price.time() == Approx(1.0).epsilon(exact));
        ++played;
      }
    }
  CHECK(played > 20);
}

TEST_CASE("collectives on a fabric: one flow per edge stands for all steps of a ring",
          "[sim][collective]") {
  const CollectiveMachine machine{2};
  const Seats seats = seats_of(gpus_from(0, 16), {8, 8});
  const auto op =
      GENERATE(CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter);
  const CollectiveCall call =
      machine.call(op, seats, 256.0 * MiB, {find_scheme("ring"), Protocol::simple});
  CollectiveSetting stepwise = machine.setting();
  stepwise.step_by_step = true;
  const CollectiveRun whole = machine.run({call});
  const CollectiveRun steps = machine.run({call}, stepwise);
  CHECK(steps.flows >= 15UL * 16 * 8);
  CHECK(steps.end[0] / whole.end[0] == Approx(1.0).epsilon(exact));
  for (std::size_t link = 0; link < whole.links.size(); ++link)
    CHECK(steps.links[link].bytes.value() == Approx(whole.links[link].bytes.value()).margin(1.0));
}

TEST_CASE("collectives on a fabric: a pipelined tree takes its fill longer, less with more chunks",
          "[sim][collective]") {
  const CollectiveMachine machine{4};
  const Seats seats = seats_of(gpus_from(0, 32), {8, 8});
  const CollectiveCall call =
      machine.call(CollectiveOp::all_reduce, seats, 1.0 * GiB, {find_scheme("tree"), {}});
  const Seconds whole = machine.run({call}).end[0];
  CollectiveSetting stepwise = machine.setting();
  stepwise.step_by_step = true;
  Seconds before;
  for (const int chunks : {128, 32, 8}) {
    stepwise.chunks = chunks;
    const Seconds time = machine.run({call}, stepwise).end[0];
    CAPTURE(chunks);
    CHECK(time > whole);
    CHECK(time > before);
    // chains of 8 and two levels of tree, up and down: 18 hand-overs before the last chunk
    CHECK(time < whole * (1.0 + 24.0 / chunks));
    before = time;
  }
}

TEST_CASE("collectives on a fabric: SimGrid's own model agrees", "[sim][collective]") {
  const CollectiveMachine machine{2, FabricKind::fat_tree};
  const CollectiveCall ring =
      machine.call(CollectiveOp::all_reduce, seats_of(gpus_from(0, 16), {8, 8}), 64.0 * MiB,
                   {find_scheme("ring"), {}});
  const CollectiveCall exchange =
      machine.call(CollectiveOp::all_to_all, seats_of({0, 3, 9, 14}, {8, 8}), 16.0 * MiB);
  CollectiveSetting reference = machine.setting();
  reference.backend = FlowBackend::simgrid;
  const CollectiveRun ours = machine.run({ring, exchange});
  const CollectiveRun simgrid = machine.run({ring, exchange}, reference);
  for (std::size_t call = 0; call < 2; ++call)
    CHECK(std::abs((ours.end[call] - simgrid.end[call]).value()) < 1e-9);
}

TEST_CASE("collectives on a fabric: blocking calls wait, asynchronous ones are waited for",
          "[sim][collective]") {
  const CollectiveMachine machine{2};
  const auto send = [&](int from, int to, bool blocking) {
    CollectiveCall call =
        machine.call(CollectiveOp::send, seats_of({from, to}, {8, 8}), 100.0 * MiB);
    call.blocking = blocking;
    return call;
  };
  const Seconds one = send(0, 8, true).price.time();
  SECTION("blocking") {
    const CollectiveRun run = machine.run({send(0, 8, true), send(0, 9, true)});
    CHECK(run.start[1] == run.end[0]);
    CHECK(run.end[1] / one == Approx(2.0).epsilon(exact));
  }
  SECTION("others do not wait") {
    const CollectiveRun run = machine.run({send(0, 8, true), send(1, 9, true)});
    CHECK(run.start[1] == Seconds{});
  }
  SECTION("asynchronous, then waited for") {
    CollectiveCall last = send(0, 10, true);
    last.waits_for = {0, 1};
    const CollectiveRun run = machine.run({send(0, 8, false), send(0, 9, false), last});
    CHECK(run.start[1] == Seconds{});
    CHECK(run.start[2] == max(run.end[0], run.end[1]));
  }
}

TEST_CASE("collectives on a fabric: nothing crosses NVLink through host memory",
          "[sim][collective]") {
  const CollectiveMachine machine{2};
  const Seats seats = seats_of(gpus_from(0, 16), {8, 8});
  CollectiveCall call = machine.call(CollectiveOp::all_reduce, seats, 64.0 * MiB);
  const OtherLibrary gloo = other_library(Backend::gloo, machine.path());
  call.price = other_price({call.op, seats, 0}, call.payload, gloo, Backend::gloo, {}).price;
  call.through_host = gloo.through_host;
  const CollectiveRun run = machine.run({call});
  CHECK(run.end[0] / call.price.time() == Approx(1.0).epsilon(exact));
  Bytes on_nics;
  for (std::size_t link = 0; link < run.links.size(); ++link) {
    const LinkKind kind = machine.fabric().kind[link];
    if (kind == LinkKind::gpu_link || kind == LinkKind::pcie)
      CHECK(run.links[link].bytes == Bytes{});
    else
      on_nics += run.links[link].bytes;
  }
  CHECK(on_nics > Bytes{});
}
