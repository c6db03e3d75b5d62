// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/id_exchange.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "scenarios/yaml/sha256.hpp"

namespace foretrain::harness {
namespace {

constexpr std::size_t block_bytes = 64;
constexpr std::string_view digits = "0123456789abcdef";

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    bytes += static_cast<char>(digits.find(hex[at]) << 4U | digits.find(hex[at + 1]));
  return bytes;
}

using Clock = std::chrono::steady_clock;

class Socket {
 public:
  explicit Socket(int handle = -1) : handle_{handle} {}
  Socket(Socket&& other) noexcept : handle_{std::exchange(other.handle_, -1)} {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (handle_ >= 0) close(handle_);
  }
  [[nodiscard]] int get() const { return handle_; }
  [[nodiscard]] bool open() const { return handle_ >= 0; }

 private:
  int handle_;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error{what + ": " + std::strerror(errno)};
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses look_up(const char* host, int port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(host, std::to_string(port).c_str(), &hints, &found);
  if (status != 0)
    throw std::runtime_error{std::string{host == nullptr ? "any address" : host} + ": " +
                             gai_strerror(status)};
  return {found, &freeaddrinfo};
}

bool ready(int handle, short events, Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd wait{handle, events, 0};
  return left > 0 && poll(&wait, 1, static_cast<int>(left)) > 0;
}

/// On the interface of that address and on no other.
Socket listen_on(const std::string& address, int port) {
  const Addresses all = look_up(address.c_str(), port, AI_PASSIVE);
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    Socket listener{socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol)};
    const int yes = 1;
    if (!listener.open()) continue;
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener.get(), one->ai_addr, one->ai_addrlen) == 0 &&
        listen(listener.get(), SOMAXCONN) == 0)
      return listener;
  }
  fail("cannot listen at " + address + ":" + std::to_string(port) +
       " (FORETRAIN_LISTEN names another interface of this host)");
}

void send_all(int handle, const std::string& message) {
  for (std::size_t sent = 0; sent < message.size();) {
    const ssize_t now = send(handle, message.data() + sent, message.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno != EINTR) fail("cannot send to a rank");
    if (now > 0) sent += static_cast<std::size_t>(now);
  }
}

/// False where the other side went away first.
bool receive_all(int handle, std::string& message, Clock::time_point deadline) {
  for (std::size_t got = 0; got < message.size();) {
    if (!ready(handle, POLLIN, deadline)) return false;
    const ssize_t now = recv(handle, message.data() + got, message.size() - got, 0);
    if (now <= 0) return false;
    got += static_cast<std::size_t>(now);
  }
  return true;
}

// Rank 0 greets with a nonce; a rank asks with its number, a nonce of its own and a proof that it
// knows the secret; rank 0 answers with its own proof and the message. Nobody else gets the
// message, and nobody else's is believed.
constexpr std::size_t nonce_size = 32;
constexpr std::size_t rank_size = 8;
constexpr std::size_t proof_size = 64;
constexpr std::size_t question_size = rank_size + nonce_size + proof_size;
constexpr std::chrono::seconds manners{5};  // for one connection, from its start to its end

std::string rank_text(int rank) {
  std::string text = std::to_string(rank);
  return std::string(rank_size - text.size(), '0') + text;
}

/// A connection that has not asked yet.
struct Guest {
  Socket socket;
  std::string nonce;
  std::string question;
  Clock::time_point end;
};

/// Reads what is there. @return false where the connection is over, or said more than a question
bool listen_to(Guest& guest) {
  std::array<char, question_size + 1> bytes{};
  const ssize_t got = recv(guest.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
  guest.question.append(bytes.data(), static_cast<std::size_t>(got));
  return guest.question.size() <= question_size;
}

/// The rank that asks, where it is one of ours and knows the secret.
std::optional<int> rank_of(const ProcessPlace& place, const Guest& guest) {
  const std::string_view question = guest.question;
  const std::string_view asked = question.substr(0, rank_size + nonce_size);
  const std::string proof = hmac_hex(place.secret, "ask" + guest.nonce + std::string{asked});
  if (!same_secret(proof, question.substr(asked.size()))) return std::nullopt;
  for (int rank = 1; rank < place.world; ++rank)
    if (question.starts_with(rank_text(rank))) return rank;
  return std::nullopt;
}

void answer(const ProcessPlace& place, const Guest& guest, const std::string& message) {
  const std::string theirs = guest.question.substr(rank_size, nonce_size);
  send_all(guest.socket.get(),
           hmac_hex(place.secret, "tell" + guest.nonce + theirs + message) + message);
}

/// Rank 0: many connections at a time, so that a silent one keeps nobody from asking.
class Host {
 public:
  Host(const ProcessPlace& place, const std::string& message)
      : place_{place},
        message_{message},
        listener_{listen_on(place.listen.empty() ? place.address : place.listen, place.port)} {}

  void serve(Clock::time_point deadline) {
    while (static_cast<int>(served_.size()) + 1 < place_.world) {
      if (Clock::now() >= deadline)
        throw std::runtime_error{"only " + std::to_string(served_.size() + 1) + " of " +
                                 std::to_string(place_.world) + " ranks came to port " +
                                 std::to_string(place_.port) + " in time"};
      wait(deadline);
    }
  }

 private:
  void wait(Clock::time_point deadline) {
    constexpr std::size_t most_guests = 4096;
    std::vector<pollfd> files{{listener_.get(), POLLIN, 0}};
    for (const Guest& guest : guests_) files.push_back({guest.socket.get(), POLLIN, 0});
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    poll(files.data(), files.size(), static_cast<int>(std::clamp<long>(left.count(), 1, 100)));
    std::vector<Guest> stay;
    for (std::size_t i = 0; i < guests_.size(); ++i)
      if (stays(guests_[i], files[i + 1].revents != 0)) stay.push_back(std::move(guests_[i]));
    guests_ = std::move(stay);
    if (files[0].revents == 0) return;
    if (guests_.size() == most_guests) guests_.erase(guests_.begin());
    welcome();
  }

  void welcome() {
    Socket caller{accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!caller.open()) return;
    Guest guest{std::move(caller), nonce_hex(), {}, Clock::now() + manners};
    try {
      send_all(guest.socket.get(), guest.nonce);
    } catch (const std::runtime_error&) {
      return;  // gone again
    }
    guests_.push_back(std::move(guest));
  }

  bool stays(Guest& guest, bool speaks) {
    if (Clock::now() >= guest.end || (speaks && !listen_to(guest))) return false;
    if (guest.question.size() < question_size) return true;
    const std::optional<int> rank = rank_of(place_, guest);
    if (!rank) return false;
    try {
      answer(place_, guest, message_);
      served_.insert(*rank);
    } catch (const std::runtime_error&) {
      return false;  // it comes again
    }
    return false;
  }

  const ProcessPlace& place_;
  const std::string& message_;
  Socket listener_;
  std::vector<Guest> guests_;
  std::set<int> served_;
};

/// Asks one listener; nothing where it is not rank 0, or does not know the secret.
std::optional<std::string> ask_once(const ProcessPlace& place, const Socket& peer,
                                    std::size_t bytes, Clock::time_point end) {
  std::string nonce(nonce_size, '\0');
  if (!receive_all(peer.get(), nonce, end)) return std::nullopt;
  const std::string mine = nonce_hex();
  const std::string asked = rank_text(place.rank) + mine;
  send_all(peer.get(), asked + hmac_hex(place.secret, "ask" + nonce + asked));
  std::string proof(proof_size, '\0');
  std::string message(bytes, '\0');
  if (!receive_all(peer.get(), proof, end) || !receive_all(peer.get(), message, end))
    return std::nullopt;
  if (!same_secret(proof, hmac_hex(place.secret, "tell" + nonce + mine + message)))
    return std::nullopt;
  return message;
}

std::string ask(const ProcessPlace& place, std::size_t bytes, Clock::time_point deadline) {
  while (Clock::now() < deadline) {
    const Addresses all = look_up(place.address.c_str(), place.port, 0);
    for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
      const Socket peer{socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol)};
      if (!peer.open() || connect(peer.get(), one->ai_addr, one->ai_addrlen) != 0) continue;
      try {
        const auto message =
            ask_once(place, peer, bytes, std::min(deadline, Clock::now() + manners));
        if (message) return *message;
      } catch (const std::runtime_error&) {
        continue;  // it went away
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
  throw std::runtime_error{
      "rank 0 did not answer at " + place.address + ":" + std::to_string(place.port) +
      ", or has another FORETRAIN_SECRET than rank " + std::to_string(place.rank)};
}

}  // namespace

std::string hmac_hex(std::string_view key, std::string_view text) {
  std::string padded = key.size() > block_bytes ? bytes_of(sha256_hex(key)) : std::string{key};
  padded.resize(block_bytes);
  std::string inner = padded;
  std::string outer = padded;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  return sha256_hex(outer + bytes_of(sha256_hex(inner + std::string{text})));
}

bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return different == 0;
}

std::string nonce_hex() {
  std::array<unsigned char, 16> random{};
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    throw std::runtime_error{"the system gives no random numbers"};
  std::string hex;
  for (const unsigned char byte : random) {
    hex += digits[byte >> 4U];
    hex += digits[byte & 15U];
  }
  return hex;
}

std::string exchange_id(const ProcessPlace& place, const std::string& message, double patience_s) {
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>{patience_s});
  if (place.world == 1) return message;
  if (place.rank != 0) return ask(place, message.size(), deadline);
  Host{place, message}.serve(deadline);
  return message;
}

}  // namespace foretrain::harness
