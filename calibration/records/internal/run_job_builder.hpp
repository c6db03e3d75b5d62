// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "calibration/records/run_job.hpp"
#include "calibration/records/run_options.hpp"
#include "calibration/records/run_source.hpp"

namespace foretrain {

/// Fills a job from a record, part by part; the first part that cannot be expressed ends it.
class RunJobBuilder {
 public:
  RunJobBuilder(const RunRecord& record, const RunCatalog& catalog);
  [[nodiscard]] RunJob run();

 private:
  /// Each returns whether it succeeded.
  bool check_ranges();
  bool set_profiles();
  bool set_catalog_shape();
  bool set_heads();
  bool set_shape();
  bool set_moe();
  bool set_window();
  bool set_family();
  bool set_parallel();
  bool set_schedule();
  bool set_precision();
  bool set_zero();
  bool set_training();
  bool set_machine();

  void set_stage_layers();
  void set_experts();
  void set_fine_tuning();
  void set_memory();
  void set_eight_bit_weights();
  void set_optimizer_state();
  bool set_recompute();
  void assume_recompute();
  /// The jobs that the run may be as well where the record is silent; unlisted families alone are
  /// silent on overlap and attention, of the others both are known.
  void add_alternatives();
  void set_experts(Communication& communication);
  void set_communication();
  void set_plan_keys();

  bool refuse(std::string why) {
    out_.why = std::move(why);
    return false;
  }
  void assume(std::string what) { out_.assumptions.push_back(std::move(what)); }

  const RunRecord& record_;
  const RunCatalog& catalog_;
  RunSource source_;
  RunOptions options_;
  Job job_;
  bool recompute_stated_ = true;
  bool zero_stated_ = true;
  RunJob out_;
};

}  // namespace foretrain
