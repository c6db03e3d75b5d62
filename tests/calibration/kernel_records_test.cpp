// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/measured_data.hpp"

#include <catch2/catch.hpp>

#include "calibration/cases/kernel_case.hpp"
#include "tests/calibration/measured_records.hpp"

using namespace foretrain;

namespace {

const std::string header = "id,source,op,gpu,dtype,m,n,k_or_shape,tflops,gbs,time_us,note\n";

std::vector<std::string> errors_of(const std::string& text) {
  Diagnostics diagnostics;
  (void)read_kernel_records(text, "own.csv", diagnostics);
  std::vector<std::string> messages;
  for (const Diagnostic& item : diagnostics.sorted())
    messages.push_back(item.file + ":" + std::to_string(item.line) + ": " + item.message);
  return messages;
}

KernelRecord record_of(const std::string& op, const std::string& dtype, const std::string& shape) {
  KernelRecord record;
  record.source = "owner/tool file@1";
  record.op = op;
  record.gpu = "H100-SXM-80GB";
  record.dtype = dtype;
  record.shape = shape;
  record.tflops = 500.0;
  return record;
}

}  // namespace

TEST_CASE("kernel records: quoted cells, nulls and doubled quotes", "[calibration][kernel]") {
  Diagnostics diagnostics;
  const auto records = read_kernel_records(
      header + "7,\"a/b, c\",gemm,H100-SXM-80GB,bf16,1,2,3,null,4.5,,\"say \"\"x\"\"\"\r\n",
      "own.csv", diagnostics);
  REQUIRE(diagnostics.empty());
  REQUIRE(records.size() == 1);
  CHECK(records[0].id == "kernel-7");
  CHECK(records[0].source == "a/b, c");
  CHECK(records[0].note == "say \"x\"");
  CHECK(records[0].m == 1.0);
  CHECK_FALSE(records[0].tflops);
  CHECK(records[0].gbs == 4.5);
  CHECK_FALSE(records[0].time_us);
}

TEST_CASE("kernel records: every malformed line is told with its place", "[calibration][kernel]") {
  CHECK(errors_of("") == std::vector<std::string>{"own.csv:0: the file is empty"});
  CHECK(errors_of("id,source\n1,2\n") ==
        std::vector<std::string>{"own.csv:1: columns are missing: op, gpu, dtype, m, n, "
                                 "k_or_shape, tflops, gbs, time_us, note"});
  CHECK(errors_of(header + "1,s,gemm,g,bf16,x,2,3,-1,null,nan,\n1,2\n1,\"s\n") ==
        std::vector<std::string>{"own.csv:2: m: 'x' is not a positive number or null",
                                 "own.csv:2: tflops: '-1' is not a positive number or null",
                                 "own.csv:2: time_us: 'nan' is not a positive number or null",
                                 "own.csv:3: 2 fields, but the header has 12",
                                 "own.csv:4: a quote is not closed"});
}

TEST_CASE("kernel records: attention without a mask has twice the keys", "[calibration][kernel]") {
  const auto causal = map_kernel(record_of("fa3_fwd_causal", "bf16", "s4096 hd128"));
  const auto full = map_kernel(record_of("fa3_fwd", "bf16", "s4096 hd128"));
  REQUIRE(causal.kernel);
  REQUIRE(full.kernel);
  const auto work = [](const MappedKernel& mapped) {
    return std::get<AttentionCase>(mapped.kernel->work).work;
  };
  // 16384 tokens and 2048 columns, as the authors of FlashAttention benchmark it
  CHECK(work(causal).batch == 4.0);
  CHECK(work(causal).heads == 16.0);
  // 4 * 16 heads * 4096^2 scores * (128 + 128), half of them under the mask
  CHECK(work(causal).causal_forward_flop().value() == Approx(2.749e11).epsilon(1e-3));
  CHECK(work(full).causal_forward_flop() == 2.0 * work(causal).causal_forward_flop());
  CHECK(causal.kernel->measured.in(us) == Approx(549.8).epsilon(1e-3));
}

TEST_CASE("kernel records: what no model describes is refused with the reason",
          "[calibration][kernel]") {
  const auto why = [](const std::string& op, const std::string& dtype, const std::string& shape) {
    return map_kernel(record_of(op, dtype, shape)).why;
  };
  CHECK(why("gemm", "int4", "512") == "no number format int4");
  CHECK(why("gemm", "bf16", "null") == "the shape of the GEMM is not stated");
  CHECK(why("conv", "bf16", "512") == "no model for this operation");
  CHECK(why("fa2_fwd", "bf16", "hd128") == "the shape of the attention is not stated");
  KernelRecord elsewhere = record_of("gemm", "bf16", "512");
  elsewhere.gpu = "MI300X";
  CHECK(map_kernel(elsewhere).why == "no device MI300X");
}

TEST_CASE("kernel records: products in one launch are not products of groups",
          "[calibration][kernel]") {
  // Measured on an H200: 256 products of 512 x 128 x 512 take 60 us at once. A loop over as many
  // experts is at least as many launches.
  KernelRecord record = record_of("gemm_cublaslt", "bf16", "512;batch=256");
  record.gpu = "h200";
  record.m = 512;
  record.n = 128;
  record.time_us = 60.0;
  const RunCatalog& catalog = shipped_catalog();
  const auto time = [&] {
    const MappedKernel mapped = map_kernel(record);
    REQUIRE(mapped.kernel);
    return kernel_time(*mapped.kernel, catalog.devices.at("h200"),
                       catalog.device_profiles.at("h200"), inference_extras());
  };
  CHECK(time() < 90.0 * us);
  record.shape = "512;groups=256";
  CHECK(time() > 500.0 * us);
}

TEST_CASE("sweep records: what is no count is told", "[calibration][collective]") {
  Diagnostics diagnostics;
  const auto records = read_sweep_records(
      "id,source,collective,gpu,nodes,gpus_per_node,network,size_bytes,time_us,algbw_gbs,"
      "busbw_gbs,inplace\n"
      "a,x/y z,all_reduce,H100,1,8,NVSwitch,1024,12.5,0,0,1\n"
      "a,x/y z,all_reduce,H100,0,8,NVSwitch,big,12.5,0,0,1\n",
      "own.csv", diagnostics);
  REQUIRE(records.size() == 1);
  CHECK(records[0].id() == "a-1024-in");
  CHECK(records[0].family() == "y");
  CHECK(diagnostics.count() == 2);
}
