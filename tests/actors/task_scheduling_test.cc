#include "actors/task_scheduling.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "actors/fair_actor.h"
#include "actors/local_system_config.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
constexpr auto patience = 60s;  // what does not come at all fails the test

using Turn = caf::atom_constant<caf::atom("turn")>;
using Player = caf::typed_actor<caf::reacts_to<Turn>>;

// An actor that does something, once per message, with its own thread and handle.
using Deed = std::function<void(Player::base*)>;
struct NoState {
  static constexpr const char* name = "player";
};
using PlayerActor = FairActor<NoState, Player>;
Player::behavior_type player(PlayerActor* self, Deed deed) {
  return {[self, deed](Turn) { deed(self); }};
}

// Declared after what its actors use: its end waits for them.
class Actors {
 public:
  explicit Actors(std::uint32_t threads) : config_(threads), system_(config_) {}
  Player spawn(Deed deed) { return system_.spawn(player, std::move(deed)); }

 private:
  LocalSystemConfig config_;
  caf::actor_system system_;
};

void start(const Player& actor) {
  caf::anon_send(actor, Turn::value);
}
void give(Player::base* giver, const Player& receiver) {
  const HandOver to_the_receiver;
  giver->send(receiver, Turn::value);
}
bool comes(std::promise<void>& promise) {
  return promise.get_future().wait_for(patience) == std::future_status::ready;
}

// The receiver can only run on the other thread: that this ends is what is shown.
TEST(Scheduling, keeps_nobody_to_whom_a_message_went_in_another_way) {
  std::promise<void> received;
  bool seen = false;
  {
    Actors actors(2);
    const Player second = actors.spawn([&](auto*) { received.set_value(); });
    start(actors.spawn([&, second](Player::base* self) {
      self->send(second, Turn::value);
      seen = comes(received);
    }));
  }
  EXPECT_TRUE(seen);
}

TEST(Scheduling, lets_another_thread_have_the_receiver_when_the_giver_goes_on) {
  std::promise<void> received;
  bool seen = false;
  {
    Actors actors(2);
    const Player second = actors.spawn([&](auto*) { received.set_value(); });
    start(actors.spawn([&, second](Player::base* self) {
      give(self, second);
      NextActor::of_this_thread().let_go(self->context());
      seen = comes(received);
    }));
  }
  EXPECT_TRUE(seen);
}

TEST(Scheduling, lets_another_thread_have_the_receiver_when_the_giver_has_another_message) {
  std::promise<void> received;
  bool seen = false;
  {
    Actors actors(2);
    const Player second = actors.spawn([&](auto*) { received.set_value(); });
    start(actors.spawn([&, second, turns = 0](Player::base* self) mutable {
      if (++turns == 2) {
        seen = comes(received);
        return;
      }
      self->send(caf::actor_cast<Player>(self), Turn::value);
      give(self, second);
    }));
  }
  EXPECT_TRUE(seen);
}

TEST(Scheduling, keeps_one_receiver_and_lets_other_threads_have_the_others) {
  std::promise<void> second_received;
  bool seen = false;
  {
    Actors actors(2);
    // The first has the giver's thread, and waits there for what can run on the other only.
    const Player first = actors.spawn([&](auto*) { seen = comes(second_received); });
    const Player second = actors.spawn([&](auto*) { second_received.set_value(); });
    start(actors.spawn([first, second](Player::base* self) {
      give(self, first);
      give(self, second);
    }));
  }
  EXPECT_TRUE(seen);
}

TEST(Scheduling, runs_the_receiver_of_a_hand_over_before_those_who_wait_in_the_queue) {
  std::vector<std::string> order;
  {
    Actors actors(1);
    const Player receiver = actors.spawn([&](auto*) { order.emplace_back("receiver"); });
    const Player waiting = actors.spawn([&](auto*) { order.emplace_back("waiting"); });
    start(actors.spawn([receiver, waiting](Player::base* self) {
      self->send(waiting, Turn::value);
      give(self, receiver);
    }));
  }
  EXPECT_EQ(order, (std::vector<std::string>{"receiver", "waiting"}));
}

TEST(Scheduling, puts_off_what_can_wait_until_the_receiver_has_had_its_turn) {
  std::vector<std::string> order;
  {
    Actors actors(1);
    const Player receiver = actors.spawn([&](auto*) { order.emplace_back("receiver"); });
    start(actors.spawn([&, receiver](Player::base* self) {
      give(self, receiver);
      NextActor::of_this_thread().afterwards([&] { order.emplace_back("afterwards"); });
      order.emplace_back("giver");
    }));
  }
  EXPECT_EQ(order, (std::vector<std::string>{"giver", "receiver", "afterwards"}));
}

TEST(Scheduling, does_at_once_what_can_wait_if_there_is_nobody_to_wait_for) {
  bool at_once = false;
  bool seen = false;
  {
    Actors actors(1);
    start(actors.spawn([&](auto*) {
      NextActor::of_this_thread().afterwards([&] { at_once = true; });
      seen = at_once;
    }));
  }
  EXPECT_TRUE(seen);
}

TEST(Scheduling, does_what_was_put_off_when_the_giver_goes_on) {
  bool done = false;
  bool seen = false;
  {
    Actors actors(1);
    const Player receiver = actors.spawn([](auto*) {});
    start(actors.spawn([&, receiver](Player::base* self) {
      give(self, receiver);
      NextActor::of_this_thread().afterwards([&] { done = true; });
      NextActor::of_this_thread().let_go(self->context());
      seen = done;
    }));
  }
  EXPECT_TRUE(seen);
}

TEST(Scheduling, gives_others_their_turn_when_two_give_each_other_turns_for_ever) {
  std::atomic<bool> third_had_its_turn = false;
  std::atomic<bool> over = false;
  const auto return_it = [&](Player::base* self) {
    if (!over) give(self, caf::actor_cast<Player>(self->current_sender()));
  };
  {
    Actors actors(1);
    const Player third = actors.spawn([&](auto*) {
      third_had_its_turn = true;
      over = true;
    });
    const Player pong = actors.spawn(return_it);
    start(actors.spawn([&, third, pong, first = true](Player::base* self) mutable {
      if (std::exchange(first, false)) self->send(third, Turn::value);
      if (!over) give(self, pong);
    }));
  }
  EXPECT_TRUE(third_had_its_turn);
}

}  // namespace
}  // namespace weir
