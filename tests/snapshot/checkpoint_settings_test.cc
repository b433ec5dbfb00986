#include "snapshot/checkpoint_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/codec.h"

namespace weir {
namespace {

using testing::HasSubstr;

std::string mistake_in(const CheckpointSettings& settings) {
  const auto checked = settings.check();
  EXPECT_FALSE(checked);
  if (checked) return {};
  EXPECT_EQ(checked.error().code, Errc::bad_option);
  return checked.error().message;
}

TEST(CheckpointSettings, take_no_checkpoints_by_default) {
  EXPECT_FALSE(CheckpointSettings{}.enabled());
  EXPECT_TRUE(CheckpointSettings{}.check());
}

TEST(CheckpointSettings, are_good_with_an_interval_and_a_directory) {
  EXPECT_TRUE((CheckpointSettings{.interval = Duration{10}, .directory = "/tmp/x"}.check()));
  EXPECT_TRUE((CheckpointSettings{.interval = Duration{10}, .directory = "file:///x"}.check()));
}

TEST(CheckpointSettings, name_the_option_and_the_remedy_of_a_mistake) {
  EXPECT_EQ(mistake_in({.interval = Duration{-5}}),
            "--checkpoint-interval is -5 ms: give at least 10 ms, or leave it out for no "
            "checkpoints");
  EXPECT_THAT(mistake_in({.interval = Duration{9}, .directory = "/x"}),
              HasSubstr("at least 10 ms"));
  EXPECT_THAT(mistake_in({.timeout = Duration{0}}), HasSubstr("--checkpoint-timeout is 0 ms"));
  EXPECT_THAT(mistake_in({.min_pause = Duration{-1}}), HasSubstr("--checkpoint-min-pause"));
  EXPECT_THAT(mistake_in({.max_concurrent = 0}), HasSubstr("--max-concurrent-checkpoints is 0"));
  EXPECT_THAT(mistake_in({.retained = 0}), HasSubstr("--retained-checkpoints is 0"));
  EXPECT_THAT(mistake_in({.inline_threshold_bytes = 1'048'577}), HasSubstr("at most 1048576"));
  EXPECT_THAT(mistake_in({.interval = Duration{1000}}), HasSubstr("--checkpoint-dir is missing"));
  EXPECT_THAT(mistake_in({.directory = "s3://bucket/x"}), HasSubstr("only paths and file:///"));
  EXPECT_THAT(mistake_in({.directory = "file://x/y"}), HasSubstr("absolute path"));
}

TEST(CheckpointSettings, a_directory_is_a_path_or_a_file_uri) {
  EXPECT_EQ(*checkpoint_directory_path("file:///var/weir"), "/var/weir");
  EXPECT_EQ(*checkpoint_directory_path("var/weir"), "var/weir");
}

TEST(CheckpointSettings, a_pause_allows_one_checkpoint_at_a_time) {
  EXPECT_EQ((CheckpointSettings{.max_concurrent = 3}.effective_max_concurrent()), 3U);
  EXPECT_EQ((CheckpointSettings{.min_pause = Duration{1}, .max_concurrent = 3}
                 .effective_max_concurrent()),
            1U);
}

TEST(CheckpointSettings, travel_in_messages) {
  const CheckpointSettings settings{.interval = Duration{500},
                                    .mode = CheckpointMode::at_least_once,
                                    .retained = 3,
                                    .directory = "/x"};
  EXPECT_EQ(*from_bytes<CheckpointSettings>(to_bytes(settings)), settings);
}

}  // namespace
}  // namespace weir
