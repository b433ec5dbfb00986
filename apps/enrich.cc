// Hits of a web server's combined log, each with the region that its address belonged to at that time. Which network belongs to
// which region is a stream of its own, whose records say from when on they hold: rows of from,network,region.
// Rows are time,address,region,path, "unknown" where no rule held.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "actors/launch.h"
#include "apps/access_log.h"
#include "apps/network.h"

using namespace weir;
using namespace std::chrono_literals;

struct Rule {
  EventTime from;
  Network network;
  std::string region;
};

struct EnrichedHit {
  EventTime time;
  std::string address;
  std::string region;
  std::string path;
};

// 2015-05-17T10:00:00Z
static std::optional<EventTime> parse_rule_time(std::string_view text) {
  if (text.size() != 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[19] != 'Z')
    return std::nullopt;
  const auto year = parse_number(text.substr(0, 4), 9999);
  const auto month = parse_number(text.substr(5, 2), 12);
  const auto day = parse_number(text.substr(8, 2), 31);
  const auto time_of_day = parse_time_of_day(text.substr(11, 8));
  if (!year || !month || !day || !time_of_day) return std::nullopt;
  const auto date = make_date(*year, static_cast<unsigned>(*month), *day);
  if (!date) return std::nullopt;
  return EventTime::of(*date + *time_of_day);
}

static Result<Rule> parse_rule(const TextLine& line) {
  std::string_view text = line.text;
  if (text.ends_with('\r')) text.remove_suffix(1);
  const std::size_t first = text.find(',');
  const std::size_t second = text.find(',', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos)
    return Error{Errc::bad_record, "expected from,network,region"};
  const auto from = parse_rule_time(text.substr(0, first));
  if (!from) {
    return Error{Errc::bad_record, "'" + std::string(text.substr(0, first)) +
                                       "' is no time such as 2015-05-17T10:00:00Z"};
  }
  const auto network = parse_network(text.substr(first + 1, second - first - 1));
  if (!network) {
    return Error{Errc::bad_record, "'" + std::string(text.substr(first + 1, second - first - 1)) +
                                       "' is no network such as 10.32.0.0/11"};
  }
  return Rule{*from, *network, std::string(text.substr(second + 1))};
}

// A hit waits until the watermark, which is the smaller one of both streams, says that all rules of before it are there.
struct AddRegion {
  using Validity = std::pair<EventTime, Network>;
  BroadcastState<Validity, std::string> rules{};
  ListState<Access> waiting{};
  Timer due{};

  using Ctx = KeyedContext<std::uint32_t, EnrichedHit>;

  void on_element1(const Access& hit, Ctx& /*ctx*/) {
    waiting.add(hit);
    due.at(hit.at);
  }
  void on_element2(const Rule& rule, Context<EnrichedHit>& /*ctx*/) {
    rules.put({rule.from, rule.network}, rule.region);
  }
  void on_timer(const TimerFiring& firing, Ctx& ctx) {
    std::vector<Access> later;
    for (const Access& hit : waiting.get()) {
      if (hit.at <= *firing.event_time) {
        ctx.emit({hit.at, address_text(hit.address), region_of(hit), hit.path});
      } else {
        later.push_back(hit);
      }
    }
    waiting.update(std::move(later));
  }

 private:
  // Of the longest network that has a rule then, the latest one.
  [[nodiscard]] std::string region_of(const Access& hit) const {
    std::string region = "unknown";
    std::optional<std::tuple<int, EventTime>> best;
    rules.for_each([&](const auto& validity, const std::string& name) {
      const auto& [from, network] = validity;
      if (from > hit.at || !network.contains(hit.address)) return;
      const std::tuple rank{network.prefix_length, from};
      if (best && *best >= rank) return;
      best = rank;
      region = name;
    });
    return region;
  }
};

static void enrich(Job& job) {
  const auto input =
      job.option<std::string>("input", "web server logs in combined format; a glob or several");
  const auto rules =
      job.option<std::string>("rules", "files of from,network,region, in the order of from");
  const auto networks = job.source("rules", numbered_text_files(rules))
                            .parallelism(1)
                            .parse("networks", parse_rule)
                            .parallelism(1)
                            .event_time(&Rule::from, monotonous())
                            .parallelism(1);
  job.source("log", numbered_text_files(input).with_split_size(job.split_size()))
      .parse("hits", parse_access)
      .event_time(&Access::at, bounded(60s))
      .key_by(&Access::address)
      .connect(networks.broadcast())
      .process("regions", AddRegion{})
      .to("out", csv_files(job.output(), {.header = true}))
      .parallelism(1);  // one file, so one header
}

int main(int argc, char** argv) {
  return launch(argc, argv, enrich);
}
