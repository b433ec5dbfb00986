#include "actors/slot_pool.h"

#include <gtest/gtest.h>

#include <set>

namespace weir {
namespace {

constexpr TaskManagerId left{1};
constexpr TaskManagerId right{2};
constexpr JobId first{10};
constexpr JobId second{11};
constexpr JobId third{12};

TEST(SlotPool, grants_what_is_free_at_once) {
  SlotPool pool;
  EXPECT_TRUE(pool.add_task_manager(left, 2).empty());
  const auto grants = pool.request(first, 2);
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(grants[0].slots, (std::vector<TaskManagerId>{left, left}));
  EXPECT_EQ(pool.free_slots(), 0U);
}

TEST(SlotPool, a_request_waits_until_a_task_manager_comes) {
  SlotPool pool;
  EXPECT_TRUE(pool.add_task_manager(left, 2).empty());
  EXPECT_TRUE(pool.request(first, 3).empty());
  EXPECT_EQ(pool.free_slots(), 2U) << "nothing is held by a request that waits";
  const auto grants = pool.add_task_manager(right, 1);
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(grants[0].slots.size(), 3U);
}

TEST(SlotPool, spreads_a_job_over_task_managers) {
  SlotPool pool;
  (void)pool.add_task_manager(left, 2);
  (void)pool.add_task_manager(right, 2);
  const auto grants = pool.request(first, 2);
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(std::set<TaskManagerId>(grants[0].slots.begin(), grants[0].slots.end()).size(), 2U);
}

TEST(SlotPool, a_small_request_does_not_overtake_a_large_one) {
  SlotPool pool;
  (void)pool.add_task_manager(left, 3);
  (void)pool.request(first, 1);
  EXPECT_TRUE(pool.request(second, 3).empty());
  EXPECT_TRUE(pool.request(third, 1).empty());
  EXPECT_FALSE(pool.waiting(second)->behind);
  EXPECT_EQ(pool.waiting(third)->behind, second);
  EXPECT_EQ(pool.waiting(third)->count, 1U);
  const auto grants = pool.release(first);
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(grants[0].job, second);
}

TEST(SlotPool, who_waits_beside_a_job_that_keeps_slots_and_waits_for_more_is_told) {
  SlotPool pool;
  (void)pool.add_task_manager(left, 2);
  (void)pool.add_task_manager(right, 2);
  (void)pool.request(first, 4);
  (void)pool.remove_task_manager(right);
  (void)pool.request(first, 2);
  (void)pool.request(second, 1);
  EXPECT_FALSE(pool.waiting(second)->behind);
  EXPECT_EQ(pool.waiting(second)->kept_by, first);
  EXPECT_FALSE(pool.waiting(first)->kept_by) << "it knows of its own";
}

TEST(SlotPool, a_request_for_more_than_there_is_holds_nobody_up) {
  SlotPool pool;
  (void)pool.add_task_manager(left, 2);
  EXPECT_TRUE(pool.request(first, 3).empty());
  EXPECT_FALSE(pool.waiting(first)->fits_total);
  const auto grants = pool.request(second, 1);
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(grants[0].job, second);
  EXPECT_FALSE(pool.waiting(second));
}

TEST(SlotPool, a_request_has_its_place_again_when_there_is_enough_in_total) {
  SlotPool pool;
  (void)pool.add_task_manager(left, 2);
  EXPECT_TRUE(pool.request(first, 3).empty());
  (void)pool.request(second, 2);
  EXPECT_TRUE(pool.request(third, 1).empty());
  EXPECT_FALSE(pool.waiting(third)->behind);
  EXPECT_TRUE(pool.add_task_manager(right, 1).empty()) << "the slot that came is the first's";
  EXPECT_EQ(pool.waiting(third)->behind, first);
  const auto grants = pool.release(second);
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(grants[0].job, first);
}

TEST(SlotPool, released_slots_go_to_who_waits) {
  SlotPool pool;
  (void)pool.add_task_manager(left, 2);
  (void)pool.request(first, 2);
  EXPECT_TRUE(pool.request(second, 1).empty());
  const auto grants = pool.release(first);
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(grants[0].job, second);
  EXPECT_EQ(pool.free_slots(), 1U);
}

TEST(SlotPool, a_withdrawn_request_lets_those_behind_it_go) {
  SlotPool pool;
  (void)pool.add_task_manager(left, 3);
  (void)pool.request(second, 2);
  EXPECT_TRUE(pool.request(first, 3).empty());
  EXPECT_TRUE(pool.request(third, 1).empty());
  const auto grants = pool.release(first);
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(grants[0].job, third);
}

TEST(SlotPool, slots_of_a_lost_task_manager_do_not_come_back) {
  SlotPool pool;
  (void)pool.add_task_manager(left, 2);
  (void)pool.request(first, 2);
  EXPECT_TRUE(pool.remove_task_manager(left).empty());
  EXPECT_TRUE(pool.release(first).empty());
  EXPECT_EQ(pool.total_slots(), 0U);
}

TEST(SlotPool, a_job_that_lost_slots_and_cannot_have_all_again_holds_nobody_up) {
  SlotPool pool;
  (void)pool.add_task_manager(left, 3);
  (void)pool.add_task_manager(right, 3);
  (void)pool.request(first, 4);
  (void)pool.remove_task_manager(right);
  ASSERT_EQ(pool.free_slots(left), 1U);
  EXPECT_TRUE(pool.request(first, 2).empty());
  EXPECT_FALSE(pool.waiting(first)->fits_total) << "it has two of three, and wants four";
  EXPECT_EQ(pool.request(second, 1).size(), 1U);
}

}  // namespace
}  // namespace weir
