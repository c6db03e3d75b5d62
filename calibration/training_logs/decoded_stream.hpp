// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <istream>
#include <memory>
#include <string_view>

namespace foretrain {

/// The text of a stream that is packed by gzip or written in UTF-16, as PowerShell's `>` does; null
/// where it is neither. Nothing is kept but a chunk.
/// @param front what was read of `input`, from its beginning; `input` stays alive
[[nodiscard]] std::unique_ptr<std::istream> decoded_stream(std::istream& input,
                                                           std::string_view front);

}  // namespace foretrain
