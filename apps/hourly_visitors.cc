// Visits and distinct visitors per hour and region, from a web server's combined log and a table of
// networks. Rows are window_start,region,visits,visitors. An address belongs to the region of its
// longest matching network, or to none.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "actors/launch.h"

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

static std::optional<int> number(std::string_view text, int max) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || value < 0 || value > max)
    return std::nullopt;
  return value;
}

// a.b.c.d
static std::optional<std::uint32_t> parse_address(std::string_view text) {
  std::uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    const std::size_t dot = part < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos) return std::nullopt;
    const auto byte = number(text.substr(0, dot), 255);
    if (!byte) return std::nullopt;
    address = address << 8 | static_cast<std::uint32_t>(*byte);
    text.remove_prefix(std::min(text.size(), dot + 1));
  }
  return address;
}

// 17/May/2015:10:05:03 +0000
static std::optional<EventTime> parse_time(std::string_view text) {
  static constexpr std::array<std::string_view, 12> months{
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 26 || text[2] != '/' || text[6] != '/' || text[11] != ':' || text[14] != ':' ||
      text[17] != ':' || text[20] != ' ' || (text[21] != '+' && text[21] != '-')) {
    return std::nullopt;
  }
  const auto day = number(text.substr(0, 2), 31);
  const auto month = std::ranges::find(months, text.substr(3, 3));
  const auto year = number(text.substr(7, 4), 9999);
  const auto hour = number(text.substr(12, 2), 23);
  const auto minute = number(text.substr(15, 2), 59);
  const auto second = number(text.substr(18, 2), 60);
  const auto zone_hour = number(text.substr(22, 2), 23);
  const auto zone_minute = number(text.substr(24, 2), 59);
  if (!day || month == months.end() || !year || !hour || !minute || !second || !zone_hour ||
      !zone_minute) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{
      std::chrono::year{*year},
      std::chrono::month{static_cast<unsigned>(month - months.begin() + 1)},
      std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return std::nullopt;
  const auto zone = std::chrono::hours{*zone_hour} + std::chrono::minutes{*zone_minute};
  const auto local = std::chrono::sys_days{date} + std::chrono::hours{*hour} +
                     std::chrono::minutes{*minute} + std::chrono::seconds{*second};
  return EventTime::of(text[21] == '+' ? local - zone : local + zone);
}

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
    std::ranges::stable_sort(regions.networks_, std::ranges::greater{}, &Network::prefix_length);
    return regions;
  }

  [[nodiscard]] std::string region_of(std::uint32_t address) const {
    for (const Network& network : networks_) {
      if ((address & network.mask) == network.address) return network.region;
    }
    return "unknown";
  }

 private:
  struct Network {
    std::uint32_t address;
    std::uint32_t mask;
    int prefix_length;
    std::string region;
  };

  bool add(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t comma = line.find(',');
    const std::size_t slash = line.find('/');
    if (comma == std::string_view::npos || slash > comma) return false;
    const auto address = parse_address(line.substr(0, slash));
    const auto length = number(line.substr(slash + 1, comma - slash - 1), 32);
    if (!address || !length) return false;
    const std::uint32_t mask = *length == 0 ? 0 : ~std::uint32_t{0} << (32 - *length);
    networks_.push_back({*address & mask, mask, *length, std::string(line.substr(comma + 1))});
    return true;
  }

  std::vector<Network> networks_;
};

// One line of the log.
static Result<Hit> parse_hit(const TextLine& line) {
  const std::string_view text = line.text;
  const std::size_t space = text.find(' ');
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (space == std::string_view::npos || open == std::string_view::npos ||
      close == std::string_view::npos) {
    return Error{Errc::bad_record, "not a line of a combined log"};
  }
  const auto address = parse_address(text.substr(0, space));
  if (!address)
    return Error{Errc::bad_record,
                 "'" + std::string(text.substr(0, space)) + "' is no IPv4 address"};
  const auto at = parse_time(text.substr(open + 1, close - open - 1));
  if (!at)
    return Error{Errc::bad_record,
                 "'" + std::string(text.substr(open + 1, close - open - 1)) + "' is no time"};
  return Hit{*at, *address, {}};
}

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
  std::optional<Regions> regions;

  void operator()(const Hit& hit, Collector<Hit>& out) {
    if (!regions) {
      auto read = Regions::read(path);
      if (!read) throw std::runtime_error(read.error().message);
      regions = std::move(*read);
    }
    out.collect({hit.at, hit.address, regions->region_of(hit.address)});
  }
};

static void hourly_visitors(Job& job) {
  const auto input =
      job.option<std::string>("input", "web server logs in combined format; a glob or several");
  const auto regions = job.option<std::string>("regions", "CSV file of network,region");
  job.source("log", numbered_text_files(input).with_split_size(job.split_size()))
      .parse("hits", parse_hit)
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
