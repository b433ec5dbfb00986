// Whoever connects to a data port and is no peer: closed with one line in the log, and nobody else notices.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/net/loopback.h"
#include "tests/support/sanitizers.h"

namespace weir {
namespace {

using testing::HasSubstr;

Bytes bytes_of(std::string_view text) {
  const auto raw = std::as_bytes(std::span(text));
  return Bytes(raw.begin(), raw.end());
}

Bytes joined(std::span<const std::byte> first, std::span<const std::byte> second) {
  Bytes bytes(first.begin(), first.end());
  bytes.insert(bytes.end(), second.begin(), second.end());
  return bytes;
}

// A connection that says what it is told to.
class Stranger {
 public:
  explicit Stranger(
      const Endpoint& endpoint, const std::function<void()>& before_connecting = [] {})
      : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    before_connecting();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint.port);
    inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    name = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~Stranger() { ::close(socket_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  void say(std::span<const std::byte> bytes) {
    (void)::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void stop_talking() { ::shutdown(socket_, SHUT_WR); }
  // All that is said until the other side closes.
  Bytes listen() {
    Bytes heard;
    while (true) {
      pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
      EXPECT_EQ(::poll(&ready, 1, 30'000), 1) << "not closed";
      std::array<std::byte, 4096> buffer;
      const ssize_t size = ::recv(socket_, buffer.data(), buffer.size(), 0);
      if (size <= 0) return heard;  // a reset is a way of closing, too
      heard.insert(heard.end(), buffer.begin(), buffer.begin() + size);
    }
  }

  std::string name;

 private:
  int socket_;
};

class Strangers : public testing::Test {
 protected:
  static TcpDataPlaneOptions logged_options(const std::string& path) {
    auto options = loopback_options(1);
    options.log = Logger::to_file(path, LogLevel::debug);
    options.handshake_timeout = std::chrono::milliseconds(500);
    return options;
  }
  void SetUp() override { peer_.connect_to(host_); }
  void TearDown() override {
    // Whatever happened, the peer that was there all along is served.
    ASSERT_TRUE(peer_.plane->send_element({1}, numbered_batch(1, 50'000)));
    EXPECT_EQ(host_.received.elements({0}, 1).size(), 1U);
    EXPECT_EQ(host_.received.lost(0).size(), expected_lost_);
    std::remove(path_.c_str());
  }
  [[nodiscard]] std::vector<std::string> log() const {
    std::ifstream file(path_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  // The connection is closed without a word, with one line that names it and says why.
  void expect_closed(Stranger& stranger, const std::string& why) {
    EXPECT_TRUE(stranger.listen().empty());
    expect_line(stranger.name, why);
  }
  void expect_line(const std::string& name, const std::string& why) {
    std::size_t lines = 0;
    for (const std::string& line : log()) {
      if (line.find(name + ",") == std::string::npos) continue;
      ++lines;
      EXPECT_THAT(line, HasSubstr(" W "));
      EXPECT_THAT(line, HasSubstr(why));
    }
    EXPECT_EQ(lines, 1U) << name;
  }

  std::size_t expected_lost_ = 0;
  const std::string path_ = testing::TempDir() + "/weir_strangers_" + std::to_string(getpid());
  Host host_{logged_options(path_)};
  Host peer_{0};
  const ClusterToken token_ = loopback_options(0).token;
  const Preamble preamble_ = make_preamble(ConnectionPurpose::data, token_);
  const Hello hello_{.job = {42}, .attempt = {1}, .from_host = {7}, .to_host = {1}};
};

TEST_F(Strangers, that_speak_something_else_are_closed_at_once) {
  const std::string tls("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  for (const std::string& said :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), tls,
        std::string("SSH-2.0-OpenSSH_9.2\r\n"), std::string(100'000, '\0'), std::string("\x8f")}) {
    Stranger stranger(host_.plane->address());
    stranger.say(bytes_of(said));
    expect_closed(stranger, "is no Weir peer");
  }
}

TEST_F(Strangers, of_another_version_purpose_or_cluster_are_told_apart) {
  Preamble version = preamble_;
  version[4] = std::byte{9};
  const Preamble purpose = make_preamble(ConnectionPurpose::control, token_);
  const Preamble open = make_preamble(ConnectionPurpose::data, {});
  for (const auto& [said, why] : {std::pair{version, "speaks wire version 9, this is 1"},
                                  {purpose, "came for control, which is not spoken here"},
                                  {open, "does not know the cluster's secret"}}) {
    Stranger stranger(host_.plane->address());
    stranger.say(said);
    expect_closed(stranger, why);
  }
}

TEST_F(Strangers, that_fall_silent_are_closed_when_their_time_is_over) {
  Stranger silent(host_.plane->address());
  Stranger half(host_.plane->address());
  half.say(std::span(preamble_).first(10));
  Stranger no_hello(host_.plane->address());
  no_hello.say(preamble_);
  Stranger half_hello(host_.plane->address());
  half_hello.say(joined(preamble_, std::span(encode_frame(hello_)->head).first(20)));
  expect_closed(silent, "said only 0 of the 32 bytes that come first within 500 ms");
  expect_closed(half, "said only 10 of the 32 bytes that come first within 500 ms");
  expect_closed(no_hello, "did not say its hello within 500 ms");
  expect_closed(half_hello, "did not say its hello within 500 ms");
}

TEST_F(Strangers, that_leave_are_noted) {
  std::string name;
  {
    Stranger stranger(host_.plane->address());
    stranger.say(std::span(preamble_).first(5));
    stranger.stop_talking();
    EXPECT_TRUE(stranger.listen().empty());
    name = stranger.name;
  }
  expect_line(name, "said only 5 of the 32 bytes that come first and left");
}

TEST_F(Strangers, that_know_the_secret_and_not_the_protocol_are_closed) {
  Stranger garbage(host_.plane->address());
  garbage.say(joined(preamble_, Bytes(64, std::byte{0xff})));
  expect_closed(garbage, "broke the protocol: a frame claims a header of 4294967295 bytes");

  Stranger damaged(host_.plane->address());
  Bytes hello = encode_frame(hello_)->head;
  hello.back() ^= std::byte{1};
  damaged.say(joined(preamble_, hello));
  expect_closed(damaged, "broke the protocol: a frame's checksum does not match");

  Stranger large(host_.plane->address());
  const EncodedFrame batch = *encode_frame(numbered_batch(1, 1000));
  large.say(joined(preamble_, joined(batch.head, batch.payload)));
  expect_closed(large, "broke the protocol: a frame claims a payload of 1000 bytes");

  Stranger impolite(host_.plane->address());
  impolite.say(joined(preamble_, encode_frame(CreditFrame{})->head));
  expect_closed(impolite, "broke the protocol: sent credit where its hello belongs");
}

TEST_F(Strangers, that_say_it_all_in_single_bytes_are_welcome) {
  Stranger slow(host_.plane->address());
  for (const std::byte b : joined(preamble_, encode_frame(hello_)->head)) slow.say({{b}});
  slow.say(encode_frame(Goodbye{})->head);
  slow.stop_talking();
  const Bytes expected =
      joined(joined(preamble_, encode_frame(Welcome{})->head), encode_frame(Goodbye{})->head);
  EXPECT_TRUE(slow.listen() == expected);
  EXPECT_TRUE(log().empty());
}

TEST_F(Strangers, of_an_older_attempt_are_told_so) {
  Hello stale = hello_;
  stale.attempt = {0};
  Stranger stranger(host_.plane->address());
  stranger.say(joined(preamble_, encode_frame(stale)->head));
  const Refused refused{"it belongs to attempt 0 of the job, this is attempt 1"};
  EXPECT_TRUE(stranger.listen() == joined(preamble_, encode_frame(refused)->head));
  expect_line(stranger.name, refused.reason);
}

TEST_F(Strangers, who_became_peers_and_break_the_protocol_are_lost) {
  const auto lost_after = [&](std::uint32_t from, std::span<const std::byte> said) {
    Stranger stranger(host_.plane->address());
    Hello hello = hello_;
    hello.from_host = {from};
    stranger.say(joined(joined(preamble_, encode_frame(hello)->head), said));
    (void)stranger.listen();
  };
  Bytes damaged = encode_frame(Goodbye{})->head;
  damaged[8] ^= std::byte{1};
  lost_after(20, damaged);
  lost_after(21, encode_frame(CreditFrame{})->head);
  expected_lost_ = 2;
  const auto lost = host_.received.lost(2);
  EXPECT_EQ(lost[0].first, HostIndex{20});
  EXPECT_EQ(lost[0].second.code, Errc::corrupt_data);
  EXPECT_THAT(lost[0].second.message, HasSubstr("host 20 at 127.0.0.1:"));
  EXPECT_THAT(lost[0].second.message, HasSubstr("checksum"));
  EXPECT_EQ(lost[1].second.code, Errc::corrupt_data);
  EXPECT_THAT(lost[1].second.message, HasSubstr("sent credit, which does not flow this way"));
}

TEST_F(Strangers, are_served_again_when_there_are_descriptors_again) {
  if (has_address_sanitizer) GTEST_SKIP() << needs_descriptors;
  std::ifstream log_file(path_);  // opened while that can be done
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  Stranger stranger(host_.plane->address(), [&] {
    const int next = ::dup(0);
    ::close(next);
    const rlimit none_left{static_cast<rlim_t>(next), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
  });
  std::string line;
  for (int i = 0; i < 3000 && !std::getline(log_file, line); ++i) {
    log_file.clear();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(line, HasSubstr("cannot accept data connections, trying again: Too many open files"));
  stranger.say(bytes_of("GET /"));
  expect_closed(stranger, "is no Weir peer");
}

TEST_F(Strangers, in_great_number_give_way_to_peers) {
  std::vector<std::unique_ptr<Stranger>> silent;
  for (int i = 0; i < 200; ++i) {
    silent.push_back(std::make_unique<Stranger>(host_.plane->address()));
  }
  Host late(3);
  late.connect_to(host_);
  ASSERT_TRUE(late.plane->send_element({1}, numbered_batch(1, 10)));
  EXPECT_EQ(host_.received.elements({3}, 1).size(), 1U);
  late.plane->close();
  expect_closed(*silent.front(), "was still in its handshake when too many others came");
  expect_closed(*silent.back(), "said only 0 of the 32 bytes");
}

TEST(Dialing, a_listener_that_is_no_weir_peer_is_named) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  socklen_t size = sizeof address;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  Host a(0);
  a.plane->connect({{{1}, {"127.0.0.1", ntohs(address.sin_port)}}});
  const int accepted = ::accept(listener, nullptr, nullptr);
  constexpr std::string_view banner = "220 mail.example.org ESMTP\r\n";
  EXPECT_EQ(::send(accepted, banner.data(), banner.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(banner.size()));
  const Error error = a.received.lost(1).at(0).second;
  EXPECT_EQ(error.code, Errc::connection_lost);
  EXPECT_THAT(error.message, HasSubstr("host 1 at 127.0.0.1:"));
  EXPECT_THAT(error.message, HasSubstr("is no Weir peer"));
  ::close(accepted);
  ::close(listener);
}

TEST(Dialing, a_host_with_another_secret_closes_without_a_word) {
  Host b(1);
  auto options = loopback_options(0);
  options.token = *token_of_secret("another secret, long enough");
  options.connect_timeout = std::chrono::milliseconds(500);
  Host a(options);
  a.connect_to(b);
  const Error error = a.received.lost(1).at(0).second;
  EXPECT_EQ(error.code, Errc::timeout);
  EXPECT_THAT(error.message, HasSubstr("closes connections without a word"));
}

}  // namespace
}  // namespace weir
