// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Dense>
#include <atomic>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <vector>

#include "calibration/cases/step_case.hpp"
#include "calibration/fit/fit_plan.hpp"
#include "calibration/fit/fit_stop.hpp"
#include "calibration/fit/fold.hpp"
#include "calibration/fit/internal/robust_fit.hpp"
#include "calibration/fit/profile_constant.hpp"
#include "calibration/fit/profile_fit.hpp"
#include "models/grid/stage_layout.hpp"

namespace foretrain {

/// The measured runs of a fit as residuals ln(predicted/measured)/noise of the logarithms of the
/// plan's constants. What a row gives does not depend on how many threads compute the rows.
class FitProblem {
 public:
  /// Runs without a job are left out. The plan has to outlive this.
  /// @param stop once true, whatever is computed throws FitStopped
  FitProblem(const FitPlan& plan, const std::vector<StepRun>& runs,
             const std::atomic<bool>* stop = nullptr);
  FitProblem(const FitProblem&) = delete;
  FitProblem& operator=(const FitProblem&) = delete;

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] const RecordCheck& check(std::size_t row) const { return *rows_[row].check; }
  [[nodiscard]] const Job& job(std::size_t row) const { return rows_[row].job; }
  [[nodiscard]] FitRecord record(std::size_t row) const {
    return fit_record(check(row), job(row), rows_[row].year);
  }

  /// Weight of every row: its grade, 0 of those that are compared alone, and no source (within a
  /// group) more than plan.rows in all; 0 of those in `out`, if any.
  [[nodiscard]] Eigen::VectorXd weights(const std::vector<bool>& out = {}) const;
  /// Logarithms of what the constants would be without any record.
  [[nodiscard]] Eigen::VectorXd priors() const;
  /// The problem with these weights; rows of weight 0 are not computed. Refers to this.
  /// @param close_by a row's slopes hold until one of its constants moved this far (of ln)
  [[nodiscard]] RobustProblem with(const Eigen::VectorXd& weights, double close_by = 0.0);
  /// Seconds of every row at x, whatever its weight.
  [[nodiscard]] std::vector<double> seconds(const Eigen::VectorXd& x);
  /// How far constants move rows that they are not fitted to, in units of noise, while each goes
  /// by its span; 0 where rows are fitted.
  [[nodiscard]] Eigen::MatrixXd moves_of_others(const Eigen::VectorXd& x,
                                                const Eigen::VectorXd& spans);
  /// Planes of all rows, and where they are of. Folds that begin with the same ones do not depend
  /// on each other.
  struct Planes {
    ResidualPlanes planes;
    std::vector<Eigen::VectorXd> at;
    std::vector<Eigen::VectorXd> spans;
  };
  /// Planes through all points around x, of every row.
  [[nodiscard]] Planes planes_at(const Eigen::VectorXd& x, const Eigen::VectorXd& spans);
  void take(const Planes& planes);
  /// Adds all that a fit reads: the plan, the rows, and what they take at three points.
  void add_to(Fingerprint& inputs, const Eigen::VectorXd& weights);
  /// Rows and variables that the rows in `from` can move: those that share a constant or a prior
  /// with them, and so on.
  [[nodiscard]] std::vector<bool> connected(const std::vector<bool>& from) const;
  /// Variables that any of these rows has.
  [[nodiscard]] std::vector<bool> variables_of(const std::vector<bool>& rows) const;

 private:
  struct Knob {
    Eigen::Index variable;
    std::vector<ConstantRef> constants;
    bool moves = true;  ///< to meet the row; else it follows other rows alone

    void set(double value) const {
      for (const ConstantRef& constant : constants) constant.set(value);
    }
  };
  struct Row {
    const RecordCheck* check;
    double grade;
    Job job;
    StageLayout layout;
    std::vector<Knob> knobs;  ///< ordered by variable
    FitScope scope = FitScope::all;
    std::optional<int> year = {};
    Eigen::VectorXd derived_at{};    ///< of its plane
    Eigen::VectorXd derived_with{};  ///< its spans
    bool coarse = true;              ///< whether it is
  };

  struct PlaneOptions {
    double close_by;
    bool coarse;
  };

  void add_knobs(std::size_t index, const ProfileRef& profile, Row& row);
  void set(Row& row, const Eigen::VectorXd& x) const;
  [[nodiscard]] double residual(const Row& row) const;
  void derive(Row& row, Eigen::Index index, const Eigen::VectorXd& x, const Eigen::VectorXd& spans,
              const PlaneOptions& options);
  template <class Work>
  void for_rows(const Eigen::VectorXd& weights, const Work& work);

  const FitPlan& plan_;
  const std::atomic<bool>* stop_;
  std::vector<Row> rows_;
  ResidualPlanes planes_;
};

/// Bands and median errors of the stacks that the plan frees a constant of, over the rows with a
/// weight: of a stack's dense runs; what experts add to the band is the same for all stacks
/// (models/forecast/band.cpp). A stack with runs of experts alone gets theirs.
[[nodiscard]] std::vector<FittedBand> stack_bands(const FitPlan& plan, const FitProblem& problem,
                                                  const Eigen::VectorXd& weights,
                                                  const std::vector<double>& seconds);

}  // namespace foretrain
