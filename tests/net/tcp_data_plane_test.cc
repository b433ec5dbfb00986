#include "net/tcp_data_plane.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <set>
#include <string>
#include <thread>

#include "tests/net/loopback.h"

namespace weir {
namespace {

using testing::HasSubstr;

std::size_t entries_of(const char* folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}
std::size_t open_descriptors() {
  return entries_of("/proc/self/fd");
}
std::size_t threads() {
  return entries_of("/proc/self/task");
}

TEST(TcpDataPlane, elements_come_in_order_and_whole) {
  Host a(0);
  Host b(1);
  a.connect_to(b);
  std::vector<ElementFrame> sent;
  for (std::uint64_t i = 0; i < 500; ++i) {
    sent.push_back(numbered_batch(i, i % 7 == 0 ? 300'000 : i * 50));
    sent.push_back({.vertex = {1},
                    .channel = {3},
                    .kind = ElementKind::watermark,
                    .time_ms = static_cast<std::int64_t>(i)});
  }
  for (const ElementFrame& element : sent) {
    ASSERT_TRUE(a.plane->send_element({1}, element));
  }
  EXPECT_TRUE(b.received.elements({0}, sent.size()) == sent);
}

TEST(TcpDataPlane, credit_comes_back_on_the_connection_of_the_elements) {
  Host a(0);
  Host b(1);
  a.connect_to(b);
  ASSERT_TRUE(a.plane->send_element({1}, numbered_batch(7, 10)));
  EXPECT_EQ(b.received.elements({0}, 1).size(), 1U);
  const CreditFrame credit{.vertex = {1}, .subtask = {2}, .exchange = 3, .lane = 4, .bytes = 7};
  b.plane->send_credit({0}, credit);
  EXPECT_EQ(a.received.credits({1}, 1), std::vector<CreditFrame>{credit});
}

TEST(TcpDataPlane, both_directions_and_many_senders_keep_their_orders) {
  constexpr std::uint64_t per_thread = 300;
  Host a(0);
  Host b(1);
  a.connect_to(b);
  b.connect_to(a);
  const auto send = [](Host& from, const Host& to, std::uint32_t subtask) {
    for (std::uint64_t i = 0; i < per_thread; ++i) {
      ElementFrame element = numbered_batch(i, (i * 997) % 40'000);
      element.subtask = {subtask};
      ASSERT_TRUE(from.plane->send_element(to.index, std::move(element)));
    }
  };
  std::vector<std::thread> senders;
  for (std::uint32_t subtask = 0; subtask < 3; ++subtask) {
    senders.emplace_back([&, subtask] { send(a, b, subtask); });
    senders.emplace_back([&, subtask] { send(b, a, subtask); });
  }
  for (std::thread& sender : senders) sender.join();
  for (Host* host : {&a, &b}) {
    const HostIndex other{1 - host->index.value};
    std::map<SubtaskIndex, std::uint64_t> next;
    for (const ElementFrame& element : host->received.elements(other, 3 * per_thread)) {
      ASSERT_EQ(element.charged_bytes, next[element.subtask]++);
    }
  }
}

TEST(TcpDataPlane, a_receiver_that_takes_nothing_does_not_hold_up_the_others) {
  std::promise<void> go_on;
  auto slow_options = loopback_options(1);
  Host a(0);
  Recorder slow;
  slow.before_element = [wait = go_on.get_future().share()] { wait.wait(); };
  const auto slow_plane = TcpDataPlane::start(slow_options, slow).value();
  Host quick(2);
  a.plane->connect({{{1}, slow_plane->address()}, {{2}, quick.plane->address()}});
  for (std::uint64_t i = 0; i < 400; ++i) {
    ASSERT_TRUE(a.plane->send_element({1}, numbered_batch(i, 100'000)));
    ASSERT_TRUE(a.plane->send_element({2}, numbered_batch(i, 100'000)));
  }
  EXPECT_EQ(quick.received.elements({0}, 400).size(), 400U);
  for (const LinkCounters& link : a.plane->counters()) {
    EXPECT_EQ(link.queued_bytes > 0, link.host == HostIndex{1});
  }
  go_on.set_value();
  EXPECT_EQ(slow.elements({0}, 400).size(), 400U);
}

TEST(TcpDataPlane, close_sends_what_is_queued_and_nobody_is_lost) {
  Host a(0);
  Host b(1);
  a.connect_to(b);
  for (std::uint64_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(a.plane->send_element({1}, numbered_batch(i, 100'000)));
  }
  a.plane->close();
  EXPECT_EQ(b.received.elements({0}, 200).size(), 200U);
  EXPECT_TRUE(a.plane->send_element({1}, numbered_batch(0, 1)));  // dropped
  b.plane->send_credit({0}, {});                                  // dropped
  b.plane->close();
  a.plane->close();
  EXPECT_TRUE(a.received.lost(0).empty());
  EXPECT_TRUE(b.received.lost(0).empty());
}

TEST(TcpDataPlane, both_sides_may_close_at_once) {
  for (int round = 0; round < 20; ++round) {
    Host a(0);
    Host b(1);
    a.connect_to(b);
    b.connect_to(a);
    ASSERT_TRUE(a.plane->send_element({1}, numbered_batch(1, 100'000)));
    ASSERT_TRUE(b.plane->send_element({0}, numbered_batch(1, 100'000)));
    EXPECT_EQ(a.received.elements({1}, 1).size(), 1U);
    EXPECT_EQ(b.received.elements({0}, 1).size(), 1U);
    std::thread other([&] { b.plane->close(); });
    a.plane->close();
    other.join();
    EXPECT_TRUE(a.received.lost(0).empty());
    EXPECT_TRUE(b.received.lost(0).empty());
  }
}

TEST(TcpDataPlane, close_gives_up_on_a_peer_that_takes_nothing) {
  std::promise<void> go_on;
  Recorder stuck;
  stuck.before_element = [wait = go_on.get_future().share()] { wait.wait(); };
  const auto stuck_plane = TcpDataPlane::start(loopback_options(1), stuck).value();
  auto options = loopback_options(0);
  options.close_timeout = std::chrono::milliseconds(300);
  Host a(options);
  a.plane->connect({{{1}, stuck_plane->address()}});
  for (std::uint64_t i = 0; i < 400; ++i) {
    ASSERT_TRUE(a.plane->send_element({1}, numbered_batch(i, 100'000)));
  }
  a.plane->close();
  const auto lost = a.received.lost(1);
  EXPECT_EQ(lost.at(0).second.code, Errc::timeout);
  EXPECT_THAT(lost.at(0).second.message, HasSubstr("host 1"));
  go_on.set_value();
}

TEST(TcpDataPlane, a_peer_that_dies_is_lost_once_in_each_direction) {
  Host a(0);
  {
    Host b(1);
    a.connect_to(b);
    b.connect_to(a);
    ASSERT_TRUE(a.plane->send_element({1}, numbered_batch(1, 10)));
    ASSERT_TRUE(b.plane->send_element({0}, numbered_batch(1, 10)));
    EXPECT_EQ(a.received.elements({1}, 1).size(), 1U);
    EXPECT_EQ(b.received.elements({0}, 1).size(), 1U);
  }
  const auto lost = a.received.lost(2);
  a.plane->close();
  ASSERT_EQ(a.received.lost(2).size(), 2U);
  for (const auto& [host, error] : lost) {
    EXPECT_EQ(host, HostIndex{1});
    EXPECT_EQ(error.code, Errc::connection_lost);
    EXPECT_THAT(error.message, HasSubstr("host 1 at 127.0.0.1:"));
  }
}

TEST(TcpDataPlane, a_dropped_connection_is_lost_on_both_sides) {
  Host a(0);
  Host b(1);
  a.connect_to(b);
  ASSERT_TRUE(a.plane->send_element({1}, numbered_batch(1, 10)));
  EXPECT_EQ(b.received.elements({0}, 1).size(), 1U);
  b.plane->drop({0});
  EXPECT_EQ(a.received.lost(1).at(0).second.code, Errc::connection_lost);
  EXPECT_THAT(b.received.lost(1).at(0).second.message, HasSubstr("dropped on request"));
  EXPECT_TRUE(a.plane->send_element({1}, numbered_batch(2, 10)));  // to nobody
  for (const LinkCounters& link : a.plane->counters()) EXPECT_FALSE(link.connected);
}

TEST(TcpDataPlane, a_host_that_was_lost_is_not_let_in_again) {
  Host b(1);
  {
    Host a(0);
    a.connect_to(b);
    ASSERT_TRUE(a.plane->send_element({1}, numbered_batch(1, 10)));
    EXPECT_EQ(b.received.elements({0}, 1).size(), 1U);
  }
  EXPECT_EQ(b.received.lost(1).size(), 1U);
  Host again(0);
  again.connect_to(b);
  EXPECT_THAT(again.received.lost(1).at(0).second.message, HasSubstr("has been connected already"));
}

TEST(TcpDataPlane, peers_of_another_job_attempt_or_host_are_refused_with_the_reason) {
  Host b(1);
  auto options = loopback_options(0);
  options.job = {43};
  Host other_job(options);
  other_job.connect_to(b);
  options = loopback_options(0);
  options.attempt = {2};
  Host other_attempt(options);
  other_attempt.connect_to(b);
  Host wrong_host(0);
  wrong_host.plane->connect({{{5}, b.plane->address()}});

  const auto reason = [](Host& host) {
    const Error error = host.received.lost(1).at(0).second;
    EXPECT_EQ(error.code, Errc::connection_lost);
    return error.message;
  };
  EXPECT_THAT(reason(other_job), HasSubstr("it belongs to another job"));
  EXPECT_THAT(reason(other_attempt),
              HasSubstr("it belongs to attempt 2 of the job, this is attempt 1"));
  EXPECT_THAT(reason(wrong_host), HasSubstr("it is for host 5, this is host 1"));
  EXPECT_TRUE(b.received.lost(0).empty());
}

TEST(TcpDataPlane, whoever_cannot_be_reached_is_lost_when_the_time_is_over) {
  Endpoint gone;
  {
    Host b(1);
    gone = b.plane->address();
  }
  auto options = loopback_options(0);
  options.connect_timeout = std::chrono::milliseconds(300);
  Host a(options);
  a.plane->connect({{{1}, gone}, {{2}, {"no-such-host.invalid", 80}}});
  ASSERT_TRUE(a.plane->send_element({1}, numbered_batch(1, 10)));
  for (const auto& [host, error] : a.received.lost(2)) {
    EXPECT_EQ(error.code, Errc::timeout);
    EXPECT_THAT(error.message, HasSubstr("could not be reached within 300 ms"));
    EXPECT_THAT(error.message,
                HasSubstr(host == HostIndex{1} ? "refused" : "its name is not known"));
  }
}

TEST(TcpDataPlane, a_peer_may_begin_to_listen_after_it_is_dialed) {
  Endpoint later;
  {
    Host b(1);
    later = b.plane->address();
  }
  Host a(0);
  a.plane->connect({{{1}, later}});
  ASSERT_TRUE(a.plane->send_element({1}, numbered_batch(1, 10)));
  auto options = loopback_options(1);
  options.ports = {later.port, later.port};
  Host b(options);
  EXPECT_EQ(b.received.elements({0}, 1).size(), 1U);
}

TEST(TcpDataPlane, close_does_not_wait_for_a_peer_to_which_nothing_was_sent) {
  auto options = loopback_options(0);
  options.connect_timeout = options.close_timeout = std::chrono::hours(1);
  Host a(options);
  Endpoint gone;
  {
    Host b(1);
    gone = b.plane->address();
  }
  a.plane->connect({{{1}, gone}});
  a.plane->close();
  EXPECT_TRUE(a.received.lost(0).empty());
}

TEST(TcpDataPlane, a_range_without_a_free_port_is_named) {
  Host taken(0);
  auto options = loopback_options(1);
  options.ports = {taken.plane->address().port, taken.plane->address().port};
  Recorder recorder;
  const auto refused = TcpDataPlane::start(options, recorder);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::system);
  EXPECT_THAT(refused.error().message, HasSubstr(to_string(options.ports)));
  EXPECT_THAT(refused.error().message, HasSubstr("Address already in use"));
}

TEST(TcpDataPlane, the_first_free_port_of_a_range_is_taken) {
  // Ports below those that the system gives out by itself, so that no other test has them.
  Host any(9);
  for (std::uint16_t first = 21'000; first < 29'000;
       first = static_cast<std::uint16_t>(first + 10)) {
    auto options = loopback_options(0);
    options.ports = {first, static_cast<std::uint16_t>(first + 9)};
    Recorder one;
    Recorder other;
    const auto a = TcpDataPlane::start(options, one);
    const auto b = TcpDataPlane::start(options, other);
    if (!a || !b) continue;  // somebody else is there
    EXPECT_GE((*a)->address().port, first);
    EXPECT_GT((*b)->address().port, (*a)->address().port);
    EXPECT_LE((*b)->address().port, options.ports.last);
    return;
  }
  FAIL() << "no free ports";
}

TEST(TcpDataPlane, a_host_to_listen_at_that_is_none_is_named) {
  auto options = loopback_options(0);
  options.listen_host = "no-such-host.invalid";
  Recorder recorder;
  const auto refused = TcpDataPlane::start(options, recorder);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::bad_option);
  EXPECT_THAT(refused.error().message, HasSubstr("no-such-host.invalid"));
}

TEST(TcpDataPlane, the_advertised_host_is_what_others_dial) {
  auto options = loopback_options(1);
  options.listen_host = "0.0.0.0";
  options.advertise_host = "localhost";
  Host b(options);
  EXPECT_EQ(b.plane->address().host, "localhost");
  Host a(0);
  a.connect_to(b);
  ASSERT_TRUE(a.plane->send_element({1}, numbered_batch(1, 10)));
  EXPECT_EQ(b.received.elements({0}, 1).size(), 1U);
}

TEST(TcpDataPlane, counters_agree_at_both_ends) {
  Host a(0);
  Host b(1);
  a.connect_to(b);
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(a.plane->send_element({1}, numbered_batch(i, 100'000)));
  }
  EXPECT_EQ(b.received.elements({0}, 10).size(), 10U);
  const LinkCounters out = a.plane->counters().at(0);
  const LinkCounters in = b.plane->counters().at(0);
  EXPECT_TRUE(out.outbound && out.connected && out.host == b.index);
  EXPECT_TRUE(!in.outbound && in.connected && in.host == a.index);
  EXPECT_EQ(out.frames_out, 10U);
  EXPECT_EQ(in.frames_in, 10U);
  const std::size_t prefix_and_header = encode_frame(numbered_batch(0, 0))->head.size();
  EXPECT_EQ(in.bytes_in, 10U * (100'000 + prefix_and_header));
}

TEST(TcpDataPlane, a_batch_larger_than_a_frame_is_refused_and_nothing_is_lost) {
  Host a(0);
  Host b(1);
  a.connect_to(b);
  const auto refused = a.plane->send_element({1}, numbered_batch(1, frame_payload_bytes_max + 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::too_large);
  ASSERT_TRUE(a.plane->send_element({1}, numbered_batch(2, 5'000'000)));
  EXPECT_EQ(b.received.elements({0}, 1).at(0).payload.size(), 5'000'000U);
}

TEST(TcpDataPlane, child_processes_inherit_nothing_of_it) {
  const auto inherited = [] {
    std::set<int> descriptors;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      const int descriptor = std::stoi(entry.path().filename());
      const int flags = ::fcntl(descriptor, F_GETFD);
      if (flags >= 0 && (flags & FD_CLOEXEC) == 0) descriptors.insert(descriptor);
    }
    return descriptors;
  };
  const std::set<int> before = inherited();
  Host a(0);
  Host b(1);
  a.connect_to(b);
  ASSERT_TRUE(a.plane->send_element({1}, numbered_batch(1, 10)));
  EXPECT_EQ(b.received.elements({0}, 1).size(), 1U);
  EXPECT_EQ(inherited(), before);
}

TEST(TcpDataPlane, a_thousand_connections_leave_neither_descriptor_nor_thread) {
  Host keeps_lists_warm(9);
  const std::size_t descriptors = open_descriptors();
  const std::size_t running = threads();
  for (int round = 0; round < 1000; ++round) {
    Host a(0);
    Host b(1);
    a.connect_to(b);
    ASSERT_TRUE(a.plane->send_element({1}, numbered_batch(1, 10)));
    EXPECT_EQ(b.received.elements({0}, 1).size(), 1U);
    if (round % 2 == 0) a.plane->close();
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(threads(), running);
}

}  // namespace
}  // namespace weir
