// SPDX-License-Identifier: Apache-2.0
#include "planner/text/gzip.hpp"

#include <zlib.h>

#include <array>
#include <stdexcept>

namespace foretrain {
namespace {

constexpr int gzip_window = 15 + 16;  // zlib: the largest window, and a gzip header
constexpr int memory_level = 8;       // zlib's default

}  // namespace

std::string gzip(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, memory_level,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("cannot start zlib");
  std::string result;
  std::array<Bytef, 65536> block{};
  constexpr std::size_t most = 1U << 30U;  // zlib counts in 32 bits
  int state = Z_OK;
  do {
    const std::string_view piece = text.substr(0, most);
    text.remove_prefix(piece.size());
    // zlib reads through a pointer that it declares as not const.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream.avail_in = static_cast<uInt>(piece.size());
    do {
      stream.next_out = block.data();
      stream.avail_out = static_cast<uInt>(block.size());
      state = deflate(&stream, text.empty() ? Z_FINISH : Z_NO_FLUSH);
      result.append(reinterpret_cast<const char*>(block.data()), block.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  } while (!text.empty());
  deflateEnd(&stream);
  if (state != Z_STREAM_END) throw std::runtime_error("zlib did not finish");
  return result;
}

}  // namespace foretrain
