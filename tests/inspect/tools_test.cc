// inspect and job, against a cluster of processes.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/inspect/local_cluster.h"

namespace weir {
namespace {

using nlohmann::json;
using testing::Test;

json parsed(const ChildResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out, nullptr, false);
}

// The tasks of a topology, by name.
std::map<std::string, json> tasks_of(const json& topology) {
  std::map<std::string, json> tasks;
  for (const json& node : topology["nodes"]) {
    for (const json& process : node["processes"]) {
      for (const json& task : process["tasks"]) tasks[task["task"]] = task;
    }
  }
  return tasks;
}

class ToolsOnACluster : public Test {
 protected:
  ToolsOnACluster() {
    EXPECT_TRUE(eventually([this] {
      return parsed(cluster_.inspect({"nodes", "--json"}))["nodes"].size() == 3;
    }));
  }
  [[nodiscard]] json topology(const std::string& job) const {
    return parsed(cluster_.inspect({"topology", job, "--json"}));
  }
  [[nodiscard]] bool is_running(const std::string& job) const {
    for (const auto& [name, task] : tasks_of(topology(job))) {
      if (task["state"] != "RUNNING") return false;
    }
    return true;
  }
  [[nodiscard]] std::string slow_job(const std::string& count) const {
    return cluster_.submit("slow_sink", {"--count", count, "--parallelism", "2"});
  }

  LocalCluster cluster_{2};
};

TEST_F(ToolsOnACluster, nodes_are_listed_with_their_slots) {
  const json nodes = parsed(cluster_.inspect({"nodes", "--json"}))["nodes"];
  std::map<std::string, int> roles;
  for (const json& node : nodes) {
    for (const char* field : {"id", "role", "address", "slots", "free_slots"})
      EXPECT_TRUE(node.contains(field)) << field;
    ++roles[node["role"]];
    const int slots = node["role"] == "worker" ? 1 : 0;
    EXPECT_EQ(node["slots"], slots);
    EXPECT_EQ(node["free_slots"], slots);
  }
  EXPECT_EQ(roles, (std::map<std::string, int>{{"master", 1}, {"worker", 2}}));
}

TEST_F(ToolsOnACluster, a_slow_sink_is_seen_measured_and_named) {
  const std::string id = slow_job("9000");
  ASSERT_TRUE(eventually([&] { return is_running(id); }));
  json looked;
  const bool shown = eventually([&] {
    looked = topology(id);
    const auto tasks = tasks_of(looked);
    return tasks.size() == 3 && tasks.at("slow (1/1)")["busy"] >= 0.9 &&
           tasks.at("texts (1/2)")["backpressured"] >= 0.8 &&
           tasks.at("texts (2/2)")["backpressured"] >= 0.8;
  });
  ASSERT_TRUE(shown) << looked.dump(2);
  EXPECT_EQ(looked["nodes"].size(), 2U);

  const json doctor = parsed(cluster_.inspect({"doctor", "--json"}));
  ASSERT_FALSE(doctor["findings"].empty()) << doctor.dump(2);
  EXPECT_EQ(doctor["findings"][0]["kind"], "bottleneck");
  EXPECT_EQ(doctor["findings"][0]["vertex"], "slow");
  EXPECT_EQ(doctor["findings"][0]["before"][0]["vertex"], "texts");
  const std::string words = cluster_.inspect({"doctor", id}).out;
  EXPECT_NE(words.find("'slow' is the bottleneck"), std::string::npos) << words;

  const json channels = parsed(cluster_.inspect({"--json", "channels"}))["channels"];
  ASSERT_EQ(channels.size(), 1U);
  EXPECT_EQ(channels[0]["from"], "texts");
  EXPECT_EQ(channels[0]["to"], "slow");
  EXPECT_EQ(channels[0]["partitioning"], "rebalance");
  EXPECT_EQ(channels[0]["channels"], 2);
  EXPECT_GT(channels[0]["in_flight_bytes"], 0);

  EXPECT_EQ(cluster_.job({"wait", id}).exit_code, 0);
  const json ended = topology(id);
  EXPECT_EQ(ended["state"], "FINISHED");
  const auto tasks = tasks_of(ended);
  EXPECT_EQ(tasks.at("slow (1/1)")["records_in"], 9'000);
  EXPECT_EQ(tasks.at("texts (1/2)")["records_out"].get<int>() +
                tasks.at("texts (2/2)")["records_out"].get<int>(),
            9'000);
  EXPECT_EQ(tasks.at("texts (1/2)")["records_read"].get<int>() +
                tasks.at("texts (2/2)")["records_read"].get<int>(),
            9'000);
  EXPECT_EQ(tasks.at("slow (1/1)")["bytes_in"].get<std::uint64_t>(),
            tasks.at("texts (1/2)")["bytes_out"].get<std::uint64_t>() +
                tasks.at("texts (2/2)")["bytes_out"].get<std::uint64_t>());
}

TEST_F(ToolsOnACluster, a_source_that_waits_for_another_is_seen_with_its_group_and_splits) {
  const std::string id =
      cluster_.submit("uneven_visits", {"--late", "600s", "--drift", "2s", "--parallelism", "2"});
  json looked;
  const auto waits = [&](const std::string& subtask) {
    const auto tasks = tasks_of(looked);
    if (tasks.size() != 6) return false;
    const json& desk = tasks.at("desk → event time 2 (" + subtask + ")");
    const json& phone = tasks.at("phone → event time (" + subtask + ")");
    return desk["waits_for_group"] == "visits" && phone["waits_for_group"].is_null() &&
           phone["records_read"] > 1'000 && desk["splits"].is_object() &&
           desk["splits"]["count"] == 1;
  };
  const bool shown = eventually([&] {
    looked = topology(id);
    return waits("1/2") && waits("2/2");
  });
  ASSERT_TRUE(shown) << looked.dump(2);
  const json doctor = parsed(cluster_.inspect({"doctor", id, "--json"}));
  json found;
  for (const json& finding : doctor["findings"]) {
    if (finding["kind"] == "alignment") found = finding;
  }
  ASSERT_FALSE(found.is_null()) << doctor.dump(2);
  EXPECT_EQ(found["group"], "visits");
  EXPECT_EQ(found["waiting"], 2);
  EXPECT_EQ(found["slowest"].get<std::string>().find("phone"), 0U) << found;
  EXPECT_EQ(cluster_.job({"cancel", id}).exit_code, 0);
}

TEST_F(ToolsOnACluster, a_job_is_listed_shown_watched_and_cancelled) {
  const std::string id = slow_job("1000000");
  ASSERT_TRUE(eventually([&] { return is_running(id); }));
  const json listed = parsed(cluster_.job({"list", "--json"}))["jobs"];
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0]["id"], id);
  EXPECT_EQ(listed[0]["name"], "slow_sink");
  EXPECT_EQ(listed[0]["state"], "RUNNING");
  EXPECT_EQ(parsed(cluster_.job({"show", "slow_sink", "--json"}))["tasks"].size(), 3U);
  const std::string shown = cluster_.job({"show", id.substr(0, 6)}).out;
  EXPECT_NE(shown.find("texts (2/2)"), std::string::npos) << shown;

  const ChildResult logs = cluster_.job({"logs", id, "slow (1/1)"});
  EXPECT_EQ(logs.exit_code, 0) << logs.err;
  EXPECT_EQ(logs.out.find("==> node "), 0U) << logs.out;
  EXPECT_EQ(logs.out.find("==> node ", 1), std::string::npos);
  EXPECT_NE(cluster_.job({"logs", id}).out.find("==> node ", 1), std::string::npos);

  const ChildResult cancelled = cluster_.job({"cancel", id});
  EXPECT_EQ(cancelled.exit_code, 0) << cancelled.err;
  EXPECT_EQ(cancelled.out, "job " + id + " CANCELED\n");
  EXPECT_EQ(parsed(cluster_.job({"list", "--json"}))["jobs"].size(), 0U);
  EXPECT_EQ(parsed(cluster_.job({"list", "--all", "--json"}))["jobs"][0]["state"], "CANCELED");
  EXPECT_EQ(cluster_.job({"wait", id}).exit_code, 1);
  EXPECT_EQ(cluster_.job({"cancel", id}).exit_code, 1);
}

TEST_F(ToolsOnACluster, a_killed_process_is_among_the_exceptions) {
  const std::string id = slow_job("1000000");
  ASSERT_TRUE(eventually([&] { return is_running(id); }));
  const json node = topology(id)["nodes"][1];
  kill(node["processes"][0]["process"].get<pid_t>(), SIGKILL);
  json found;
  EXPECT_TRUE(eventually([&] {
    const json all = parsed(cluster_.job({"exceptions", id, "--json"}));
    for (const json& one : all["exceptions"]) {
      if (one["code"] == "process_lost") found = one;
    }
    return !found.is_null();
  }));
  EXPECT_EQ(found["node"], node["id"]);
  EXPECT_NE(found["message"].get<std::string>().find("SIGKILL"), std::string::npos) << found;
  const std::string text = cluster_.job({"exceptions", id}).out;
  EXPECT_NE(text.find("process_lost\n  "), std::string::npos) << text;
}

TEST_F(ToolsOnACluster, watch_ends_with_the_job_and_gives_one_object_a_line) {
  const std::string id = slow_job("3000");
  const ChildResult watched = cluster_.inspect({"topology", id, "--json", "--watch"});
  EXPECT_EQ(watched.exit_code, 0) << watched.err;
  const auto lines = lines_of(watched.out);
  ASSERT_GE(lines.size(), 2U);
  for (const std::string& line : lines)
    EXPECT_FALSE(json::parse(line, nullptr, false).is_discarded());
  EXPECT_EQ(json::parse(lines.back())["state"], "FINISHED");
}

TEST_F(ToolsOnACluster, mistakes_name_the_argument) {
  const auto expect = [](const ChildResult& result, int code, const std::string& text) {
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  };
  expect(cluster_.job({"show", "nothing"}), 1, "no job 'nothing'");
  expect(cluster_.job({"show", "1f"}), 1, "three digits or more");
  expect(cluster_.job({"show"}), 2, "JOB");
  expect(cluster_.job({"lst"}), 2, "lst");
  expect(cluster_.job({}), 2, "the command is missing");
  expect(cluster_.job({"list", "--al"}), 2, "--al");
  expect(cluster_.inspect({"topology"}), 1, "no job is running");
  expect(cluster_.inspect({"nodes", "--secret-file", "/nowhere"}), 2, "--secret-file");
  expect(run_program(binaries + "tools/inspect", {"nodes"}), 2, "--cluster is missing");
  expect(run_program(binaries + "tools/job", {"--cluster", "nowhere", "list"}), 2, "--cluster");
  expect(run_program(binaries + "tools/job", {"--cluster", "127.0.0.1:1", "list"}), 1,
         "127.0.0.1:1");
}

TEST(Tools, explain_themselves) {
  for (const std::string tool : {"inspect", "job"}) {
    const ChildResult version = run_program(binaries + "tools/" + tool, {"--version"});
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_EQ(version.out.find(tool + " (weir "), 0U) << version.out;
    EXPECT_NE(run_program(binaries + "tools/" + tool, {"--help"}).out.find("--cluster"),
              std::string::npos);
  }
  const std::string help = run_program(binaries + "tools/job", {"cancel", "--help"}).out;
  EXPECT_NE(help.find("--no-wait"), std::string::npos) << help;
}

}  // namespace
}  // namespace weir
