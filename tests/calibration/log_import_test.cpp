// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "calibration/imports/json_document.hpp"
#include "calibration/imports/record_text.hpp"
#include "import_test_logs.hpp"

using namespace foretrain;
using Catch::Matchers::Contains;

TEST_CASE("import: every fixture is known by its content", "[calibration][import]") {
  const std::vector<std::pair<const char*, LogFormat>> files{
      {"nccl_tests_gh200_cxi.txt", LogFormat::nccl_tests},
      {"nccl_tests_form.json", LogFormat::nccl_tests_json},
      {"perftest_azure_hdr.txt", LogFormat::perftest},
      {"inspector_nccl_readme.json", LogFormat::nccl_inspector},
      {"nvbandwidth_azure.txt", LogFormat::nvbandwidth},
      {"nvbandwidth_form.json", LogFormat::nvbandwidth_json},
      {"kineto_v100.json", LogFormat::kineto},
      {"mlperf_v31_gpt3_eos64.txt", LogFormat::mlperf},
      {"gpubench_form.jsonl", LogFormat::harness}};
  for (const auto& [file, format] : files) {
    CAPTURE(file);
    CHECK(detect_format(fixture(file)) == format);
  }
  CHECK_FALSE(detect_format(""));
  CHECK_FALSE(detect_format("hello"));
  CHECK_THAT(imported("hello").errors,
             Contains("none of the formats that can be read: nccl-tests"));
  CHECK_THAT(imported("\x1f\x8bzzz").errors, Contains("unpack it first"));
}

TEST_CASE("perftest: rates of a published HDR log, in GB/s, and a latency",
          "[calibration][import]") {
  const Imported got = imported(fixture("perftest_azure_hdr.txt"));
  CHECK(got.errors.empty());
  CHECK(flags(got.log).empty());
  REQUIRE(got.log.links.size() == 8);
  const LinkRate& large = got.log.links[6];
  CHECK(large.kind == "nic-write");
  CHECK(large.link == "mlx5_0");
  CHECK(large.gbs.value() == Approx(196.55 / 8.0));
  CHECK(got.log.links[7].kind == "nic-read-latency");
  CHECK(got.log.links[7].time_us == 5.49);
}

TEST_CASE("perftest: its MB is 2^20 bytes, as the message rate shows", "[calibration][import]") {
  // linux-rdma issue 107's form; 1024 B at 1.512181 million messages a second are 1476.74 MiB/s
  const std::string text =
      "                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_2\n"
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      " 1024       1000             0.00               1476.74             1.512181\n";
  const Imported got = imported(text);
  REQUIRE(got.log.links.size() == 1);
  CHECK(got.log.links[0].link == "mlx5_2");
  CHECK(got.log.links[0].gbs.value() == Approx(1.54847).epsilon(1e-4));
}

TEST_CASE("perftest: mixed units, damaged and cut tables are told", "[calibration][import]") {
  const std::string text = fixture("perftest_azure_hdr.txt");
  CHECK_THAT(imported(with(text, "BW average[Gb/sec]", "BW average[MB/sec]")).errors,
             Contains("x.log:3:1:"));
  CHECK_THAT(imported(with(text, "BW average[Gb/sec]", "BW average[furlong]")).errors,
             Contains("[Gb/sec] or [MB/sec]"));
  CHECK_THAT(flags(imported(with(text, "196.55", "24.57")).log),
             Contains("10 left out: 0.002929 million messages"));
  CHECK_THAT(flags(imported(with(text, "196.55", "nan")).log), Contains("'nan' is not a rate"));
  CHECK_THAT(flags(imported(text.substr(0, text.find("196.55"))).log),
             Contains("10 left out: 3 columns instead of 5"));
}

TEST_CASE("NCCL Inspector: the plug-in's published example", "[calibration][import]") {
  const std::string text = fixture("inspector_nccl_readme.json");
  CHECK_THAT(imported(text).errors, Contains("does not say which GPU"));
  ImportOptions options;
  options.gpu = "h200";
  const Imported got = imported(text, options);
  CHECK(got.errors.empty());
  REQUIRE(got.log.sweeps.size() == 1);
  CHECK(got.log.sweeps[0].collective == "all_reduce");
  CHECK(got.log.sweeps[0].gpus_per_node == 8);
  CHECK(got.log.sweeps[0].time_us == 61974.0);
  CHECK(got.log.facts.date == "2025-05-23");
}

TEST_CASE("NCCL Inspector: the rank that came last did not wait, calls give a median",
          "[calibration][import]") {
  std::string text;
  const auto event = [&](int call, int rank, double time) {
    const double algbw = 1048576.0 / time * 1e-3;
    text += R"({"id":"0x1","rank":)" + std::to_string(rank) +
            R"(,"n_ranks":8,"nnodes":1,"coll_perf":{"coll":"AllReduce","coll_sn":)" +
            std::to_string(call) + R"(,"coll_msg_size_bytes":1048576,"coll_exec_time_us":)" +
            std::to_string(time) + R"(,"coll_algobw_gbs":)" + std::to_string(algbw) +
            R"(,"coll_busbw_gbs":)" + std::to_string(1.75 * algbw) + "}}\n";
  };
  event(1, 0, 500.0);
  event(1, 1, 31.0);
  event(2, 0, 30.0);
  event(2, 1, 90.0);
  event(3, 0, 40.0);
  ImportOptions options;
  options.gpu = "h200";
  CHECK(imported(text, options).log.sweeps.at(0).time_us == 31.0);
  CHECK(imported(text, options).log.sweeps.at(0).note == "calls=3");
  CHECK_THAT(flags(imported(text.substr(0, text.size() - 8), options).log),
             Contains("5 left out: the log ends within this object"));
  CHECK_THAT(flags(imported(with(text, "\"coll_exec_time_us\":500.0", "\"coll_exec_time_us\":0.5"),
                            options)
                       .log),
             Contains("1 left out: 1048576 bytes"));
}

TEST_CASE("nvbandwidth: matrices of a published log as links", "[calibration][import]") {
  const std::string text = fixture("nvbandwidth_azure.txt");
  const Imported got = imported(text);
  CHECK(got.errors.empty());
  CHECK(flags(got.log).empty());
  REQUIRE(got.log.links.size() == 6);
  CHECK(got.log.links[0].kind == "host-to-device");
  CHECK(got.log.links[1].link == "GPU 1");
  CHECK(got.log.links[5].kind == "peer");
  CHECK(got.log.links[5].link == "GPU 1 - GPU 0");
  CHECK(got.log.links[5].gbs == 276.19);
  CHECK_THAT(flags(imported(with(text, "276.19", "27.62")).log),
             Contains("rows are missing or changed"));
  CHECK_THAT(flags(imported(with(text, "276.19", "nan")).log), Contains("not a number or N/A"));
  CHECK_THAT(flags(imported(text.substr(0, text.find("SUM device_to_device"))).log),
             Contains("the log ends before the sum"));
  CHECK_THAT(flags(imported(with(text, "bandwidth (GB/s)\n          0         1\n0     26.03",
                                 "bandwidth (GiB/s)\n          0         1\n0     26.03"))
                       .log),
             Contains("is not GB/s or ns"));
}

TEST_CASE("nvbandwidth JSON: devices, driver, matrices, and two products refused",
          "[calibration][import]") {
  const std::string text = fixture("nvbandwidth_form.json");
  const Imported got = imported(text);
  CHECK(got.errors.empty());
  CHECK(got.log.facts.device == "a100-sxm4-80gb");
  CHECK(got.log.facts.driver == "580.105.08");
  REQUIRE(got.log.links.size() == 2);
  CHECK(got.log.links[1].gbs == 276.19);
  CHECK_THAT(imported(with(text, "1: NVIDIA A100-SXM4-80GB", "1: NVIDIA H200")).errors,
             Contains("x.log:9:1: GPUs of several models"));
  CHECK_THAT(flags(imported(with(text, "\"276.19\"", "\"nan\"")).log),
             Contains("not a number or N/A"));
}

TEST_CASE("Kineto: kernels of a published trace by name", "[calibration][import]") {
  const Imported got = imported(fixture("kineto_v100.json"));
  CHECK(got.errors.empty());
  CHECK(got.log.facts.device == "v100-32gb");
  REQUIRE(got.log.kernels.size() == 3);
  CHECK(got.log.kernels[0].op == "kineto:at::native::reduce_kernel");
  CHECK(got.log.kernels[1].op == "kineto:at::native::vectorized_elementwise_kernel");
  CHECK(got.log.kernels[1].note == "mode=trace count=2 share=0.2500");
  CHECK(got.log.kernels[2].time_us == 3.0);
}

TEST_CASE("Kineto: with shapes, products become records that the models price",
          "[calibration][import]") {
  const std::string text = fixture("kineto_shapes_form.json");
  const Imported got = imported(text);
  CHECK(got.errors.empty());
  REQUIRE(got.log.kernels.size() == 4);
  const KernelRecord& product = got.log.kernels[2];
  CHECK(product.op == "gemm");
  CHECK(got.log.kernels[3].op == "gemm");
  const KernelRecord& plain = product.dtype == "bf16" ? product : got.log.kernels[3];
  CHECK(plain.m == 8192.0);
  CHECK(plain.n == 14336.0);
  CHECK(plain.shape == "4096");
  CHECK(plain.time_us == 1410.3125);  // the mean of 1400.125 and 1420.5
  CHECK_THAT(flags(imported(with(text, "\"dur\": 120.0", "\"dur\": -120.0")).log),
             Contains("14 left out: a kernel without a name or a duration"));
  CHECK_THAT(imported(with(text, "\"dur\": 120.0", "\"dur\": NaN")).errors,
             Contains("x.log:14:1:"));
  CHECK_THAT(imported(text.substr(0, text.size() - 30)).errors, Contains("this is not JSON"));
}

TEST_CASE("MLPerf: step times that the log states", "[calibration][import]") {
  const Imported got = imported(fixture("mlperf_v31_gpt3_eos64.txt"));
  CHECK(got.errors.empty());
  REQUIRE(got.log.runs.size() == 1);
  // calibration/measured has the median of the whole log, 11.05 s
  CHECK(got.log.runs[0].step_s == Approx(11.05).epsilon(1e-3));
  CHECK(got.log.runs[0].samples == 4);
}

TEST_CASE("MLPerf: throughput without validation, held against the blocks",
          "[calibration][import]") {
  const std::string text = fixture("mlperf_v40_llama2_lora_asus.txt");
  const Imported got = imported(text);
  CHECK(got.errors.empty());
  CHECK(flags(got.log).empty());
  REQUIRE(got.log.runs.size() == 1);
  CHECK(got.log.runs[0].step_s == Approx(8.0 / 1.9530199195379496).epsilon(3e-3));
  CHECK(got.log.runs[0].run_minutes.value() == Approx(29.5544).epsilon(1e-4));
  CHECK(got.log.facts.date == "2024-05-16");
  CHECK_THAT(run_records_text({got.log}), Contains("iteration_s: 4.0"));
  std::string tokens = with(text, "1.9530199195379496", "8000.5");
  tokens = with(tokens, "1.958973805780254", "8010.5");
  CHECK_THAT(flags(imported(tokens).log), Contains("the log counts something else"));
  CHECK_THAT(flags(imported(with(text, "\"status\": \"success\"", "\"status\": \"aborted\"")).log),
             Contains("the run ended with status 'aborted'"));
  CHECK_THAT(flags(imported(text.substr(0, text.find("1.958973"))).log),
             Contains("12 left out: this is not JSON"));
  CHECK_THAT(imported(":::MLLOG {\"time_ms\": 1, \"key\": \"seed\", \"value\": 1}\n").errors,
             Contains("no step time can be found"));
}

TEST_CASE("harness: products by pass, links, and what was left out", "[calibration][import]") {
  const std::string text = fixture("gpubench_form.jsonl");
  const Imported got = imported(text, {}, "gpu.jsonl");
  CHECK(got.errors.empty());
  CHECK(got.log.facts.device == "h100-sxm5-80gb");
  CHECK(got.log.facts.driver == "580.65.06");
  REQUIRE(got.log.kernels.size() == 4);
  CHECK(got.log.kernels[1].op == "hbm_copy");
  CHECK(got.log.kernels[3].m == 1024.0);
  CHECK(got.log.kernels[3].n == 2048.0);
  CHECK(got.log.kernels[3].shape == "4096");
  CHECK(note_text(got.log.kernels[2].note, "mode") == "warm");
  CHECK(note_number(got.log.kernels[2].note, "clock") == 1755.0);
  CHECK(got.log.links.at(0).gbs.value() == Approx(54.78).epsilon(1e-3));
  CHECK(flags(got.log) == "7 left out: gemm: the result came out wrong\n");
  CHECK(got.log.remarks.at(0) == "3 of 1200 cases of gemm fitted into the budget");
  CHECK(got.log.kernels[0].source == "gpubench@2026-11-20 driver 580.65.06 CUDA 13.0 (gpu.jsonl)");
}

TEST_CASE("harness: mixed units, NaN, cut files and two devices are told",
          "[calibration][import]") {
  const std::string text = fixture("gpubench_form.jsonl");
  CHECK_THAT(flags(imported(with(text, "\"median_us\":1450", "\"median_us\":1.45")).log),
             Contains("5 left out: gemm: "));
  CHECK_THAT(flags(imported(with(text, "\"median_us\":1450", "\"median_us\":null")).log),
             Contains("5 left out: gemm: median_us is not a number above zero"));
  CHECK_THAT(flags(imported(with(text, "\"median_us\":1450", "\"median_us\":NaN")).log),
             Contains("5 left out: this is not JSON"));
  const std::string cut = text.substr(0, text.find("\"mode\":\"cold\""));
  CHECK_THAT(flags(imported(cut).log), Contains("6 left out: this is not JSON"));
  CHECK_THAT(flags(imported(cut).log), Contains("the closing device record is missing"));
  std::string two = text;
  two.replace(two.rfind("NVIDIA H100 80GB HBM3"), 21, "NVIDIA A100-SXM4-80GB");
  CHECK_THAT(imported(two).errors, Contains("x.log:9:1: the file holds measurements of"));
}

TEST_CASE("import: records written and read back are the same", "[calibration][import]") {
  const ImportedLog kernels = imported(fixture("gpubench_form.jsonl")).log;
  const std::string table = kernel_table_text({kernels});
  const Imported back = imported(table, {}, "kernels.csv");
  CHECK(back.errors.empty());
  REQUIRE(back.log.kernels.size() == kernels.kernels.size() + kernels.links.size());
  CHECK(back.log.kernels[2].time_us == kernels.kernels[2].time_us);
  CHECK(note_text(back.log.kernels[3].note, "pass") == "weight-gradient");
  CHECK(back.log.facts.device == "h100-sxm5-80gb");
  ImportedLog sweeps = imported(fixture("nccl_tests_gh200_cxi.txt")).log;
  for (SweepRecord& record : sweeps.sweeps) record.fabric = "roce-400";
  const Imported rows = imported(sweep_table_text({sweeps}), {}, "sweeps.csv");
  CHECK(rows.errors.empty());
  REQUIRE(rows.log.sweeps.size() == 50);
  CHECK(rows.log.sweeps[49].time_us == 1779.6);
  CHECK(rows.log.sweeps[49].fabric == "roce-400");
}

TEST_CASE("import: a log of another GPU than announced is refused", "[calibration][import]") {
  ImportOptions options;
  options.gpu = "a100-sxm4-80gb";
  for (const char* const file : {"gpubench_form.jsonl", "kineto_v100.json"})
    CHECK_THAT(imported(fixture(file), options).errors, Contains("not of 'a100-sxm4-80gb'"));
  options.gpu = "h100-sxm5-80gb";
  CHECK(imported(fixture("gpubench_form.jsonl"), options).errors.empty());
  CHECK_THAT(imported(fixture("nccl_tests_form.json"), options).errors,
             Contains("the log is of 'NVIDIA A100-SXM4-80GB'"));
}

TEST_CASE("JSON: limits on depth, and members that stand twice", "[calibration][import]") {
  Diagnostics diagnostics;
  CHECK_FALSE(parse_json(std::string(100, '['), "deep.json", diagnostics));
  CHECK_THAT(diagnostics.items().at(0).message, Contains("levels of nesting"));
  Diagnostics twice;
  CHECK_FALSE(parse_json("{\"a\": 1,\n \"a\": 2}", "twice.json", twice));
  CHECK(twice.items().at(0).line == 2);
  Diagnostics fine;
  const auto value = parse_json("{\"a\": [1,\n2\n], \"b\": \"x\"}", "fine.json", fine);
  REQUIRE(value);
  CHECK(value->find("a")->items[1].line == 2);
}
