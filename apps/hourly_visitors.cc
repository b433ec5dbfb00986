// Visits and distinct visitors per hour and region, from a web server's combined log and a table of
// networks. Rows are window_start,region,visits,visitors. An address belongs to the region of its
// longest matching network, or to none.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "actors/launch.h"
#include "apps/access_log.h"
#include "apps/network.h"

using namespace weir;
using namespace std::chrono_literals;

struct Hit {
  EventTime at;
  std::uint32_t address = 0;
  std::string region;
};

struct HourOfRegion {
  EventTime window_start;
  std::string region;
  std::int64_t visits = 0;
  std::int64_t visitors = 0;
};

// Networks with their regions, the longest prefixes first.
class Regions {
 public:
  // Reads network,region rows under a header.
  static Result<Regions> read(const std::string& path) {
    std::ifstream file(path);
    if (!file)
      return Error{Errc::input_unreadable,
                   "regions '" + path + "' cannot be read: check --regions"};
    Regions regions;
    std::string line;
    for (int row = 1; std::getline(file, line); ++row) {
      if (row == 1 || line.empty()) continue;
      if (!regions.add(line)) {
        return Error{Errc::bad_record, path + ":" + std::to_string(row) +
                                           ": expected network,region such as 10.32.0.0/11,south"};
      }
    }
    std::ranges::stable_sort(regions.entries_, std::ranges::greater{},
                             [](const Entry& entry) { return entry.network.prefix_length; });
    return regions;
  }

  [[nodiscard]] std::string region_of(std::uint32_t address) const {
    for (const auto& [network, region] : entries_) {
      if (network.contains(address)) return region;
    }
    return "unknown";
  }

 private:
  struct Entry {
    Network network;
    std::string region;
  };

  bool add(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t comma = line.find(',');
    if (comma == std::string_view::npos) return false;
    const auto network = parse_network(line.substr(0, comma));
    if (!network) return false;
    entries_.push_back({*network, std::string(line.substr(comma + 1))});
    return true;
  }

  std::vector<Entry> entries_;
};

// Counts visits and distinct addresses.
struct Visits {
  struct Result {
    std::int64_t visits;
    std::int64_t visitors;
  };
  struct Accumulator {
    std::int64_t visits = 0;
    std::unordered_set<std::uint32_t> visitors;
  };
  void add(Accumulator& acc, const Hit& hit) const {
    ++acc.visits;
    acc.visitors.insert(hit.address);
  }
  [[nodiscard]] Result result(const Accumulator& acc) const {
    return {acc.visits, static_cast<std::int64_t>(acc.visitors.size())};
  }
  void merge(Accumulator& into, const Accumulator& other) const {
    into.visits += other.visits;
    into.visitors.insert(other.visitors.begin(), other.visitors.end());
  }
};

// Joins hits to the table of networks, which each instance reads for itself when it starts.
struct JoinRegion {
  std::string path;
  Regions regions;

  void open(const FunctionContext& /*context*/) {
    auto read = Regions::read(path);
    if (!read) throw std::runtime_error(read.error().message);
    regions = *std::move(read);
  }
  void operator()(const Access& access, Collector<Hit>& out) const {
    out.collect({access.at, access.address, regions.region_of(access.address)});
  }
};

static void hourly_visitors(Job& job) {
  const auto input =
      job.option<std::string>("input", "web server logs in combined format; a glob or several");
  const auto regions = job.option<std::string>("regions", "CSV file of network,region");
  job.source("log", numbered_text_files(input).with_split_size(job.split_size()))
      .parse("hits", parse_access)
      .flat_map(JoinRegion{regions, {}})
      .event_time(&Hit::at, bounded(60s))
      .key_by(&Hit::region)
      .window(Tumbling::of(1h))
      .aggregate("visits", Visits{},
                 [](const std::string& region, Window w, Visits::Result r) {
                   return HourOfRegion{w.start, region, r.visits, r.visitors};
                 })
      .to("out", csv_files(job.output(), {.header = true}))
      .parallelism(1);  // one file, so one header
}

int main(int argc, char** argv) {
  return launch(argc, argv, hourly_visitors);
}
