// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/help/program_build.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "planner/version.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/yaml/sha256.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {
namespace {

/// The bytes of the GNU build id among the notes at `at`, in hex; empty when there is none.
std::string build_id(const unsigned char* at, std::size_t size) {
  const auto padded = [](std::size_t length) { return (length + 3) / 4 * 4; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof(note));
    const std::size_t whole = sizeof(note) + padded(note.n_namesz) + padded(note.n_descsz);
    if (whole > size) break;
    const unsigned char* name = at + sizeof(note);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::string hex;
      for (std::size_t i = 0; i < note.n_descsz; ++i)
        hex += fmt::format("{:02x}", name[padded(note.n_namesz) + i]);
      return hex;
    }
    at += whole;
    size -= whole;
  }
  return {};
}

/// Whether this code is part of a loaded file: the program, or a module of another one.
bool holds_us(const dl_phdr_info& info) {
  static const char here = 0;
  const auto address = reinterpret_cast<std::uintptr_t>(&here);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const std::uintptr_t start = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && address >= start && address < start + header.p_memsz)
      return true;
  }
  return false;
}

/// Called for every loaded file until it returns something.
int look_at_program(dl_phdr_info* info, std::size_t /*size*/, void* found) {
  if (!holds_us(*info)) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    // Where the loader put it is known as a number only.
    const auto* notes =
        reinterpret_cast<const unsigned char*>(info->dlpi_addr + header.p_vaddr);  // NOLINT
    const std::string id = build_id(notes, header.p_memsz);
    if (!id.empty()) *static_cast<std::string*>(found) = id;
  }
  return 1;
}

namespace fs = std::filesystem;

bool is_day(std::string_view text) {
  constexpr std::string_view form = "dddd-dd-dd";
  return text.size() == form.size() &&
         std::equal(text.begin(), text.end(), form.begin(), [](char c, char like) {
           return like == 'd' ? c >= '0' && c <= '9' : c == like;
         });
}

/// The latest value of a key `date`. Days in this form are ordered as text.
std::string latest_day(const std::string& text) {
  constexpr std::string_view key = "date: ";
  constexpr std::size_t day = 10;
  std::string latest;
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    const std::string found = text.substr(at + key.size(), day);
    if (is_day(found)) latest = std::max(latest, found);
  }
  return latest;
}

std::string latest_day_below(const fs::path& folder) {
  std::string latest;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, error)) {
    if (entry.path().extension() != ".yaml") continue;
    Diagnostics unheard;
    const auto text =
        read_text_file(entry.path(), entry.path().string(), YamlLimits{}.file_bytes, unheard);
    if (text) latest = std::max(latest, latest_day(*text));
  }
  return latest;
}

}  // namespace

std::string program_build() {
  std::string id;
  ::dl_iterate_phdr(look_at_program, &id);
  if (id.empty()) {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes.empty())
      throw std::runtime_error("cannot determine which build of the program this is");
    id = sha256_hex(bytes);
  }
  return std::string(version) + " " + id;
}

std::string version_text() {
  Diagnostics unheard;
  const fs::path root = catalog_roots({}, unheard).back();
  std::string latest;
  for (const char* part : {"models/catalog", "topologies/catalog", "calibration/profiles"})
    latest = std::max(latest, latest_day_below(root / part));
  return fmt::format("foretrain {}\ndata {}: {}\n", version,
                     latest.empty() ? "not found" : "of " + latest, root.generic_string());
}

}  // namespace foretrain
