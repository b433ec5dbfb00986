// Which subdirectory of an output a record goes to, by its event time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/time.h"

namespace weir {

// The bucket's name with %Y, %m, %d, %H, %M and %S for parts of the time in UTC, and %% for a
// percent sign; '/' nests buckets: "year=%Y/%m-%d". Empty: no buckets.
class BucketFormat {
 public:
  BucketFormat() = default;
  BucketFormat(std::string format) : format_(std::move(format)) {}
  BucketFormat(const char* format) : format_(format) {}

  [[nodiscard]] bool empty() const { return format_.empty(); }
  // Errc::invalid_plan if it makes no names of directories, with `sink` at its beginning.
  [[nodiscard]] Result<void> check(const std::string& sink) const;
  // Requires that the format is checked.
  [[nodiscard]] std::string bucket_at(EventTime time) const;
  // All times of a span of this length, from a multiple of it since 1970, have the same bucket.
  [[nodiscard]] Duration span() const;

 private:
  std::string format_;
};

// "2015-05-17--10", as Flink names them, and "2015-05-17".
[[nodiscard]] inline BucketFormat hourly() {
  return "%Y-%m-%d--%H";
}
[[nodiscard]] inline BucketFormat daily() {
  return "%Y-%m-%d";
}

// The buckets of records that come mostly in the order of their times. Not thread-safe.
class Bucketing {
 public:
  explicit Bucketing(BucketFormat format)
      : format_(std::move(format)), span_ms_(format_.span().count()) {}

  // Valid until the next call.
  [[nodiscard]] const std::string& bucket_at(EventTime time) {
    const std::int64_t span = time.ms / span_ms_ - (time.ms % span_ms_ < 0 ? 1 : 0);
    if (span != span_) {
      span_ = span;
      bucket_ = format_.bucket_at(time);
    }
    return bucket_;
  }

 private:
  BucketFormat format_;
  std::int64_t span_ms_;
  std::optional<std::int64_t> span_;  // whose bucket it is
  std::string bucket_;
};

}  // namespace weir
