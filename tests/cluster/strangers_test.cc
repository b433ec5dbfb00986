// Whoever connects to a port of the cluster and does not belong to it: closed with one line in the log, and a job that
// runs meanwhile does not notice.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/preamble.h"
#include "tests/support/cluster.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string secret = "what all nodes of this cluster know";

std::string text_of(const Preamble& preamble) {
  return {reinterpret_cast<const char*>(preamble.data()), preamble.size()};
}

// A connection that says something and then waits.
class Stranger {
 public:
  Stranger(const Endpoint& endpoint, std::string_view says)
      : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint.port);
    inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    name = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    (void)::send(socket_, says.data(), says.size(), MSG_NOSIGNAL);
  }
  ~Stranger() { ::close(socket_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  // Whether the other side closes within 20 s.
  [[nodiscard]] bool is_closed() const {
    while (true) {
      pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, 20'000) != 1) return false;
      std::array<char, 4096> ignored;
      if (::recv(socket_, ignored.data(), ignored.size(), 0) <= 0) return true;
    }
  }

  std::string name;

 private:
  int socket_;
};

// What strangers say, to a port with this purpose.
std::vector<std::string> sayings(ConnectionPurpose purpose) {
  const Preamble good = make_preamble(purpose, *token_of_secret(secret));
  Preamble version = good;
  version[4] = std::byte{9};
  std::string noise;
  for (unsigned i = 0; i < 100'000; ++i) noise += static_cast<char>(i * 2654435761U >> 13U);
  // BASP's header of a handshake, and one with a payload of 4 GB.
  const std::string basp("\0\0\0\0\0\0\0\x1c\0\0\0\0\0\0\0\x03", 16);
  const std::string large(32, '\xff');
  return {noise,
          "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
          std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
          basp + std::string(28, '\0'),
          large,
          text_of(make_preamble(purpose, {})),
          text_of(make_preamble(purpose, *token_of_secret("the secret of another cluster"))) + basp,
          text_of(version),
          text_of(good).substr(0, 16),
          ""};
}

std::size_t lines_with(const std::string& log, const std::string& name) {
  const auto lines = lines_of(log);
  return static_cast<std::size_t>(std::ranges::count_if(lines, [&](const std::string& line) {
    const std::size_t at = line.find(name);
    return at != std::string::npos &&
           !std::isdigit(static_cast<unsigned char>(line[at + name.size()]));
  }));
}

TEST(StrangersOfACluster, are_closed_with_a_line_each_and_a_job_does_not_notice) {
  TestCluster cluster({.slots = 1, .secret = secret});
  const JobId job = cluster.submit({test_job("misbehaving"), "--records", "8000", "--rate", "1000",
                                    "--output", cluster.file("out"), "--parallelism", "2"});
  ASSERT_TRUE(cluster.runs(job));
  const JobDetails details = cluster.details(job);
  struct Port {
    Endpoint endpoint;
    pid_t process;
    std::string node;
    std::vector<std::unique_ptr<Stranger>> strangers = {};
    ProcessFigures before = {};
  };
  std::vector<Port> ports;
  ports.push_back({*parse_endpoint(cluster.address()), cluster.master().process(), ""});
  for (const TaskHostInfo& host : details.hosts) {
    ASSERT_TRUE(parse_endpoint(host.data_address)) << host.data_address;
    ports.push_back(
        {*parse_endpoint(host.data_address), static_cast<pid_t>(host.process), host.node});
  }
  for (Port& port : ports) {
    port.before = figures_of(port.process);
    for (const std::string& said :
         sayings(port.node.empty() ? ConnectionPurpose::control : ConnectionPurpose::data))
      port.strangers.push_back(std::make_unique<Stranger>(port.endpoint, said));
  }
  for (Port& port : ports) {
    for (const auto& stranger : port.strangers) EXPECT_TRUE(stranger->is_closed());
    const ProcessFigures after = figures_of(port.process);
    EXPECT_LE(after.descriptors, port.before.descriptors + 2);
    EXPECT_LE(after.threads, port.before.threads + 1);
    EXPECT_LE(after.private_kb, port.before.private_kb + 8 * 1024);
  }
  EXPECT_EQ(cluster.outcome(job).state, JobState::finished);
  EXPECT_EQ(sorted_output(cluster.file("out")).size(), 8000U);
  EXPECT_THAT(cluster.details(job).exceptions, IsEmpty());
  for (Port& port : ports) {
    const std::string log =
        port.node.empty()
            ? cluster.master().err()
            : *cluster.connect()->log(port.node, job, {1},
                                      {static_cast<std::uint32_t>(&port - ports.data() - 1)});
    for (std::size_t i = 0; i < port.strangers.size(); ++i)
      EXPECT_EQ(lines_with(log, port.strangers[i]->name), 1U) << "stranger " << i << "\n" << log;
  }
}

TEST(StrangersOfACluster, that_have_another_secret_are_told_what_to_look_at) {
  TestCluster cluster({.workers = 1, .secret = secret});
  const std::string other = cluster.write("other", "the secret of another cluster");
  for (const Command& client : std::vector<Command>{
           {test_job("misbehaving"), "--output", cluster.file("out"), "--secret-file", other},
           {test_job("misbehaving"), "--output", cluster.file("out")}}) {
    Command command = client;
    command.insert(command.end(), {"--cluster", cluster.address()});
    const auto result = run_program(command.front(), {command.begin() + 1, command.end()});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr(cluster.address()), HasSubstr("--secret-file")));
  }
  RunningProgram worker(
      {std::string(WEIR_BINARY_DIR) + "/tools/node", "--role", "worker", "--join",
       cluster.address(), "--secret-file", other, "--data-dir", cluster.file("stranger")},
      cluster.file("stranger-log"));
  EXPECT_TRUE(soon([&] {
    return worker.err().find("is the secret (--secret-file) the same?") != std::string::npos;
  }));
  EXPECT_TRUE(cluster.has_workers(1));
  EXPECT_THAT(cluster.master().err(), HasSubstr("does not know the cluster's secret"));
  worker.send_signal(SIGTERM);
  EXPECT_EQ(worker.exit_code(), 0);
}

TEST(StrangersOfACluster, are_not_invited_by_a_node_without_a_secret) {
  const TemporaryDirectory directory;
  for (const Command& arguments :
       std::vector<Command>{{"--role", "master", "--listen", "0.0.0.0:0"},
                            {"--role", "both", "--listen", "0.0.0.0:0"},
                            {"--role", "worker", "--join", "127.0.0.1:1", "--listen", "0.0.0.0"}}) {
    Command all = arguments;
    all.insert(all.end(), {"--data-dir", directory.file("data")});
    const auto node = run_program(std::string(WEIR_BINARY_DIR) + "/tools/node", all);
    EXPECT_EQ(node.exit_code, 2);
    EXPECT_THAT(node.err, HasSubstr("without --secret-file only loopback addresses are allowed"));
  }
}

}  // namespace
}  // namespace weir
