// The data plane of a simulated cluster: frames become messages of the receiving tasks at once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "net/data_plane.h"

namespace weir {

// What the planes of one simulation share. One thread.
struct SimNetwork {
  using Address = std::tuple<JobId, AttemptId, HostIndex>;
  std::map<Address, DataReceiver*> receivers;
};

class SimDataPlane final : public DataPlane {
 public:
  SimDataPlane(std::shared_ptr<SimNetwork> network, JobId job, AttemptId attempt, HostIndex host,
               DataReceiver& receiver)
      : network_(std::move(network)), job_(job), attempt_(attempt), host_(host) {
    network_->receivers[{job_, attempt_, host_}] = &receiver;
  }
  ~SimDataPlane() override { network_->receivers.erase({job_, attempt_, host_}); }
  SimDataPlane(const SimDataPlane&) = delete;
  SimDataPlane& operator=(const SimDataPlane&) = delete;

  void connect(const std::map<HostIndex, Endpoint>& /*peers*/) override {}
  Result<void> send_element(HostIndex to, ElementFrame element) override {
    if (DataReceiver* receiver = at(to)) receiver->on_element(host_, std::move(element));
    return {};
  }
  void send_credit(HostIndex to, CreditFrame credit) override {
    if (DataReceiver* receiver = at(to)) receiver->on_credit(host_, credit);
  }
  [[nodiscard]] Bytes take_buffer() override { return {}; }
  void recycle(Bytes /*buffer*/) override {}
  void drop(HostIndex /*host*/) override {}
  void close() override {}
  [[nodiscard]] std::vector<LinkCounters> counters() const override { return {}; }

 private:
  [[nodiscard]] DataReceiver* at(HostIndex host) const {
    const auto found = network_->receivers.find({job_, attempt_, host});
    return found == network_->receivers.end() ? nullptr : found->second;
  }

  std::shared_ptr<SimNetwork> network_;
  JobId job_;
  AttemptId attempt_;
  HostIndex host_;
};

}  // namespace weir
