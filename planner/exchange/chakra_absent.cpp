// SPDX-License-Identifier: Apache-2.0
#include "planner/exchange/execution_trace.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

[[noreturn]] void refuse() {
  throw UsageError(
      "this program was built without protobuf, so it cannot read or write Chakra traces; install "
      "libprotobuf-dev and protobuf-compiler and build again");
}

}  // namespace

bool knows_chakra() { return false; }

std::vector<std::string> chakra_files(const ExecutionTrace&) { refuse(); }

RankTrace read_chakra(const std::string&, const std::string&, std::vector<std::string>&) {
  refuse();
}

}  // namespace foretrain
