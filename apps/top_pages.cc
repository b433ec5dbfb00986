// The three paths that were asked for most in each hour, from a web server's combined log; an hour ends every ten minutes.
// Rows are window_start,window_end,rank,path,hits. Of paths with as many hits the one that comes first in the alphabet wins.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "actors/launch.h"
#include "apps/access_log.h"

using namespace weir;
using namespace std::chrono_literals;

struct HitsOfPath {
  EventTime window_start;
  EventTime window_end;
  std::string path;
  std::int64_t hits = 0;
};

struct TopPage {
  EventTime window_start;
  EventTime window_end;
  std::int64_t rank = 0;
  std::string path;
  std::int64_t hits = 0;
};

// Keeps the first three. Counts of a window arrive with its last millisecond as their time, so a window of ten minutes holds
// those of one hour that ends there.
struct FirstThree {
  using Accumulator = std::vector<HitsOfPath>;
  static constexpr std::size_t places = 3;

  static bool precedes(const HitsOfPath& a, const HitsOfPath& b) {
    return a.hits != b.hits ? a.hits > b.hits : a.path < b.path;
  }
  void add(Accumulator& first, const HitsOfPath& count) const {
    first.insert(std::ranges::upper_bound(first, count, precedes), count);
    if (first.size() > places) first.pop_back();
  }
  [[nodiscard]] Accumulator result(const Accumulator& first) const { return first; }
  void merge(Accumulator& into, const Accumulator& other) const {
    for (const HitsOfPath& count : other) add(into, count);
  }
};

static std::vector<TopPage> ranked(const std::vector<HitsOfPath>& first) {
  std::vector<TopPage> rows;
  for (const HitsOfPath& page : first) {
    rows.push_back({page.window_start, page.window_end, static_cast<std::int64_t>(rows.size() + 1),
                    page.path, page.hits});
  }
  return rows;
}

static void top_pages(Job& job) {
  const auto input =
      job.option<std::string>("input", "web server logs in combined format; a glob or several");
  constexpr auto slide = 10min;
  job.source("log", numbered_text_files(input).with_split_size(job.split_size()))
      .parse("hits", parse_access)
      .event_time(&Access::at, bounded(60s))
      .key_by(&Access::path)
      .window(Sliding::of(1h, slide))
      .aggregate("hits of paths", Count{},
                 [](const std::string& path, Window w, std::int64_t hits) {
                   return HitsOfPath{w.start, w.end, path, hits};
                 })
      .key_by(&HitsOfPath::window_end)
      .window(Tumbling::of(slide))
      .aggregate("first three", FirstThree{},
                 [](EventTime, Window, std::vector<HitsOfPath> first) { return first; })
      .flat_map(ranked)
      .to("out", csv_files(job.output(), {.header = true}))
      .parallelism(1);  // one file, so one header
}

int main(int argc, char** argv) {
  return launch(argc, argv, top_pages);
}
