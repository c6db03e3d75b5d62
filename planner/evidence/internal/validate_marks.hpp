// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "calibration/cases/step_case.hpp"
#include "planner/answer/answer.hpp"
#include "planner/evidence/validate.hpp"

namespace foretrain {

enum class MarkShape { circle, diamond, triangle, square };

/// How a group of step times looks in pictures: shape and colour both tell it.
struct GroupLook {
  const char* group;
  const char* name;
  MarkShape shape;
  const char* paint;  ///< told apart with any common colour blindness (Okabe, Ito)
};

/// The last one stands for records of the groups that have no look of their own.
inline constexpr std::array<GroupLook, 6> group_looks{
    {{dense_half_group, "dense bf16/fp16", MarkShape::circle, "#0072b2"},
     {dense_fp8_group, "dense fp8", MarkShape::diamond, "#e69f00"},
     {moe_group, "mixture of experts", MarkShape::triangle, "#009e73"},
     {hybrid_group, "hybrid", MarkShape::square, "#cc79a7"},
     {kin_group, "framework of a kin", MarkShape::diamond, "#56b4e9"},
     {"", "no group", MarkShape::square, "#7f4f8c"}}};

[[nodiscard]] const GroupLook& look_of_group(const std::string& group);

/// The step times that could be compared, in the order of the records.
/// @pre all predictions and measurements are positive and finite
[[nodiscard]] std::vector<const RecordCheck*> compared_steps(const Validation& validation);

/// A mark of `size` pixels around (x, y), in the colour of whatever holds it; browsers show the
/// tip over it.
[[nodiscard]] std::string mark_svg(MarkShape shape, double x, double y, double size,
                                   const std::string& tip = "");

/// "id: 1.23 s measured, 1.30 s predicted, +5.7 %".
[[nodiscard]] std::string mark_tip(const RecordCheck& check);

/// A straight line with the given attributes.
[[nodiscard]] std::string line_svg(double x1, double y1, double x2, double y2, const char* style);

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

}  // namespace foretrain
