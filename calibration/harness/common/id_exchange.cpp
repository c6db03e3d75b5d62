// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/id_exchange.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

namespace foretrain::harness {
namespace {

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

Socket listen_on(int port) {
  const Addresses all = look_up(nullptr, port, AI_PASSIVE);
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    Socket socket_{socket(one->ai_family, one->ai_socktype, one->ai_protocol)};
    const int yes = 1;
    if (!socket_.open()) continue;
    setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(socket_.get(), one->ai_addr, one->ai_addrlen) == 0 &&
        listen(socket_.get(), SOMAXCONN) == 0)
      return socket_;
  }
  fail("cannot listen on port " + std::to_string(port));
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

/// A rank asks with four bytes, so that a stray connection to the port is not taken for one.
const std::string request = "FTID";

void serve(const ProcessPlace& place, const std::string& message, Clock::time_point deadline) {
  const Socket listener = listen_on(place.port);
  for (int served = 1; served < place.world;) {
    if (!ready(listener.get(), POLLIN, deadline))
      throw std::runtime_error{"only " + std::to_string(served) + " of " +
                               std::to_string(place.world) + " ranks came to port " +
                               std::to_string(place.port) + " in time"};
    const Socket peer{accept(listener.get(), nullptr, nullptr)};
    std::string asked(request.size(), '\0');
    if (!peer.open() || !receive_all(peer.get(), asked, deadline) || asked != request) continue;
    send_all(peer.get(), message);
    ++served;
  }
}

std::string ask(const ProcessPlace& place, std::size_t bytes, Clock::time_point deadline) {
  std::string message(bytes, '\0');
  while (Clock::now() < deadline) {
    const Addresses all = look_up(place.address.c_str(), place.port, 0);
    for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
      const Socket peer{socket(one->ai_family, one->ai_socktype, one->ai_protocol)};
      if (!peer.open() || connect(peer.get(), one->ai_addr, one->ai_addrlen) != 0) continue;
      send_all(peer.get(), request);
      if (receive_all(peer.get(), message, deadline)) return message;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
  throw std::runtime_error{"rank 0 did not answer at " + place.address + ":" +
                           std::to_string(place.port)};
}

}  // namespace

std::string exchange_id(const ProcessPlace& place, const std::string& message, double patience_s) {
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>{patience_s});
  if (place.world == 1) return message;
  if (place.rank != 0) return ask(place, message.size(), deadline);
  serve(place, message, deadline);
  return message;
}

}  // namespace foretrain::harness
