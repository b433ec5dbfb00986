// What is said on a data connection after the preamble, and its bytes. PROTOCOL.md has the format.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "net/buffer_pool.h"

namespace weir {

// The dialer's first frame: who it is, and whom it means to have dialed.
struct Hello {
  JobId job{};
  AttemptId attempt{};
  HostIndex from_host{};
  HostIndex to_host{};
  friend bool operator==(const Hello&, const Hello&) = default;
};

// The acceptor's answer: elements may come.
struct Welcome {
  friend bool operator==(const Welcome&, const Welcome&) = default;
};

// The acceptor's other answer, after which it closes. The reason is for people, and cut at refusal_chars_max.
struct Refused {
  std::string reason;
  friend bool operator==(const Refused&, const Refused&) = default;
};

enum class ElementKind : std::uint8_t {
  batch,
  watermark,
  watermark_status,
  end_of_input,
  barrier,
  loop_marker
};

// An element of a channel, on its way to the consuming task.
struct ElementFrame {
  VertexId vertex{};  // with subtask: the consuming task
  SubtaskIndex subtask{};
  ChannelIndex channel{};  // the consumer's end
  ElementKind kind = ElementKind::batch;
  std::int64_t time_ms = 0;         // of a watermark
  bool idle = false;                // of a watermark status
  CheckpointId checkpoint{};        // of a barrier or a loop marker
  bool active = false;              // of a loop marker
  std::uint64_t charged_bytes = 0;  // credit that it was sent under
  Bytes payload{};                  // the encoded batch; empty for the other kinds
  friend bool operator==(const ElementFrame&, const ElementFrame&) = default;
};

// Credit on its way back to the producing task.
struct CreditFrame {
  VertexId vertex{};  // with subtask: the producing task
  SubtaskIndex subtask{};
  std::uint32_t exchange = 0;  // position among the outputs of that task
  std::uint32_t lane = 0;      // position among the channels of that exchange
  std::uint64_t bytes = 0;
  friend bool operator==(const CreditFrame&, const CreditFrame&) = default;
};

// The speaker closes in order: nothing of its direction is missing.
struct Goodbye {
  friend bool operator==(const Goodbye&, const Goodbye&) = default;
};

using Frame = std::variant<Hello, Welcome, Refused, ElementFrame, CreditFrame, Goodbye>;

// "an element", "credit" …, for messages.
[[nodiscard]] std::string_view describe(const Frame& frame);

//   u32 header bytes    u32 payload bytes    u64 checksum        little-endian; then the header, then the payload
inline constexpr std::size_t frame_prefix_bytes = 16;
// Far more than any header has, so that a damaged length is noticed before much is read.
inline constexpr std::size_t frame_header_bytes_max = 1024;
// A batch is about 256 KB; this is for one record that is larger than a batch.
inline constexpr std::size_t frame_payload_bytes_max = 128 * 1024 * 1024;
inline constexpr std::size_t refusal_chars_max = 500;

// A frame as it is sent: prefix and header, then the payload, which is never copied.
struct EncodedFrame {
  Bytes head;
  Bytes payload;
};

// Errc::too_large if the payload exceeds frame_payload_bytes_max. Requires that only a batch has a payload. Thread-safe.
[[nodiscard]] Result<EncodedFrame> encode_frame(Frame frame);

// Finds the frames in a stream of bytes that may be damaged or hostile: says where the next bytes
// go, is told how many have come, and yields the frames that are complete. Bounds are checked
// before anything is allocated, and what is allocated is in proportion to what has come. Payloads
// of more than a few KB are read straight into the buffer that the frame then owns.
//
// The first failure is final. Not thread-safe. Knows no socket.
class FrameDecoder {
 public:
  // Payloads larger than the limit are refused as damage. Large ones come in buffers of the pool, if
  // there is one; it outlives the decoder.
  explicit FrameDecoder(std::size_t payload_bytes_max = frame_payload_bytes_max,
                        BufferPool* pool = nullptr);

  // For a connection whose peer was a stranger until now. Requires that it is not above
  // frame_payload_bytes_max.
  void set_payload_limit(std::size_t payload_bytes_max);

  // Where the next bytes of the stream go, in this order; the second may be empty. Valid until the
  // next call of received(). Requires that next() has been called until it yielded nothing.
  [[nodiscard]] std::array<std::span<std::byte>, 2> space();
  // So many bytes have been put there. Requires that they fit.
  void received(std::size_t bytes);
  // The next complete frame, nothing if more bytes are needed, or Errc::corrupt_data with what is
  // wrong with the stream.
  [[nodiscard]] Result<std::optional<Frame>> next();

  // Whether the stream may end here: no part of a frame is waiting for its rest.
  [[nodiscard]] bool between_frames() const;
  // Memory that is held for bytes to come.
  [[nodiscard]] std::size_t capacity_bytes() const;

 private:
  struct Prefix {
    std::uint32_t header_bytes = 0;
    std::uint32_t payload_bytes = 0;
    std::uint64_t checksum = 0;
  };
  [[nodiscard]] std::size_t buffered() const { return end_ - begin_; }
  [[nodiscard]] bool in_large_payload() const { return large_prefix_.has_value(); }
  void start_large_payload(const Prefix& prefix);
  void grow_large_payload();
  Result<std::optional<Frame>> fail(std::string message);
  Result<std::optional<Frame>> finish(const Prefix& prefix, std::span<const std::byte> header,
                                      Bytes payload);

  std::size_t payload_bytes_max_;
  BufferPool* pool_;
  std::optional<Error> failure_;

  // Prefixes, headers and small payloads: [begin_, end_) has come and is not yet decoded.
  Bytes buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;

  // A large payload under way: its frame's prefix and header, and how much of it has come.
  std::optional<Prefix> large_prefix_;
  Bytes large_header_;
  Bytes large_payload_;
  std::size_t large_received_ = 0;
  bool last_was_large_ = false;
};

}  // namespace weir
