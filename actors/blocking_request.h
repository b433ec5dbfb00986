// A question to an actor of another process, from a thread that waits for the answer.
#pragma once

#include <caf/all.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"

namespace weir {
namespace blocking_request_detail {

template <class Answer>
using AnswerPromise = std::shared_ptr<std::promise<Result<Answer>>>;

template <class Answer, class Handle, class Message>
void asker(caf::event_based_actor* self, const Handle& whom, const std::string& name,
           std::chrono::milliseconds timeout, const Message& message,
           const AnswerPromise<Answer>& answered) {
  const auto fail = [answered](const std::string& why) {
    answered->set_value(Error{Errc::cluster_unreachable, why});
  };
  self->set_down_handler([self, fail, name](const caf::down_msg& /*down*/) {
    fail("the connection to " + name + " was lost");
    self->quit();
  });
  self->monitor(whom);
  self->request(whom, timeout, message)
      .then(
          [self, whom, answered](Answer& answer) {
            self->demonitor(whom.address());
            answered->set_value(std::move(answer));
          },
          [self, whom, fail, name, timeout](const caf::error& error) {
            self->demonitor(whom.address());
            if (error == caf::sec::request_timeout) {
              fail(name + " has not answered for " + std::to_string(timeout.count() / 1000) +
                   " s: it may be stopped or overloaded");
            } else {
              fail(name + " does not answer: " + self->system().render(error));
            }
          });
}

}  // namespace blocking_request_detail

// `name` says in errors who was asked. Unlike with CAF's own blocking request, the whole timeout is not waited for if the
// connection is lost meanwhile. Errc::cluster_unreachable.
template <class Answer, class Handle, class Message>
[[nodiscard]] Result<Answer> ask_and_wait(caf::actor_system& system, const Handle& whom,
                                          const std::string& name,
                                          std::chrono::milliseconds timeout, Message message) {
  if (!whom)  // as handles arrive of actors that have ended meanwhile
    return Error{Errc::cluster_unreachable, "the connection to " + name + " was lost"};
  const auto answered = std::make_shared<std::promise<Result<Answer>>>();
  auto future = answered->get_future();
  system.spawn(blocking_request_detail::asker<Answer, Handle, Message>, whom, name, timeout,
               std::move(message), answered);
  return future.get();
}

}  // namespace weir
