// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/scenario_fields.hpp"

#include <initializer_list>
#include <utility>
#include <vector>

#include "scenarios/sections/model_keys.hpp"
#include "scenarios/sections/sections.hpp"

namespace foretrain {
namespace {

std::vector<Field> head_fields() {
  return {
      {.path = "schema",
       .kind = FieldKind::integer,
       .help = "Version of this file format; this program reads version 1.",
       .example = "1",
       .required = true,
       .min = 1,
       .max = 1},
      {.path = "extends",
       .help = "Another scenario file whose values hold wherever this file says nothing; a path "
               "relative to this file, inside its folder.",
       .example = "base.yaml"},
      {.path = "name",
       .help = "What reports and result files call this run.",
       .example = "llama2-70b-1024xh100",
       .required = true},
      {.path = "model",
       .help =
           "The LLM to train or serve: a name from the model catalog (`foretrain show models`) or "
           "a "
           "path to a model file, relative to this file; or the model itself, with the keys of a "
           "model file but schema, sources and published.",
       .example = "llama2-70b",
       .required = true,
       .entry = inline_model_fields},
  };
}

std::vector<Field> profile_fields() {
  return {
      {.path = "stack",
       .help = "Training framework from the stack profiles: which kernels are fused, what "
               "overlaps, which buffers it keeps.",
       .example = "megatron-core",
       .default_text = "megatron-core"},
      {.path = "software_year",
       .kind = FieldKind::integer,
       .help = "Year of the framework's release and its libraries; by default any of the runs that "
               "the stack was fitted on. A year outside theirs widens the band.",
       .example = "2026",
       .min = 2017,
       .max = 2100},
      {.path = "site",
       .help = "Measured profile of this cluster; `default` is a typical one, with a wider "
               "band. As "
               "the stack, a name or the path of a file.",
       .example = "default",
       .default_text = "default"},
      {.path = "device_profile",
       .help =
           "Measured profile of the hosts' device: a name or the path of a file; by default the "
           "catalog's own.",
       .example = "./my-h100.yaml"},
  };
}

void add_sections(std::initializer_list<const RowTable*> sections, std::vector<Field>& all) {
  for (const RowTable* const section : sections) {
    const std::vector<Field>& fields = section->fields().fields();
    all.insert(all.end(), fields.begin(), fields.end());
  }
}

std::vector<Field> all_fields() {
  std::vector<Field> all = head_fields();
  add_sections(
      {&cluster_keys(), &training_keys(), &fine_tuning_keys(), &parallel_keys(), &memory_keys()},
      all);
  for (Field& field : profile_fields()) all.push_back(std::move(field));
  add_sections({&communication_keys(), &operations_keys(), &budget_keys(), &measured_keys(),
                &simulation_keys(), &serving_keys(), &post_training_keys()},
               all);
  return all;
}

}  // namespace

const FieldTable& scenario_fields() {
  static const FieldTable table("Foretrain scenario, schema 1", all_fields());
  return table;
}

}  // namespace foretrain
