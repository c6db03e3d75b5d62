// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/load_options.hpp"

namespace foretrain {

/// Where catalogs are looked for, in this order: `extra`; FORETRAIN_DATA_DIR if it is set, else the
/// data folder next to the installed program (<program>/../share/foretrain) if there is one, else
/// the source tree that this program was built from. None depends on the working directory.
/// An extra root may also be the YAML file of one device. A root that is neither is reported.
[[nodiscard]] std::vector<std::filesystem::path> catalog_roots(
    const std::vector<std::filesystem::path>& extra, Diagnostics& diagnostics);

/// A root that is not a folder of catalogs but the file of one device.
[[nodiscard]] bool is_device_file(const std::filesystem::path& root);

// A scenario may come from anybody: the files that it names (`extends`, `trace_file`) lie in its
// own folder or repository, links resolved, or in a folder that the user names.

/// Where files may lie that a scenario names. Canonical.
struct ReadRoots {
  std::vector<std::filesystem::path> folders;
  bool repository = false;  ///< one of them is LoadOptions::root
};

/// Absolute and without links, also where the end of the path does not exist; empty on failure.
[[nodiscard]] std::filesystem::path canonical_of(const std::filesystem::path& path);

/// The repository that a folder belongs to: the nearest folder, itself or above, that holds `.git`
/// or `.foretrain-root`. Empty when there is none but the root of the file system.
[[nodiscard]] std::filesystem::path repository_of(const std::filesystem::path& folder);

/// The folders that the files of a scenario in `folder` may lie in.
[[nodiscard]] ReadRoots roots_of(const std::filesystem::path& folder, const LoadOptions& options);

/// Why a file that a scenario names must not be read; empty when it may. An absolute path is
/// refused by path_refusal() alone: `extends` is for files that travel with the scenario.
/// @param target the canonical path of what is written
/// @param what what may be done with files that may: "extended"
[[nodiscard]] std::string path_refusal(const std::string& written,
                                       const std::filesystem::path& target, const ReadRoots& roots,
                                       std::string_view what);
[[nodiscard]] std::string place_refusal(const std::string& written,
                                        const std::filesystem::path& target, const ReadRoots& roots,
                                        std::string_view what);

}  // namespace foretrain
