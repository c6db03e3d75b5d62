// SPDX-License-Identifier: Apache-2.0
#include "calibration/training_logs/log_file_reader.hpp"

#include <zlib.h>

#include <string>
#include <utility>

namespace foretrain {
namespace {

/// Hands on what `decode` makes of one chunk of the stream after another.
class DecodingBuffer : public std::streambuf {
 public:
  DecodingBuffer(std::istream& input, std::string_view front) : input_{input}, front_{front} {}

 protected:
  /// More text, empty at the end.
  virtual std::string decode() = 0;

  /// The next bytes of the input, none at its end.
  std::string chunk() {
    if (!front_.empty()) return std::exchange(front_, {});
    std::string bytes(std::size_t{1} << 16, '\0');
    input_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.erase(static_cast<std::size_t>(input_.gcount()));
    return bytes;
  }

 private:
  int_type underflow() override {
    text_ = decode();
    if (text_.empty()) return traits_type::eof();
    setg(text_.data(), text_.data(), text_.data() + text_.size());
    return traits_type::to_int_type(text_.front());
  }

  std::istream& input_;
  std::string front_;  ///< what was read before
  std::string text_;
};

/// Several packed files one behind another are one, as gzip has it.
class GzipBuffer final : public DecodingBuffer {
 public:
  GzipBuffer(std::istream& input, std::string_view front) : DecodingBuffer(input, front) {
    constexpr int gzip_alone = 16 + MAX_WBITS;
    good_ = inflateInit2(&state_, gzip_alone) == Z_OK;
  }
  GzipBuffer(const GzipBuffer&) = delete;
  GzipBuffer& operator=(const GzipBuffer&) = delete;
  ~GzipBuffer() override { inflateEnd(&state_); }

 private:
  std::string decode() override {
    std::string text(std::size_t{1} << 18, '\0');
    state_.next_out = reinterpret_cast<Bytef*>(text.data());
    state_.avail_out = static_cast<uInt>(text.size());
    while (good_ && state_.avail_out > 0 && fill()) {
      const int result = inflate(&state_, Z_NO_FLUSH);
      if (result == Z_STREAM_END)
        good_ = inflateReset(&state_) == Z_OK;
      else if (result != Z_OK)
        good_ = false;  // cut off: what came before it counts
    }
    text.erase(text.size() - state_.avail_out);
    return text;
  }

  bool fill() {
    if (state_.avail_in > 0) return true;
    packed_ = chunk();
    state_.next_in = reinterpret_cast<Bytef*>(packed_.data());
    state_.avail_in = static_cast<uInt>(packed_.size());
    return !packed_.empty();
  }

  z_stream state_{};
  std::string packed_;
  bool good_ = false;
};

void append_utf8(std::string& text, unsigned code) {
  const auto put = [&](unsigned byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0U | (code >> 6U));
  } else if (code < 0x10000) {
    put(0xE0U | (code >> 12U));
    put(0x80U | ((code >> 6U) & 0x3FU));
  } else {
    put(0xF0U | (code >> 18U));
    put(0x80U | ((code >> 12U) & 0x3FU));
    put(0x80U | ((code >> 6U) & 0x3FU));
  }
  put(0x80U | (code & 0x3FU));
}

class Utf16Buffer final : public DecodingBuffer {
 public:
  Utf16Buffer(std::istream& input, std::string_view front, bool big)
      : DecodingBuffer(input, front), big_{big} {}

 private:
  std::string decode() override {
    std::string text;
    while (text.empty()) {
      bytes_ += chunk();
      if (bytes_.size() < 2) break;
      std::size_t at = 0;
      for (; at + 1 < bytes_.size(); at += 2) take(unit(at), text);
      bytes_.erase(0, at);
    }
    return text;
  }

  [[nodiscard]] unsigned unit(std::size_t at) const {
    const auto first = static_cast<unsigned char>(bytes_[at]);
    const auto second = static_cast<unsigned char>(bytes_[at + 1]);
    return big_ ? first * 256U + second : second * 256U + first;
  }

  void take(unsigned unit, std::string& text) {
    constexpr unsigned mark = 0xFEFF;
    if (unit == mark) return;
    if (unit >= 0xD800 && unit < 0xDC00) {
      high_ = unit;
    } else if (unit >= 0xDC00 && unit < 0xE000) {
      if (high_ != 0) append_utf8(text, 0x10000 + ((high_ - 0xD800) << 10U) + (unit - 0xDC00));
      high_ = 0;
    } else {
      append_utf8(text, unit);
    }
  }

  std::string bytes_;
  unsigned high_ = 0;  ///< first half of a pair
  bool big_;
};

/// A stream that owns its buffer.
class OwningStream final : public std::istream {
 public:
  explicit OwningStream(std::unique_ptr<std::streambuf> buffer)
      : std::istream(buffer.get()), buffer_{std::move(buffer)} {}

 private:
  std::unique_ptr<std::streambuf> buffer_;
};

/// Every second byte of the front is zero, and no other.
bool alternates(std::string_view front, std::size_t zeros_at) {
  if (front.size() < 8) return false;
  for (std::size_t at = 0; at < front.size() / 2 * 2; ++at)
    if ((front[at] == '\0') != (at % 2 == zeros_at)) return false;
  return true;
}

}  // namespace

std::unique_ptr<std::istream> decoded_stream(std::istream& input, std::string_view front) {
  std::unique_ptr<std::streambuf> buffer;
  if (front.starts_with("\x1f\x8b"))
    buffer = std::make_unique<GzipBuffer>(input, front);
  else if (front.starts_with("\xff\xfe") || alternates(front, 1))
    buffer = std::make_unique<Utf16Buffer>(input, front, false);
  else if (front.starts_with("\xfe\xff") || alternates(front, 0))
    buffer = std::make_unique<Utf16Buffer>(input, front, true);
  if (!buffer) return nullptr;
  return std::make_unique<OwningStream>(std::move(buffer));
}

}  // namespace foretrain
