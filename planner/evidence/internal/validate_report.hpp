// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "calibration/cases/step_case.hpp"
#include "calibration/records/record_check.hpp"
#include "planner/answer/answer.hpp"
#include "planner/evidence/validate.hpp"
#include "planner/scene/scene.hpp"
#include "planner/text/json.hpp"

namespace foretrain {

/// How a group of step times looks in pictures: shape and colour both tell it.
struct GroupLook {
  const char* group;
  const char* name;
  DotShape shape;
  Paint paint;
};

/// The last one stands for records of the groups that have no look of their own.
inline constexpr std::array<GroupLook, 6> group_looks{
    {{dense_half_group, "dense bf16/fp16", DotShape::circle, palette::blue},
     {dense_fp8_group, "dense fp8", DotShape::diamond, palette::orange},
     {moe_group, "mixture of experts", DotShape::triangle, palette::green},
     {hybrid_group, "hybrid", DotShape::square, palette::purple},
     {kin_group, "framework of a kin", DotShape::diamond, palette::sky},
     {"", "no group", DotShape::square, palette::violet}}};

[[nodiscard]] const GroupLook& look_of_group(const std::string& group);

/// The step times that could be compared, in the order of the records.
/// @pre all predictions and measurements are positive and finite
[[nodiscard]] std::vector<const RecordCheck*> compared_steps(const Validation& validation);

/// Puts a mark where a record lies, in the look of its group, with a tip.
void add_record(Scene& scene, const RecordCheck& check, const SceneDot& dot);

/// Percent with its sign: 0.0123 -> "+1.2".
/// A share in percent, without the sign of percent, for columns that say so.
[[nodiscard]] std::string percent_figure(double share, int decimals);
/// With one decimal below 100 and none from there on.
[[nodiscard]] std::string short_percent(double share);
[[nodiscard]] std::string signed_percent_text(double share, int decimals);
[[nodiscard]] std::string short_signed_percent(double share);

/// A source in tables: those of several groups get a line for each; dense 16-bit runs are what is
/// usually meant.
[[nodiscard]] std::string source_label(const std::string& source, const std::string& group);

/// Adds a row of a table of folds, its name first: a stack's chips ("STACK on CHIP") stand below
/// it, since lines of both are too long. @param last stack that the row before was of
void add_fold_row(std::vector<AnswerCell> cells, std::string& last, AnswerTable& table);

/// bias, MAPE, median and P90 in percent: columns of a table of errors, and cells of a row.
void add_error_columns(std::vector<AnswerColumn>& columns);
void add_errors(const CheckSummary& line, std::vector<AnswerCell>& cells);

/// How many figures were skipped; empty where none was.
[[nodiscard]] AnswerLine skipped_line(const Validation& validation);

/// The total of a quantity over all sources and groups; nothing where no record has it.
[[nodiscard]] const CheckSummary* total_of(const Validation& validation,
                                           const std::string& quantity);

/// Errors of one source, as `calibrate fit --json` and the left-out table write them.
[[nodiscard]] Json summary_json(const CheckSummary& line);

}  // namespace foretrain
