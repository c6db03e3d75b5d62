// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/id_exchange.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace foretrain::harness {
namespace {

ProcessPlace local_place(int rank, int world, int port) {
  ProcessPlace place;
  place.rank = rank;
  place.world = world;
  place.address = "127.0.0.1";
  place.port = port;
  place.secret = "known to all of our ranks";
  return place;
}

/// A connection to a port of this host that somebody else opened.
class Stranger {
 public:
  Stranger(const char* address, int port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, address, &to.sin_addr);
    for (int i = 0; i < 200 && !connected_; ++i) {
      if (handle_ >= 0) close(handle_);
      handle_ = socket(AF_INET, SOCK_STREAM, 0);
      connected_ = connect(handle_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
      if (!connected_) std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
  }
  ~Stranger() { close(handle_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  void say(const std::string& text) const {
    static_cast<void>(!send(handle_, text.data(), text.size(), MSG_NOSIGNAL));
  }
  /// All that comes until the other side closes.
  [[nodiscard]] std::string hear() const {
    std::string text;
    std::array<char, 256> bytes{};
    for (ssize_t got = 0; (got = recv(handle_, bytes.data(), bytes.size(), 0)) > 0;)
      text.append(bytes.data(), static_cast<std::size_t>(got));
    return text;
  }

 private:
  int handle_ = -1;
  bool connected_ = false;
};

}  // namespace

TEST_CASE("rank 0's message reaches every rank, whoever starts first", "[harness]") {
  std::string id(128, 'x');
  id.back() = '\0';
  constexpr int world = 5;
  constexpr int port = 29611;
  std::vector<std::string> got(world);
  std::vector<std::thread> ranks;
  for (int rank = world - 1; rank >= 0; --rank)
    ranks.emplace_back([&, rank] {
      const std::string mine = rank == 0 ? id : std::string(id.size(), '\0');
      got[static_cast<std::size_t>(rank)] = exchange_id(local_place(rank, world, port), mine, 30);
    });
  for (std::thread& rank : ranks) rank.join();
  for (const std::string& each : got) CHECK(each == id);
}

TEST_CASE("one process has nobody to ask", "[harness]") {
  CHECK(exchange_id(local_place(0, 1, 0), "id") == "id");
}

TEST_CASE("a rank that finds nobody gives up and says so", "[harness]") {
  CHECK_THROWS_WITH(exchange_id(local_place(1, 2, 29612), "id", 0.2),
                    Catch::Contains("rank 0 did not answer at 127.0.0.1:29612"));
  CHECK_THROWS_WITH(exchange_id(local_place(0, 3, 29613), "id", 0.2),
                    Catch::Contains("only 1 of 3 ranks came"));
}

TEST_CASE("a silent connection keeps no rank from its message", "[harness]") {
  constexpr int port = 29614;
  std::string got;
  std::thread host([&] { (void)exchange_id(local_place(0, 2, port), "the id", 30); });
  {
    const Stranger silent{"127.0.0.1", port};
    REQUIRE(silent.connected());
    got = exchange_id(local_place(1, 2, port), "      ", 4);  // less than a silent one may stay
    host.join();
  }
  CHECK(got == "the id");
}

TEST_CASE("only who knows the secret gets the message", "[harness]") {
  constexpr int port = 29615;
  const std::string id = "the id of the ranks";
  std::thread host([&] { (void)exchange_id(local_place(0, 2, port), id, 30); });
  const Stranger stranger{"127.0.0.1", port};
  REQUIRE(stranger.connected());
  stranger.say("FTID" + std::string(100, '0'));
  CHECK(stranger.hear().find(id) == std::string::npos);
  ProcessPlace other = local_place(1, 2, port);
  other.secret = "of another job's ranks";
  CHECK_THROWS_WITH(exchange_id(other, id, 0.3), Catch::Contains("another FORETRAIN_SECRET"));
  CHECK(exchange_id(local_place(1, 2, port), std::string(id.size(), ' '), 30) == id);
  host.join();
}

TEST_CASE("an answer without the secret is not believed", "[harness]") {
  constexpr int port = 29616;
  ProcessPlace impostor = local_place(0, 2, port);
  impostor.secret = "something else entirely";
  std::thread host([&] {
    CHECK_THROWS_WITH(exchange_id(impostor, "an id", 1.0), Catch::Contains("only 1 of 2"));
  });
  CHECK_THROWS_WITH(exchange_id(local_place(1, 2, port), "     ", 0.8),
                    Catch::Contains("did not answer"));
  host.join();
}

TEST_CASE("rank 0 listens on the interface that it is told, and on no other", "[harness]") {
  constexpr int port = 29617;
  ProcessPlace first = local_place(0, 2, port);
  first.listen = "127.0.0.2";
  std::thread host([&] { (void)exchange_id(first, "id", 30); });
  ProcessPlace second = local_place(1, 2, port);
  CHECK_THROWS_WITH(exchange_id(second, "  ", 0.3), Catch::Contains("did not answer at 127.0.0.1"));
  second.address = "127.0.0.2";
  CHECK(exchange_id(second, "  ", 30) == "id");
  host.join();
}

TEST_CASE("HMAC: test cases 1, 2 and 6 of RFC 4231", "[harness]") {
  CHECK(hmac_hex(std::string(20, '\x0b'), "Hi There") ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hmac_hex("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hmac_hex(std::string(131, '\xaa'),
                 "Test Using Larger Than Block-Size Key - Hash Key First") ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  CHECK(same_secret("abc", "abc"));
  CHECK_FALSE(same_secret("abc", "abd"));
  CHECK_FALSE(same_secret("abc", "ab"));
  CHECK(nonce_hex() != nonce_hex());
}

}  // namespace foretrain::harness
