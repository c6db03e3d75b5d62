// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/base/names.hpp"

namespace foretrain {

/// One resolved value, as `foretrain show` lists it.
struct ResolvedValue {
  std::string path;    ///< dotted, e.g. "parallel.tensor" or "cluster.host.device.memory"
  std::string value;   ///< with unit, as a user would write it
  std::string origin;  ///< "scenario.yaml:17", "--set", "default",
                       ///< "topologies/catalog/hosts/dgx-h100.yaml:9", "derived: gpus / (tensor *
                       ///< context * pipeline)"
};

/// A file that took part in a resolution.
struct SourceFile {
  std::string path;
  std::string sha256;  ///< of its bytes, hex
};

/// What a scenario asks to be forecast.
enum class Work { training, serving, post_training };
FORETRAIN_ENUM_NAMES(Work, {Work::training, "training"}, {Work::serving, "serving"},
                     {Work::post_training, "post-training"});

/// What a scenario is read for: it must have that section. `steps` takes training as well as
/// post-training, which commands that know training alone refuse.
enum class Purpose { training, serving, steps, any };

struct LoadOptions {
  std::vector<std::string> overrides;  ///< "parallel.tensor=4"; "KEY=null" leaves a key out
  std::vector<std::filesystem::path> catalogs;  ///< extra catalog roots, searched first
  std::filesystem::path root = {};  ///< `extends` may lead anywhere below it; empty: see below
  Purpose purpose = Purpose::training;
  std::vector<std::string> left_out{};  ///< keys that count as not written, after the overrides
};

}  // namespace foretrain
