// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/csv_table.hpp"

#include <catch2/catch.hpp>

#include "tests/calibration/measured_records.hpp"

namespace foretrain {
namespace {

const std::string header =
    "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,"
    "tensor parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n";

std::string errors_of(const std::string& text) {
  Diagnostics diagnostics;
  (void)read_vtrain_records(text, "t.csv", diagnostics);
  std::string lines;
  for (const Diagnostic& diagnostic : diagnostics.sorted()) lines += diagnostic.text() + "\n";
  return lines;
}

}  // namespace

TEST_CASE("vtrain: both shipped tables are read whole", "[calibration][vtrain]") {
  Diagnostics diagnostics;
  const auto single = read_vtrain_records(measured_file("vtrain_single.csv"), "s", diagnostics);
  const auto multi = read_vtrain_records(measured_file("vtrain_multi.csv"), "m", diagnostics);
  CHECK(diagnostics.empty());
  CHECK(single.size() == 948);
  CHECK(multi.size() == 76);
  // Second line: 2,16,8,1024,16,24,1024,1,1,2,372.160408
  const RunRecord& first = single.front();
  CHECK(first.id == "vtrain_single-2");
  CHECK(first.family() == "vtrain_single");
  CHECK(first.gpus == 2);
  CHECK(first.global_batch == 16);
  CHECK(first.micro_batch == 8);
  CHECK(first.hidden == 1024);
  CHECK(first.ffn_hidden == 4096);
  CHECK(first.heads == 16);
  CHECK(first.layers == 24);
  CHECK(first.sequence == 1024);
  CHECK(first.tensor == 1);
  CHECK(first.data == 1);
  CHECK(first.pipeline == 2);
  CHECK(first.iteration_s == Approx(0.372160408));
  CHECK(first.recompute == "none");
  CHECK(first.assumptions.size() == 1);
  CHECK(multi.front().id == "vtrain_multi-2");
  CHECK(multi.front().recompute == "full");
}

TEST_CASE("vtrain: malformed lines are all reported with their place", "[calibration][vtrain]") {
  CHECK(errors_of("") == "t.csv: the file is empty\n");
  CHECK(errors_of("a,b\n1,2\n").find("t.csv:1:1: columns are missing: # GPUs, global batch") == 0);
  const std::string good = "2,16,8,1024,16,24,1024,1,1,2,372.2\n";
  CHECK(errors_of(header + good + "\r\n" + good).empty());
  const std::string three = errors_of(header + good + "2,16,8\n" + "2,16,8,x,16,24,1024,1,1,2,0\n");
  CHECK(three ==
        "t.csv:3:1: 3 fields, but the header has 11\n"
        "t.csv:4:1: hidden size: 'x' is not a positive whole number\n"
        "t.csv:4:1: iteration time (ms): '0' is not a positive number\n");
  for (const char* time : {"", "nan", "inf", "-3", "1e999", "12 "})
    CHECK(errors_of(header + "2,16,8,1024,16,24,1024,1,1,2," + time + "\n").find("t.csv:2:1: ") ==
          0);
  CHECK(errors_of(header + "2,16,8,2147483647,16,24,1024,1,1,2,1\n").find("hidden size") !=
        std::string::npos);
}

}  // namespace foretrain
