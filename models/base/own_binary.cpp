// SPDX-License-Identifier: Apache-2.0
#include "models/base/own_binary.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

namespace foretrain {
namespace {

std::string program_file() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : std::string();
}

std::string absolute(const char* file) {
  std::array<char, PATH_MAX> path{};
  return ::realpath(file, path.data()) == nullptr ? std::string() : std::string(path.data());
}

}  // namespace

OwnBinary own_binary() {
  static const char here = 0;
  Dl_info own{};
  Dl_info program{};
  // The kernel tells where the program's own headers lie.
  const auto* headers = reinterpret_cast<const void*>(::getauxval(AT_PHDR));  // NOLINT
  if (::dladdr(&here, &own) != 0 && ::dladdr(headers, &program) != 0 &&
      own.dli_fbase != program.dli_fbase)
    return {absolute(own.dli_fname), true};
  return {program_file(), false};
}

}  // namespace foretrain
