// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "topologies/imports/import_text.hpp"

namespace foretrain::test {

/// A file of tests/topologies/fixtures.
inline std::string fixture(const std::string& name) {
  std::ifstream file(FORETRAIN_SOURCE_DIR "/tests/topologies/fixtures/" + name, std::ios::binary);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// `text` with the first `what` replaced, which it must hold.
inline std::string replaced(const std::string& text, const std::string& what,
                            const std::string& by) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  std::ostringstream changed;
  changed << text.substr(0, at) << by << text.substr(at + what.size());
  return changed.str();
}

/// The error that `import` must throw.
template <class Import>
ImportError refusal(Import import) {
  try {
    import();
  } catch (const ImportError& error) {
    return error;
  }
  FAIL("was imported");
  return {0, ""};
}

}  // namespace foretrain::test
