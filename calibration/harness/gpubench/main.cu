// SPDX-License-Identifier: Apache-2.0
// foretrain-gpubench: measures one GPU and writes JSON Lines. See ../README.md.
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>

#include "calibration/harness/common/gpubench_options.hpp"
#include "calibration/harness/gpubench/bench.hpp"

namespace foretrain::harness {
namespace {

constexpr int usage_error = 2;

/// Types that the device's tensor cores know, of those asked for.
std::vector<NumberType> known_types(const Bench& bench, const std::vector<NumberType>& asked) {
  const int capability = bench.properties().major * 10 + bench.properties().minor;
  std::vector<NumberType> known;
  for (const NumberType type : asked) {
    const bool new_enough = type == NumberType::fp8 ? capability >= 89
                            : type == NumberType::bf16 || type == NumberType::tf32
                                ? capability >= 80
                                : true;
    if (new_enough) known.push_back(type);
  }
  return known;
}

std::vector<GemmCase> cases_of(const GpubenchOptions& options, const Bench& bench) {
  if (options.shapes_file.empty()) return default_cases(known_types(bench, options.types));
  std::ifstream file{options.shapes_file};
  if (!file) throw std::invalid_argument{"cannot read " + options.shapes_file};
  std::ostringstream text;
  text << file.rdbuf();
  auto parsed = parse_cases(text.str());
  if (const auto* wrong = std::get_if<std::string>(&parsed))
    throw std::invalid_argument{options.shapes_file + ": " + *wrong};
  return std::get<std::vector<GemmCase>>(parsed);
}

void run(const GpubenchOptions& options, std::ostream& out) {
  Bench bench{options.device, options.budget_s, out};
  const std::vector<GemmCase> cases = cases_of(options, bench);
  const auto progress = [&](const char* what) {
    std::cerr << "gpubench: " << what << ", " << static_cast<int>(bench.left()) << " s left\n";
  };
  write_device(bench);
  progress("launches");
  bench_launches(bench);
  progress("memory kernels");
  bench_streaming(bench, 0.15);
  progress("copies");
  bench_copies(bench, 0.25);
  progress("interference");
  bench_interference(bench, 0.35);
  progress("sustained products");
  for (const NumberType type : known_types(bench, options.types))
    if (bench.left(0.5) > 0.0) bench_sustained(bench, type, options.budget_s * 0.03);
  progress("matrix products");
  bench_gemm(bench, cases, 1.0);
  write_device(bench);
}

int gpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

int main_of(int argc, char** argv) {
  const auto parsed = parse_gpubench({argv + 1, argv + argc});
  if (const auto* wrong = std::get_if<std::string>(&parsed)) {
    std::cerr << "gpubench: " << *wrong << "; --help lists the options\n";
    return usage_error;
  }
  const auto& options = std::get<GpubenchOptions>(parsed);
  if (options.help) {
    std::cout << gpubench_help();
    return EXIT_SUCCESS;
  }
  const int count = gpus();
  if (count == 0) {
    std::cerr << "gpubench: there is no NVIDIA GPU here, or its driver is not loaded\n";
    return usage_error;
  }
  if (options.device >= count) {
    std::cerr << "gpubench: --device " << options.device << ": there are " << count << " GPUs\n";
    return usage_error;
  }
  if (options.out_file.empty()) {
    run(options, std::cout);
    return EXIT_SUCCESS;
  }
  std::ofstream out{options.out_file};
  if (!out) {
    std::cerr << "gpubench: cannot write " << options.out_file << '\n';
    return usage_error;
  }
  run(options, out);
  return out ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace foretrain::harness

int main(int argc, char** argv) {
  try {
    return foretrain::harness::main_of(argc, argv);
  } catch (const std::invalid_argument& error) {
    std::cerr << "gpubench: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "gpubench: " << error.what() << '\n';
    return 1;
  }
}
