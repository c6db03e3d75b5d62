// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/internal/readable.hpp"

#include "planner/text/format.hpp"

namespace foretrain {

std::string readable(std::string_view path, const Json& value) {
  if (value.is_null()) return "unknown";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) return value.dump();
  const double number = value.get<double>();
  if (path.ends_with("peak_per_gpu_per_s")) return rate_text(FlopPerSecond{number});
  if (path.ends_with("_per_step")) return flop_text(Flop{number});
  if (path.ends_with("_bytes")) return bytes_text(Bytes{number});
  if (path.starts_with("run.") && path.ends_with("_s")) return duration_text(Seconds{number});
  if (path.ends_with("tokens_per_s")) return fixed_text(number, 0) + " tokens/s";
  if (path.ends_with("tokens_per_s_per_gpu")) return significant_text(number) + " tokens/s per GPU";
  if (path == "model_tflops_per_gpu") return significant_text(number) + " TFLOP/s";
  if (path.ends_with("_s")) return seconds_text(Seconds{number});
  if (path == "mfu" || path == "hfu" || path.ends_with("goodput") || path == "run.meets_deadline" ||
      path.ends_with(".error"))
    return percent_text(number);
  if (path == "run.tokens") return count_text(number);
  if (path == "cost.usd" || path.ends_with("_usd")) return dollars_text(Dollars{number});
  if (path.ends_with("_kwh")) return energy_text(number * kWh);
  if (path.ends_with("_w")) return significant_text(number / 1000.0) + " kW";
  return significant_text(number);
}

}  // namespace foretrain
