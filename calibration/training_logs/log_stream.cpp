// SPDX-License-Identifier: Apache-2.0

#include "calibration/training_logs/log_stream.hpp"

#include <zlib.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "calibration/training_logs/log_file_reader.hpp"

namespace foretrain {
namespace {

constexpr char escape = '\x1b';

bool is_number_char(char c) { return c >= '0' && c <= '9'; }

/// Behind the digits at the front of a text.
std::size_t digits_end(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_number_char(text[at])) ++at;
  return at;
}

/// Behind an escape sequence that begins at `at`.
std::size_t sequence_end(const char* text, std::size_t size, std::size_t at) {
  if (++at >= size) return size;
  if (text[at] == ']') {  // OSC: up to BEL or ESC backslash
    while (at < size && text[at] != '\a' && text[at] != escape) ++at;
    return std::min(size, text[std::min(at, size - 1)] == escape ? at + 2 : at + 1);
  }
  if (text[at] != '[') return at + 1;
  for (++at; at < size; ++at)
    if (text[at] >= 0x40 && text[at] <= 0x7E) return at + 1;
  return size;
}

/// The text without escape sequences of terminals (ECMA-48 CSI and OSC), in place. @return its end
std::size_t strip_escapes(char* text, std::size_t size) {
  std::size_t to = 0;
  for (std::size_t at = 0; at < size;) {
    if (text[at] == escape)
      at = sequence_end(text, size, at);
    else
      text[to++] = text[at++];
  }
  return to;
}

/// The text behind "12: ", "[rank3]:", "[default0]:", "(node-1 pid=77)" and such, as srun, torchrun
/// and Ray put them before lines; "[INFO|" and the like stay.
std::string_view without_launcher_prefix(std::string_view text) {
  std::size_t blanks = 0;
  while (blanks < text.size() && text[blanks] == ' ') ++blanks;
  const std::string_view rest = text.substr(blanks);
  const std::size_t digits = digits_end(rest);
  if (digits > 0 && digits <= 7 && rest.substr(digits).starts_with(": "))
    return rest.substr(digits + 2);
  for (const std::string_view opening : {"[rank", "[default", "(RANK", "(rank"}) {
    if (!rest.starts_with(opening)) continue;
    std::string_view behind = rest.substr(opening.size());
    behind.remove_prefix(digits_end(behind));
    if (behind.starts_with("]:") || behind.starts_with(")")) {
      behind.remove_prefix(behind.front() == ']' ? 2 : 1);
      return behind;
    }
  }
  const std::size_t close = rest.substr(0, 160).find(')');
  if (rest.starts_with('(') && close != std::string_view::npos &&
      rest.substr(0, close).find(" pid=") != std::string_view::npos)
    return rest.substr(close + 1);
  return text;
}

/// Collects bytes into lines.
class LineCollector {
 public:
  LineCollector(StreamFacts& facts, const std::function<void(const TextLine&)>& take)
      : facts_{facts}, take_{take} {}

  void add(std::string_view part) {
    const std::size_t room = most_line_bytes - line_.size();
    if (part.size() > room) cut_ = true;
    line_.append(part.substr(0, room));
  }

  [[nodiscard]] long number() const { return number_; }

  void end(bool feed) {
    if (!line_.empty()) give();
    if (cut_) ++facts_.cut;
    cut_ = false;
    line_.clear();
    if (feed) ++number_;
  }

 private:
  void give() {
    ++facts_.lines;
    std::size_t size = line_.size();
    if (std::memchr(line_.data(), escape, size) != nullptr)
      size = strip_escapes(line_.data(), size);
    take_({number_, without_launcher_prefix(std::string_view(line_).substr(0, size))});
  }

  StreamFacts& facts_;
  const std::function<void(const TextLine&)>& take_;
  std::string line_;
  long number_ = 1;
  bool cut_ = false;
};

/// The next end of a line, or `text.size()`.
std::size_t next_end(std::string_view text, std::size_t from) {
  const char* const begin = text.data() + from;
  const std::size_t left = text.size() - from;
  const void* const feed = std::memchr(begin, '\n', left);
  const std::size_t to_feed =
      feed == nullptr ? left : static_cast<std::size_t>(static_cast<const char*>(feed) - begin);
  const void* const carriage = std::memchr(begin, '\r', to_feed);
  if (carriage == nullptr) return from + to_feed;
  return from + static_cast<std::size_t>(static_cast<const char*>(carriage) - begin);
}

/// Beside its zero bytes a text has hardly any that no terminal shows.
bool is_binary(std::string_view text) {
  long odd = 0;
  long rest = 0;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const bool shown = code >= 0x20 || (code >= 0x07 && code <= 0x0D) || c == escape;
    odd += code != 0 && !shown ? 1 : 0;
    rest += code != 0 ? 1 : 0;
  }
  return 50 * odd > rest;
}

/// A part of a line without its zero bytes.
std::string without_zeros(std::string_view part, long line, StreamFacts& facts) {
  std::string text(part);
  const auto zeros = static_cast<long>(std::erase(text, '\0'));
  if (zeros > 0 && facts.zeros == 0) facts.zero_line = line;
  facts.zeros += zeros;
  return text;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// A message of a program that ran out of memory has sentences, too.
bool is_message(std::string_view line) {
  return line.find("Error") != std::string_view::npos ||
         line.find("Traceback") != std::string_view::npos;
}

/// Six words of letters alone, or more than half of them, and no fields of a log.
bool is_sentence(std::string_view line) {
  constexpr int few = 6;
  int words = 0;
  int plain = 0;
  for (std::size_t at = 0; at < line.size();) {
    while (at < line.size() && line[at] == ' ') ++at;
    std::size_t end = at;
    bool letters = true;
    while (end < line.size() && line[end] != ' ') {
      const char c = line[end];
      const bool mark = (c == ',' || c == '.' || c == ';' || c == ':') &&
                        (end + 1 == line.size() || line[end + 1] == ' ');
      letters = letters && (is_letter(c) || c == '-' || c == '\'' || mark);
      ++end;
    }
    if (end > at) {
      ++words;
      plain += letters ? 1 : 0;
    }
    at = end;
  }
  return plain >= few && 10 * plain >= 7 * words;
}

/// Marks of pages: headings, lists, fences, tables and tags.
bool is_markup(std::string_view line) {
  while (line.starts_with(' ')) line.remove_prefix(1);
  for (const std::string_view mark : {"# ", "## ", "### ", "- ", "* ", "> ", "```", "| ", "|-"})
    if (line.starts_with(mark)) return true;
  return line.starts_with('<') && line.size() > 2 && (is_letter(line[1]) || line[1] == '/');
}

}  // namespace

StreamFacts read_lines(std::istream& input, const std::function<void(const TextLine&)>& take,
                       std::string_view front) {
  constexpr std::size_t chunk_bytes = std::size_t{1} << 18;
  StreamFacts facts;
  LineCollector lines(facts, take);
  std::vector<char> chunk(chunk_bytes);
  const auto take_chunk = [&](std::string_view text) {
    const bool zeros = text.find('\0') != std::string_view::npos;
    const bool binary = zeros && is_binary(text);
    for (std::size_t at = 0; at < text.size() && !facts.binary;) {
      const std::size_t end = next_end(text, at);
      const std::string_view part = text.substr(at, end - at);
      lines.add(zeros ? without_zeros(part, lines.number(), facts) : part);
      facts.binary = binary && facts.zeros > 0;
      if (end < text.size()) lines.end(text[end] == '\n');
      at = end + 1;
    }
  };
  take_chunk(front);
  while (input && !facts.binary) {
    input.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    take_chunk(std::string_view(chunk.data(), static_cast<std::size_t>(input.gcount())));
  }
  lines.end(false);
  return facts;
}

void ProseShare::take(std::string_view line) {
  constexpr long enough = 2000;
  if (lines_ >= enough || line.find_first_not_of(" \t") == std::string_view::npos) return;
  ++lines_;
  if (is_markup(line)) ++marks_;
  if (!is_message(line) && is_sentence(line)) ++sentences_;
}

bool ProseShare::is_page() const { return marks_ >= 2 && 3 * (marks_ + sentences_) >= lines_; }

bool ProseShare::most_of_it() const { return lines_ > 0 && 3 * sentences_ >= lines_; }

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
