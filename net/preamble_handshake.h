// Connections that begin with the preamble: who comes in has shown it, and so has whom one calls.
//
// The caller speaks first. The one called answers only when it has accepted, because its preamble
// shows the cluster's token; a caller of another version or with another purpose is answered with
// a token of zeros, so that it can tell what is wrong, and one with another token not at all. Bytes
// after the preamble are left in the socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/file_descriptor.h"
#include "base/log.h"
#include "base/result.h"
#include "net/preamble.h"

namespace weir {

// How long a caller may take to say its preamble.
inline constexpr std::chrono::milliseconds preamble_timeout{5000};

// Connects to a listener and exchanges preambles; returns a non-blocking socket. Blocks, at most
// for `timeout` and looking up the name. Errc::timeout; Errc::bad_option if trying again cannot
// help, because the other end is no Weir peer or another version; else Errc::system. A listener
// that refuses a token does not say so, it closes: the message asks for the secret then.
[[nodiscard]] Result<FileDescriptor> dial(const std::string& host, std::uint16_t port,
                                          ConnectionPurpose purpose, const ClusterToken& token,
                                          std::chrono::milliseconds timeout);

// Accepts on a thread of its own. A stranger costs one warning, with its address and the reason,
// and what it sends is read up to the first wrong byte.
class PreambleListener {
 public:
  struct Settings {
    ConnectionPurpose purpose{};
    ClusterToken token = {};
    Logger logger = {};
    std::chrono::milliseconds timeout = preamble_timeout;
  };
  // Gets a non-blocking socket, on the listener's thread. Must neither block nor throw.
  using OnAccepted = std::function<void(FileDescriptor)>;

  // `socket` is a listening one, see listen_on.
  [[nodiscard]] static Result<std::unique_ptr<PreambleListener>> start(FileDescriptor socket,
                                                                       Settings settings,
                                                                       OnAccepted on_accepted);
  PreambleListener(const PreambleListener&) = delete;
  PreambleListener& operator=(const PreambleListener&) = delete;
  // Stops listening; closes the connections whose preamble is not complete.
  ~PreambleListener();

 private:
  class Impl;
  explicit PreambleListener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
