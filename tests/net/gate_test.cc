#include "net/gate.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "net/actor_system_settings.h"
#include "net/control_socket.h"
#include "tests/support/files.h"
#include "tests/support/sanitizers.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using namespace std::string_literals;

const std::string localhost = "127.0.0.1";

ClusterToken token_of(std::string_view secret) {
  return token_of_secret(secret).value();
}

const ClusterToken our_token = token_of("the secret of this cluster");

template <class Condition>
bool soon(Condition condition, milliseconds within = seconds(20)) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

// In KB.
long peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

struct Config : caf::actor_system_config {
  Config() { configure(*this, {.threads = 2}); }
};

// With an argument, because CAF dereferences a null pointer to the arguments of a function that has
// none, which the library's assertions do not let pass.
caf::behavior length_server(std::size_t added) {
  return {[added](const std::string& text) { return text.size() + added; }};
}

caf::actor spawn_server(caf::actor_system& system) {
  return system.spawn(length_server, std::size_t{0});
}

// A process's worth of actors.
struct Node {
  explicit Node(ClusterToken token = our_token, Logger logger = {},
                milliseconds handshake_timeout = preamble_timeout)
      : gate(system, token, std::move(logger), handshake_timeout) {}

  ~Node() {
    if (server != nullptr) caf::anon_send_exit(server, caf::exit_reason::user_shutdown);
  }

  std::uint16_t publish() {
    server = spawn_server(system);
    return gate.publish(caf::actor_cast<caf::strong_actor_ptr>(server), localhost, 0).value();
  }

  // The server's answer; -1 if there is none.
  long ask(const caf::strong_actor_ptr& remote, std::string text) {
    long answer = -1;
    caf::scoped_actor self{system};
    self->request(caf::actor_cast<caf::actor>(remote), seconds(20), std::move(text))
        .receive([&](std::size_t length) { answer = static_cast<long>(length); },
                 [](const caf::error&) {});
    return answer;
  }

  Config config;
  caf::actor_system system{config};
  Gate gate;
  caf::actor server;
};

// A caller without manners.
class Stranger {
 public:
  explicit Stranger(std::uint16_t port)
      : socket_(connect_to(localhost, port, system_clock().now() + seconds(5)).value()) {}

  void say(std::string_view bytes) {
    // The other end may have hung up before it has heard all.
    [[maybe_unused]] const auto sent =
        ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // All it is answered until the other end hangs up; "(open)" if it does not.
  std::string hears() {
    std::string heard;
    while (wait_readable(socket_.get(), system_clock().now() + seconds(10))) {
      char bytes[256];
      const auto got = ::recv(socket_.get(), bytes, sizeof(bytes), 0);
      if (got <= 0) return heard;
      heard.append(bytes, static_cast<std::size_t>(got));
    }
    return "(open)";
  }
  void hang_up() { socket_.close(); }

 private:
  FileDescriptor socket_;
};

std::string text_of(const Preamble& preamble) {
  return {reinterpret_cast<const char*>(preamble.data()), preamble.size()};
}

std::string preamble_text(const ClusterToken& token) {
  return text_of(make_preamble(ConnectionPurpose::control, token));
}

std::string of_version(std::string preamble, char version) {
  preamble[4] = version;
  return preamble;
}

// Accepts one connection and says something to it.
class OtherServer {
 public:
  explicit OtherServer(std::string answer)
      : socket_(listen_on(localhost, 0).value()), thread_([this, answer] {
          if (!wait_readable(socket_.get(), system_clock().now() + seconds(10))) return;
          const FileDescriptor caller(::accept(socket_.get(), nullptr, nullptr));
          char bytes[preamble_bytes];
          (void)::recv(caller.get(), bytes, sizeof(bytes), MSG_WAITALL);
          if (answer == "silence") {
            while (!done_) std::this_thread::sleep_for(milliseconds(5));
          } else {
            (void)::send(caller.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
          }
        }) {}
  ~OtherServer() {
    done_ = true;
    thread_.join();
  }
  std::uint16_t port() const { return local_port(socket_.get()); }

 private:
  FileDescriptor socket_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

std::string cannot_connect(std::uint16_t port) {
  return "cannot connect to " + localhost + ':' + std::to_string(port) + ": ";
}

std::string nobody_listens(std::uint16_t port) {
  return cannot_connect(port) +
         "Connection refused: is a master running there? Start one with node --role master "
         "--listen 127.0.0.1:" +
         std::to_string(port);
}

TEST(Gate, requests_pass_between_members) {
  Node server;
  Node client;
  const auto remote = client.gate.connect(localhost, server.publish());
  ASSERT_TRUE(remote) << remote.error().message;
  EXPECT_EQ(client.ask(*remote, "hello"), 5);
}

TEST(Gate, a_large_message_passes) {
  Node server;
  Node client;
  const auto remote = client.gate.connect(localhost, server.publish()).value();
  EXPECT_EQ(client.ask(remote, std::string(3 << 20, 'x')), 3 << 20);
}

TEST(Gate, a_cluster_without_secret_works) {
  Node server{ClusterToken{}};
  Node client{ClusterToken{}};
  EXPECT_EQ(client.ask(client.gate.connect(localhost, server.publish()).value(), "hi"), 2);
}

TEST(Gate, many_members_come_at_once) {
  Node server;
  const auto port = server.publish();
  std::atomic<int> answers = 0;
  std::vector<std::thread> members;
  for (int i = 0; i < 8; ++i) {
    members.emplace_back([&] {
      Node client;
      const auto remote = client.gate.connect(localhost, port);
      if (remote && client.ask(*remote, "four") == 4) ++answers;
    });
  }
  for (auto& member : members) member.join();
  EXPECT_EQ(answers, 8);
}

TEST(Gate, a_second_connection_to_a_node_gives_the_same_actor) {
  Node server;
  Node client;
  const auto port = server.publish();
  const auto first = client.gate.connect(localhost, port).value();
  const auto second = client.gate.connect(localhost, port).value();
  EXPECT_EQ(first, second);
  EXPECT_EQ(client.ask(second, "hello"), 5);
}

TEST(Gate, a_gate_leads_back_to_its_own_node) {
  Node node;
  const auto remote = node.gate.connect(localhost, node.publish());
  ASSERT_TRUE(remote) << remote.error().message;
  EXPECT_EQ(node.ask(*remote, "hello"), 5);
}

TEST(Gate, a_busy_port_is_named) {
  Node node;
  const auto port = node.publish();
  const auto again = node.gate.publish(
      caf::actor_cast<caf::strong_actor_ptr>(spawn_server(node.system)), localhost, port);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message,
            "cannot listen on 127.0.0.1:" + std::to_string(port) + ": Address already in use");
}

TEST(Gate, an_address_of_another_machine_is_named) {
  Node node;
  const auto server = caf::actor_cast<caf::strong_actor_ptr>(spawn_server(node.system));
  EXPECT_EQ(node.gate.publish(server, "192.0.2.1", 7000).error().message,
            "cannot listen on 192.0.2.1:7000: Cannot assign requested address");
}

TEST(Gate, a_destroyed_gate_does_not_listen) {
  Config config;
  caf::actor_system system{config};
  const auto server = spawn_server(system);
  std::uint16_t port = 0;
  {
    Gate gate(system, our_token, {});
    port = gate.publish(caf::actor_cast<caf::strong_actor_ptr>(server), localhost, 0).value();
  }
  caf::anon_send_exit(server, caf::exit_reason::user_shutdown);
  Node client;
  EXPECT_EQ(client.gate.connect(localhost, port).error().message, nobody_listens(port));
}

TEST(Gate, nobody_listening_is_said_plainly) {
  std::uint16_t port = 0;
  {
    const FileDescriptor socket = listen_on(localhost, 0).value();
    port = local_port(socket.get());
  }
  Node client;
  const auto remote = client.gate.connect(localhost, port);
  ASSERT_FALSE(remote);
  EXPECT_EQ(remote.error().message, nobody_listens(port));
  EXPECT_EQ(remote.error().code, Errc::cluster_unreachable);
}

TEST(Gate, a_host_that_does_not_exist_is_said_plainly) {
  Node client;
  const auto remote = client.gate.connect("no-such-host.invalid", 7000);
  ASSERT_FALSE(remote);
  EXPECT_THAT(remote.error().message, StartsWith("cannot connect to no-such-host.invalid:7000: "));
}

TEST(Gate, another_secret_is_told_to_both_sides) {
  const TemporaryDirectory files;
  Node server{our_token, Logger::to_file(files.file("log"), LogLevel::warning)};
  Node client{token_of("the secret of another cluster")};
  const auto port = server.publish();
  const auto remote = client.gate.connect(localhost, port);
  ASSERT_FALSE(remote);
  EXPECT_EQ(remote.error().message,
            cannot_connect(port) +
                "it closed the connection before its preamble was accepted: is "
                "the secret (--secret-file) the same?");
  const auto lines = lines_of(read_file(files.file("log")));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("refused a connection from 127.0.0.1:"),
                              EndsWith(": does not know the cluster's secret")));
}

TEST(Gate, another_version_is_told_to_both_sides) {
  const TemporaryDirectory files;
  Node server{our_token, Logger::to_file(files.file("log"), LogLevel::warning)};
  Stranger old(server.publish());
  old.say(of_version(preamble_text(our_token), 7));
  EXPECT_EQ(old.hears(), preamble_text(ClusterToken{}));
  EXPECT_THAT(read_file(files.file("log")), HasSubstr(": speaks wire version 7, this is 1\n"));

  OtherServer newer(of_version(preamble_text(ClusterToken{}), 7));
  Node client;
  const auto remote = client.gate.connect(localhost, newer.port());
  ASSERT_FALSE(remote);
  EXPECT_EQ(remote.error().message,
            cannot_connect(newer.port()) + "it speaks wire version 7, this is 1");
  EXPECT_EQ(remote.error().code, Errc::bad_option);
}

TEST(Gate, a_data_port_is_told_from_a_control_port) {
  auto socket = listen_on(localhost, 0).value();
  const auto port = local_port(socket.get());
  const auto data_port =
      PreambleListener::start(std::move(socket), {ConnectionPurpose::data, our_token},
                              [](FileDescriptor) {})
          .value();
  Node client;
  EXPECT_EQ(
      client.gate.connect(localhost, port).error().message,
      cannot_connect(port) + "it expects connections for another purpose: is the port right?");
}

TEST(Gate, a_server_that_knows_only_our_name_is_refused) {
  OtherServer impostor(preamble_text(token_of("the secret of another cluster")));
  Node client;
  EXPECT_EQ(client.gate.connect(localhost, impostor.port()).error().message,
            cannot_connect(impostor.port()) + "it does not know the cluster's secret");
}

TEST(Gate, a_web_server_is_no_weir_peer) {
  OtherServer web("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
  Node client;
  const auto remote = client.gate.connect(localhost, web.port());
  ASSERT_FALSE(remote);
  EXPECT_EQ(remote.error().message, cannot_connect(web.port()) + "it is no Weir peer");
  EXPECT_EQ(remote.error().code, Errc::bad_option);
}

TEST(Gate, a_silent_server_is_not_waited_for) {
  OtherServer silent("silence");
  Node client;
  const auto remote = client.gate.connect(localhost, silent.port(), milliseconds(200));
  ASSERT_FALSE(remote);
  EXPECT_EQ(remote.error().code, Errc::timeout);
  EXPECT_EQ(remote.error().message,
            cannot_connect(silent.port()) +
                "it said 0 of 32 bytes of a preamble within 200 ms: is it a Weir master? One that "
                "is stopped or overloaded says nothing either");
}

TEST(Gate, a_member_that_is_silent_after_its_preamble_is_not_waited_for) {
  auto socket = listen_on(localhost, 0).value();
  const auto port = local_port(socket.get());
  std::vector<FileDescriptor> kept;
  auto mute =
      PreambleListener::start(std::move(socket), {ConnectionPurpose::control, our_token},
                              [&](FileDescriptor accepted) { kept.push_back(std::move(accepted)); })
          .value();
  Node client;
  const auto descriptors = open_descriptors();
  const auto remote = client.gate.connect(localhost, port, milliseconds(200));
  ASSERT_FALSE(remote);
  EXPECT_EQ(remote.error().code, Errc::timeout);
  EXPECT_EQ(remote.error().message,
            cannot_connect(port) +
                "it said its preamble, and nothing after it in time: it may be "
                "stopped or overloaded");
  mute.reset();
  kept.clear();
  EXPECT_TRUE(soon([&] { return open_descriptors() < descriptors; }));
}

TEST(Gate, a_slow_member_is_accepted) {
  Node server;
  Stranger slow(server.publish());
  for (const char byte : preamble_text(our_token)) {
    slow.say({&byte, 1});
    std::this_thread::sleep_for(milliseconds(10));
  }
  slow.say(std::string(32, '\0'));  // is no BASP: now CAF hangs up
  EXPECT_THAT(slow.hears(), StartsWith(preamble_text(our_token)));
}

TEST(Gate, a_stranger_gets_one_line_in_the_log_and_nothing_else) {
  struct Case {
    std::string name;
    std::function<void(Stranger&)> act;
    std::string heard;
    std::string reason;
  };
  const auto saying = [](std::string bytes) {
    return [bytes = std::move(bytes)](Stranger& stranger) { stranger.say(bytes); };
  };
  std::string random(100'000, '\0');
  for (std::size_t i = 0; i < random.size(); ++i) random[i] = static_cast<char>(i * 167 + 13);
  // The header that makes BASP reserve a gigabyte.
  const std::string basp = "\x02\0\0\0\x7f\xff\xff\xff"s + std::string(23, '\0') + "\x01";
  std::string bad_zero = preamble_text(our_token);
  bad_zero[7] = 1;
  const std::vector<Case> cases{
      {"random bytes", saying(random), "", "is no Weir peer"},
      {"HTTP", saying("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "", "is no Weir peer"},
      {"TLS hello", saying("\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"s), "", "is no Weir peer"},
      {"BASP", saying(basp), "", "is no Weir peer"},
      {"a byte that must be zero", saying(bad_zero), "", "is no Weir peer"},
      {"another version", saying(of_version(preamble_text(our_token), 2)),
       preamble_text(ClusterToken{}), "speaks wire version 2, this is 1"},
      {"a data connection", saying(text_of(make_preamble(ConnectionPurpose::data, our_token))),
       preamble_text(ClusterToken{}), "came for data, which is not spoken here"},
      {"another secret", saying(preamble_text(token_of("not the secret of this"))), "",
       "does not know the cluster's secret"},
      {"no secret", saying(preamble_text(ClusterToken{})), "",
       "does not know the cluster's secret"},
      {"half a preamble and silence", saying(preamble_text(our_token).substr(0, 16)), "",
       "said only 16 of 32 bytes of a preamble within 300 ms"},
      {"silence", saying(""), "", "said only 0 of 32 bytes of a preamble within 300 ms"},
      {"half a preamble and goodbye",
       [](Stranger& stranger) {
         stranger.say(preamble_text(our_token).substr(0, 16));
         stranger.hang_up();
       },
       "", "closed the connection after 16 of 32 bytes"},
  };

  const TemporaryDirectory files;
  Node server{our_token, Logger::to_file(files.file("log"), LogLevel::debug), milliseconds(300)};
  Node client;
  const auto port = server.publish();
  const auto remote = client.gate.connect(localhost, port).value();
  const auto lines = [&] { return lines_of(read_file(files.file("log"))); };
  const auto descriptors = open_descriptors();
  const long memory = peak_memory();
  std::size_t told = 0;
  for (const auto& [name, act, heard, reason] : cases) {
    SCOPED_TRACE(name);
    Stranger stranger(port);
    act(stranger);
    if (name.find("goodbye") == std::string::npos) {
      EXPECT_EQ(stranger.hears(), heard);
    }
    ASSERT_TRUE(soon([&] { return lines().size() > told; }));
    EXPECT_EQ(lines().size(), ++told);
    EXPECT_THAT(lines().back(), AllOf(HasSubstr(" W refused a connection from 127.0.0.1:"),
                                      EndsWith(": " + reason)));
    EXPECT_EQ(client.ask(remote, "still there?"), 12);
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_LT(peak_memory() - memory, 20 * 1024);
}

TEST(Gate, many_silent_strangers_do_not_keep_members_out) {
  const TemporaryDirectory files;
  Node server{our_token, Logger::to_file(files.file("log"), LogLevel::warning)};
  const auto port = server.publish();
  std::vector<Stranger> strangers;
  for (int i = 0; i < 300; ++i) strangers.emplace_back(port);
  Node client;
  EXPECT_EQ(client.ask(client.gate.connect(localhost, port).value(), "hello"), 5);
  EXPECT_THAT(read_file(files.file("log")), HasSubstr("too many others waited"));
}

TEST(Gate, callers_wait_while_the_process_has_no_descriptor_left) {
  if (has_address_sanitizer) GTEST_SKIP() << needs_descriptors;
  const TemporaryDirectory files;
  Node server{our_token, Logger::to_file(files.file("log"), LogLevel::warning)};
  const auto port = server.publish();
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const int next = ::dup(STDIN_FILENO);
  ::close(next);
  const rlimit one_more{static_cast<rlim_t>(next) + 1, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &one_more);
  std::optional<Stranger> caller(port);  // takes the last one
  caller->say(preamble_text(our_token));
  std::this_thread::sleep_for(milliseconds(500));
  ::setrlimit(RLIMIT_NOFILE, &before);

  const auto lines = lines_of(read_file(files.file("log")));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], EndsWith("connections have to wait: Too many open files"));
  caller->say(std::string(32, '\0'));
  EXPECT_THAT(caller->hears(), StartsWith(preamble_text(our_token)));
}

TEST(Gate, a_node_that_starts_again_at_its_port_is_another_one) {
  auto server = std::make_unique<Node>();
  Node client;
  const auto port = server->publish();
  const auto before = client.gate.connect(localhost, port).value();
  server.reset();
  server = std::make_unique<Node>();
  server->server = spawn_server(server->system);
  ASSERT_TRUE(server->gate.publish(caf::actor_cast<caf::strong_actor_ptr>(server->server),
                                   localhost, port));
  const auto after = client.gate.connect(localhost, port);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_NE(*after, before);
  EXPECT_EQ(client.ask(*after, "hello"), 5);
}

TEST(Gate, two_hundred_visits_leave_no_descriptor) {
  Node server;
  const auto port = server.publish();
  const auto visit = [&] {
    Node client;
    EXPECT_EQ(client.ask(client.gate.connect(localhost, port).value(), "hello"), 5);
  };
  visit();
  const auto settled = [] {
    std::size_t least = open_descriptors();
    (void)soon([&] { return (least = std::min(least, open_descriptors())) == 0; },
               milliseconds(200));
    return least;
  };
  const auto descriptors = settled();
  for (int i = 0; i < 200; ++i) visit();
  EXPECT_EQ(settled(), descriptors);
}

// The other process is made before this one has threads.
TEST(Gate, a_killed_process_is_noticed_by_its_monitor) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t process = ::fork();
  if (process == 0) {
    Node server;
    const std::uint16_t port = server.publish();
    (void)!::write(ends[1], &port, sizeof(port));
    ::pause();
  }
  std::uint16_t port = 0;
  ASSERT_EQ(::read(ends[0], &port, sizeof(port)), static_cast<ssize_t>(sizeof(port)));
  Node client;
  const auto remote = client.gate.connect(localhost, port).value();
  EXPECT_EQ(client.ask(remote, "hello"), 5);

  caf::scoped_actor self{client.system};
  self->monitor(caf::actor_cast<caf::actor>(remote));
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  bool noticed = false;
  self->receive([&](const caf::down_msg&) { noticed = true; }, caf::after(seconds(10)) >> [] {});
  EXPECT_TRUE(noticed);
}

TEST(Gate, a_frozen_process_is_noticed_after_the_connection_timeout) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t process = ::fork();
  if (process == 0) {
    Node server;
    const std::uint16_t port = server.publish();
    (void)!::write(ends[1], &port, sizeof(port));
    ::pause();
  }
  std::uint16_t port = 0;
  ASSERT_EQ(::read(ends[0], &port, sizeof(port)), static_cast<ssize_t>(sizeof(port)));
  caf::actor_system_config config;
  configure(config, {.threads = 2, .connection_timeout = seconds(2)});
  caf::actor_system system{config};
  Gate gate(system, our_token, {});
  const auto remote = gate.connect(localhost, port).value();
  caf::scoped_actor self{system};
  self->monitor(caf::actor_cast<caf::actor>(remote));
  ::kill(process, SIGSTOP);
  bool noticed = false;
  self->receive([&](const caf::down_msg&) { noticed = true; }, caf::after(seconds(10)) >> [] {});
  EXPECT_TRUE(noticed);
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
}

}  // namespace
}  // namespace weir
