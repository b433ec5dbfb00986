// Visits of each address, from a web server's combined log: hits that are less than half an hour apart.
// Rows are address,start,end,hits: of the first hit, of half an hour after the last, and how many there were.
#include <chrono>
#include <cstdint>
#include <string>

#include "actors/launch.h"
#include "apps/access_log.h"

using namespace weir;
using namespace std::chrono_literals;

struct SessionOfAddress {
  std::string address;
  EventTime start;
  EventTime end;
  std::int64_t hits = 0;
};

static void sessions(Job& job) {
  const auto input =
      job.option<std::string>("input", "web server logs in combined format; a glob or several");
  job.source("log", numbered_text_files(input).with_split_size(job.split_size()))
      .parse("hits", parse_access)
      .event_time(&Access::at, bounded(60s))
      .key_by(&Access::address)
      .window(Session::with_gap(30min))
      .aggregate("sessions", Count{},
                 [](std::uint32_t address, Window w, std::int64_t hits) {
                   return SessionOfAddress{address_text(address), w.start, w.end, hits};
                 })
      .to("out", csv_files(job.output(), {.header = true}))
      .parallelism(1);  // one file, so one header
}

int main(int argc, char** argv) {
  return launch(argc, argv, sessions);
}
