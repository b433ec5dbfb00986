#include "actors/restore_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/actors/sample_job.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

OperatorInManifest keyed(const std::string& name, std::uint32_t max_parallelism = 128) {
  OperatorInManifest op{.name = name, .parallelism = 1, .max_parallelism = max_parallelism};
  op.subtasks.resize(1);
  op.subtasks[0].keyed.resize(1);
  return op;
}

// Of the sample job: its source, and what it counts.
CheckpointManifest manifest() {
  CheckpointManifest manifest;
  manifest.job_name = "visits of old";
  manifest.operators = {{.name = "lines", .parallelism = 1, .coordinator = Bytes{}},
                        keyed("count")};
  return manifest;
}

TEST(RestoreFit, is_given_if_every_state_has_a_step) {
  EXPECT_TRUE(check_fits(manifest(), sample_graph(), "/kept/chk-1"));
}

TEST(RestoreFit, needs_no_step_for_what_has_no_state) {
  CheckpointManifest with_more = manifest();
  with_more.operators.push_back({.name = "map", .parallelism = 1});
  with_more.operators.back().subtasks.resize(1);
  EXPECT_TRUE(check_fits(with_more, sample_graph(), "/kept/chk-1"));
}

TEST(RestoreFit, is_refused_with_the_names_of_what_has_no_step) {
  for (const OperatorInManifest& lost :
       {keyed("sum"), OperatorInManifest{.name = "sum", .coordinator = Bytes{}},
        OperatorInManifest{.name = "sum", .committables = {Bytes{}}}}) {
    CheckpointManifest other = manifest();
    other.operators.push_back(lost);
    const auto fits = check_fits(other, sample_graph(), "/kept/chk-1");
    ASSERT_FALSE(fits);
    EXPECT_EQ(fits.error().code, Errc::state_mismatch);
    EXPECT_THAT(fits.error().message,
                AllOf(HasSubstr("/kept/chk-1 is a checkpoint of job 'visits of old'"),
                      HasSubstr("state of 'sum'"), HasSubstr("'lines', 'times', 'count', 'out'")));
  }
}

TEST(RestoreFit, is_refused_at_another_maximum_parallelism_of_keyed_state) {
  CheckpointManifest other = manifest();
  other.operators[0].max_parallelism = 32;  // has no keys
  other.operators[1].max_parallelism = 64;
  const auto fits = check_fits(other, sample_graph(), "/kept/chk-1");
  ASSERT_FALSE(fits);
  EXPECT_EQ(fits.error().code, Errc::bad_option);
  EXPECT_THAT(fits.error().message,
              AllOf(HasSubstr("'count' has maximum parallelism 128 now and had 64"),
                    HasSubstr("give --max-parallelism 64")));
}

}  // namespace
}  // namespace weir
