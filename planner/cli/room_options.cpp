// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/room_options.hpp"

#include <fmt/format.h>

#include "planner/text/format.hpp"
#include "planner/text/limit_text.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {

void add_room_options(CLI::App& app, RoomOptions& options, const std::string& what) {
  app.add_option("--max-memory-share", options.share,
                 fmt::format("{}Most memory of a GPU, as a share of what is usable (default: {:g}, "
                             "and the band's upper end fits; 1: all of it)",
                             what, default_memory_share))
      ->type_name("SHARE");
  app.add_option("--headroom", options.headroom,
                 what + "Memory of a GPU that stays free: \"4 GiB\"")
      ->type_name("SIZE");
}

SearchLimits room_limits(const RoomOptions& options) {
  SearchLimits limits;
  if (options.share && !(*options.share > 0.0 && *options.share <= 1.0))
    throw UsageError(
        fmt::format("--max-memory-share is a share of the usable memory, above 0 and "
                    "at most 1, not {}",
                    *options.share));
  limits.max_memory_share = options.share;
  if (!options.headroom.empty()) limits.headroom = bytes_value("--headroom", options.headroom);
  return limits;
}

}  // namespace foretrain
