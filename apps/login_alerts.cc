// Addresses that guess passwords, from an SSH server's log: an alert for each five failed logins within a minute.
// Rows are address,first,last: when the first and the last of the five were. Failures count for one alert only.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/launch.h"
#include "apps/access_log.h"

using namespace weir;
using namespace std::chrono_literals;

// A failed login, or several of the same second that the server wrote as one.
struct FailedLogin {
  EventTime at;
  std::string address;
  std::int64_t times = 1;
};

struct LoginAlert {
  std::string address;
  EventTime first;
  EventTime last;
};

// Lines begin with "Dec 10 06:55:48"; they carry no year.
static std::optional<EventTime> parse_login_time(std::string_view line, int year) {
  if (line.size() < 15 || line[3] != ' ' || line[6] != ' ') return std::nullopt;
  const auto month = parse_month(line.substr(0, 3));
  const auto day = parse_number(line.substr(line[4] == ' ' ? 5 : 4, line[4] == ' ' ? 1 : 2), 31);
  const auto time_of_day = parse_time_of_day(line.substr(7, 8));
  if (!month || !day || !time_of_day) return std::nullopt;
  const auto date = make_date(year, *month, *day);
  if (!date) return std::nullopt;
  return EventTime::of(*date + *time_of_day);
}

// The failed login in a line, if it tells of one:
//   Dec 10 06:55:48 gateway sshd[24200]: Failed password for invalid user eve from 10.1.2.3 port 38926 ssh2
//   Dec 10 07:13:56 gateway sshd[24227]: message repeated 5 times: [ Failed password for root from 10.1.2.3 port 42393 ssh2]
struct FindFailures {
  int year;

  Result<std::vector<FailedLogin>> operator()(const TextLine& line) const {
    const std::string_view text = line.text;
    const auto at = parse_login_time(text, year);
    if (!at) {
      return Error{Errc::bad_record,
                   "'" + std::string(text.substr(0, 15)) + "' is no time such as Dec 10 06:55:48"};
    }
    const std::size_t failed = text.find("Failed password for ");
    if (failed == std::string_view::npos) return std::vector<FailedLogin>{};
    const std::size_t from = text.rfind(" from ");
    const std::size_t port = text.rfind(" port ");
    if (from == std::string_view::npos || port == std::string_view::npos || port < from)
      return Error{Errc::bad_record, "a failed password without ' from ADDRESS port'"};
    const std::string address(text.substr(from + 6, port - from - 6));
    return std::vector{FailedLogin{*at, address, times(text.substr(0, failed))}};
  }

 private:
  static std::int64_t times(std::string_view before) {
    constexpr std::string_view repeated = "message repeated ";
    const std::size_t begin = before.find(repeated);
    if (begin == std::string_view::npos) return 1;
    const std::string_view rest = before.substr(begin + repeated.size());
    return parse_number(rest.substr(0, rest.find(' ')), 1'000'000).value_or(1);
  }
};

// Failures may arrive out of order: they wait until the watermark says that none before them is to come.
struct GuessedPasswords {
  static constexpr Duration within = 1min;
  static constexpr std::size_t limit = 5;

  MapState<EventTime, std::int64_t> waiting{};  // how many, by time
  ListState<EventTime> recent{};                // counted for the next alert, in order
  Timer due{};

  using Ctx = KeyedContext<std::string, LoginAlert>;

  void on_element(const FailedLogin& login, Ctx& /*ctx*/) {
    const auto so_far = waiting.get(login.at);
    waiting.put(login.at, (so_far ? *so_far : 0) + login.times);
    due.at(login.at);
  }

  void on_timer(const TimerFiring& firing, Ctx& ctx) {
    const EventTime now = *firing.event_time;
    std::vector<EventTime> failures = recent.get();
    std::erase_if(failures, [now](EventTime at) { return at < now - within; });
    if (const auto times = waiting.get(now)) {
      for (std::int64_t i = 0; i < *times; ++i) {
        failures.push_back(now);
        if (failures.size() < limit) continue;
        ctx.emit({ctx.key(), failures.front(), failures.back()});
        failures.clear();
      }
      waiting.remove(now);
    }
    // Once more when the last of them is too old, so that nothing stays of an address.
    if (!failures.empty()) due.at(failures.back() + within + 1ms);
    recent.update(std::move(failures));
  }
};

static void login_alerts(Job& job) {
  const auto input = job.option<std::string>("input", "logs of an SSH server; a glob or several");
  const auto year = job.option<int>("year", "the year of the log, whose lines carry none", 2024);
  job.source("log", numbered_text_files(input).with_split_size(job.split_size()))
      .parse("failures", FindFailures{year})
      .flat_map([](const std::vector<FailedLogin>& failures) { return failures; })
      .event_time(&FailedLogin::at, monotonous())
      .key_by(&FailedLogin::address)
      .process("guessed passwords", GuessedPasswords{})
      .to("out", csv_files(job.output(), {.header = true}))
      .parallelism(1);  // one file, so one header
}

int main(int argc, char** argv) {
  return launch(argc, argv, login_alerts);
}
