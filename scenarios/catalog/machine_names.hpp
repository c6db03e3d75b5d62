// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/catalog/catalog.hpp"
#include "scenarios/catalog/catalog_files.hpp"

namespace foretrain {

/// Where the machines that are refused by name lie below a catalog root.
inline constexpr const char* not_modelled_path = "topologies/catalog/not-modelled.yaml";

/// What to say of a device or a host that no catalog has, as a sentence of its own: that it is
/// known and what is missing, or which hosts have a GPU that was named as a host. Empty: nothing.
/// @throws ScenarioError when a catalog file is broken
[[nodiscard]] std::string about_machine(CatalogKind kind, const std::string& name,
                                        const std::vector<std::filesystem::path>& roots);

/// The file of the device that records and sellers call so, in any case; nothing for other kinds.
[[nodiscard]] std::optional<CatalogFile> find_by_alias(
    CatalogKind kind, const std::string& name, const std::vector<std::filesystem::path>& roots);

/// The host that a device comes in: the one that its file names (`host`) or describes (`server`),
/// else the only one with it. Nothing after reporting at the request: no such device, with the
/// nearest names, or which hosts to choose from.
[[nodiscard]] std::optional<std::string> host_with_device(const CatalogRequest& device,
                                                          CatalogContext& context);

/// Why a number of GPUs cannot be taken from such hosts (share_of), and which can.
[[nodiscard]] std::string share_refusal(int gpus, const std::string& host, int per_host);

}  // namespace foretrain
