#include "net/frame.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#define XXH_INLINE_ALL  // NOLINT(readability-identifier-naming): xxHash's own switch
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "net/schemas/frame.capnp.h"

namespace weir {
namespace {

constexpr std::size_t word_bytes = sizeof(capnp::word);
constexpr std::size_t header_words_max = frame_header_bytes_max / word_bytes;
// A frame nests two deep, and nothing of it is read twice but to measure it.
constexpr capnp::ReaderOptions reader_options{.traversalLimitInWords = 4 * header_words_max,
                                              .nestingLimit = 4};

// Payloads up to this size are copied out of the common buffer, so that a read brings many of them.
constexpr std::size_t small_payload_bytes_max = 16 * 1024;
constexpr std::size_t buffer_bytes = 64 * 1024;
constexpr std::size_t stranger_buffer_bytes = 2 * 1024;
// What is read past the end of a large payload: the next header, and little of its payload, which
// would have to be copied.
constexpr std::size_t read_ahead_bytes = 4 * 1024;
// How much of a payload is allocated on the word of its prefix alone.
constexpr std::size_t trusted_bytes = 1024 * 1024;

static_assert(frame_prefix_bytes + frame_header_bytes_max <= stranger_buffer_bytes);
static_assert(frame_prefix_bytes + frame_header_bytes_max + small_payload_bytes_max <=
              buffer_bytes);
static_assert(refusal_chars_max + 32 <= frame_header_bytes_max);

// Of everything in a frame but itself: the two lengths, the header and the payload.
std::uint64_t checksum_of(std::span<const std::byte, 8> lengths, std::span<const std::byte> header,
                          std::span<const std::byte> payload) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, lengths.data(), lengths.size());
  XXH3_64bits_update(&state, header.data(), header.size());
  XXH3_64bits_update(&state, payload.data(), payload.size());
  return XXH3_64bits_digest(&state);
}

wire::Element::Kind kind_on_wire(ElementKind kind) {
  switch (kind) {
    case ElementKind::batch:
      return wire::Element::Kind::BATCH;
    case ElementKind::watermark:
      return wire::Element::Kind::WATERMARK;
    case ElementKind::watermark_status:
      return wire::Element::Kind::WATERMARK_STATUS;
    case ElementKind::end_of_input:
      return wire::Element::Kind::END_OF_INPUT;
    case ElementKind::barrier:
      return wire::Element::Kind::BARRIER;
    case ElementKind::loop_marker:
      return wire::Element::Kind::LOOP_MARKER;
  }
  WEIR_CHECK(false);
  return {};
}

std::optional<ElementKind> kind_from_wire(wire::Element::Kind kind) {
  switch (kind) {
    case wire::Element::Kind::BATCH:
      return ElementKind::batch;
    case wire::Element::Kind::WATERMARK:
      return ElementKind::watermark;
    case wire::Element::Kind::WATERMARK_STATUS:
      return ElementKind::watermark_status;
    case wire::Element::Kind::END_OF_INPUT:
      return ElementKind::end_of_input;
    case wire::Element::Kind::BARRIER:
      return ElementKind::barrier;
    case wire::Element::Kind::LOOP_MARKER:
      return ElementKind::loop_marker;
  }
  return std::nullopt;
}

void write_header(const Hello& hello, wire::Frame::Builder out) {
  auto header = out.initHello();
  header.setJob(hello.job.value);
  header.setAttempt(hello.attempt.value);
  header.setFromHost(hello.from_host.value);
  header.setToHost(hello.to_host.value);
}

void write_header(const Welcome&, wire::Frame::Builder out) {
  out.setWelcome();
}

void write_header(const Refused& refused, wire::Frame::Builder out) {
  const std::size_t size = std::min(refused.reason.size(), refusal_chars_max);
  auto text = out.initRefused(static_cast<unsigned>(size));
  if (size > 0) std::memcpy(text.begin(), refused.reason.data(), size);
}

void write_header(const ElementFrame& element, wire::Frame::Builder out) {
  WEIR_CHECK(element.payload.empty() || element.kind == ElementKind::batch);
  auto header = out.initElement();
  header.setKind(kind_on_wire(element.kind));
  header.setVertex(element.vertex.value);
  header.setSubtask(element.subtask.value);
  header.setChannel(element.channel.value);
  header.setTimeMs(element.time_ms);
  header.setIdle(element.idle);
  header.setChargedBytes(element.charged_bytes);
  header.setCheckpoint(element.checkpoint.value);
  header.setActive(element.active);
}

void write_header(const CreditFrame& credit, wire::Frame::Builder out) {
  auto header = out.initCredit();
  header.setVertex(credit.vertex.value);
  header.setSubtask(credit.subtask.value);
  header.setExchange(credit.exchange);
  header.setLane(credit.lane);
  header.setBytes(credit.bytes);
}

void write_header(const Goodbye&, wire::Frame::Builder out) {
  out.setGoodbye();
}

Hello read_header(wire::Hello::Reader in) {
  return {.job = {in.getJob()},
          .attempt = {in.getAttempt()},
          .from_host = {in.getFromHost()},
          .to_host = {in.getToHost()}};
}

// The peer's text ends up in our log: one line of it.
Refused read_header(capnp::Text::Reader in) {
  Refused refused{std::string(in.begin(), std::min(in.size(), refusal_chars_max))};
  std::replace_if(
      refused.reason.begin(), refused.reason.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
  return refused;
}

CreditFrame read_header(wire::Credit::Reader in) {
  return {.vertex = {in.getVertex()},
          .subtask = {in.getSubtask()},
          .exchange = in.getExchange(),
          .lane = in.getLane(),
          .bytes = in.getBytes()};
}

Error damage(std::string message) {
  return {Errc::corrupt_data, std::move(message)};
}

Result<Frame> read_element(wire::Element::Reader in, Bytes payload) {
  const auto kind = kind_from_wire(in.getKind());
  if (!kind) return damage("a frame holds an element of an unknown kind");
  if (*kind != ElementKind::batch && !payload.empty()) {
    return damage("a frame has a payload, but its element is no batch");
  }
  return Frame(ElementFrame{.vertex = {in.getVertex()},
                            .subtask = {in.getSubtask()},
                            .channel = {in.getChannel()},
                            .kind = *kind,
                            .time_ms = in.getTimeMs(),
                            .idle = in.getIdle(),
                            .checkpoint = {in.getCheckpoint()},
                            .active = in.getActive(),
                            .charged_bytes = in.getChargedBytes(),
                            .payload = std::move(payload)});
}

Result<Frame> read_frame(wire::Frame::Reader in, Bytes payload) {
  if (in.which() == wire::Frame::ELEMENT) return read_element(in.getElement(), std::move(payload));
  if (!payload.empty()) return damage("a frame has a payload, but is no element");
  switch (in.which()) {
    case wire::Frame::HELLO:
      return Frame(read_header(in.getHello()));
    case wire::Frame::WELCOME:
      return Frame(Welcome{});
    case wire::Frame::REFUSED:
      return Frame(read_header(in.getRefused()));
    case wire::Frame::CREDIT:
      return Frame(read_header(in.getCredit()));
    case wire::Frame::GOODBYE:
      return Frame(Goodbye{});
    case wire::Frame::ELEMENT:
      break;
  }
  return damage("a frame is of an unknown kind");
}

// Requires whole words, at most header_words_max.
Result<Frame> decode_header(std::span<const std::byte> header, Bytes payload) {
  std::array<capnp::word, header_words_max> words;  // the stream's bytes need not be aligned
  std::memcpy(words.data(), header.data(), header.size());
  const std::size_t word_count = header.size() / word_bytes;
  const kj::ArrayPtr<const capnp::word> segment(words.data(), word_count);
  try {
    capnp::SegmentArrayMessageReader message(kj::arrayPtr(&segment, 1), reader_options);
    const auto frame = message.getRoot<wire::Frame>();
    constexpr std::size_t root_pointer_words = 1;
    if (frame.totalSize().wordCount + root_pointer_words != word_count) {
      return damage("a frame's header has bytes that belong to nothing");
    }
    return read_frame(frame, std::move(payload));
  } catch (const kj::Exception& e) {
    return damage("a frame's header is malformed: " + std::string(e.getDescription().cStr()));
  }
}

}  // namespace

std::string_view describe(const Frame& frame) {
  constexpr std::array<std::string_view, std::variant_size_v<Frame>> names{
      "hello", "welcome", "a refusal", "an element", "credit", "goodbye"};
  return names[frame.index()];
}

Result<EncodedFrame> encode_frame(Frame frame) {
  EncodedFrame encoded;
  std::array<capnp::word, header_words_max> scratch{};
  capnp::MallocMessageBuilder message(kj::arrayPtr(scratch.data(), scratch.size()));
  std::visit([&](const auto& f) { write_header(f, message.initRoot<wire::Frame>()); }, frame);
  if (auto* element = std::get_if<ElementFrame>(&frame)) {
    encoded.payload = std::move(element->payload);
  }
  if (encoded.payload.size() > frame_payload_bytes_max) {
    return Error{Errc::too_large, "a batch of " + std::to_string(encoded.payload.size()) +
                                      " bytes is more than one frame carries, " +
                                      std::to_string(frame_payload_bytes_max) +
                                      ": make its records smaller"};
  }
  const auto segments = message.getSegmentsForOutput();
  WEIR_CHECK(segments.size() == 1);
  const auto header = std::as_bytes(std::span(segments[0].begin(), segments[0].size()));

  const auto header_bytes = static_cast<std::uint32_t>(header.size());
  const auto payload_bytes = static_cast<std::uint32_t>(encoded.payload.size());
  encoded.head.resize(frame_prefix_bytes + header.size());
  std::byte* head = encoded.head.data();
  std::memcpy(head, &header_bytes, 4);
  std::memcpy(head + 4, &payload_bytes, 4);
  const std::uint64_t checksum =
      checksum_of(std::span<const std::byte, 8>(head, 8), header, encoded.payload);
  std::memcpy(head + 8, &checksum, 8);
  std::memcpy(head + frame_prefix_bytes, header.data(), header.size());
  return encoded;
}

FrameDecoder::FrameDecoder(std::size_t payload_bytes_max, BufferPool* pool) : pool_(pool) {
  set_payload_limit(payload_bytes_max);
}

void FrameDecoder::set_payload_limit(std::size_t payload_bytes_max) {
  WEIR_CHECK(payload_bytes_max <= frame_payload_bytes_max);
  payload_bytes_max_ = payload_bytes_max;
  const std::size_t size = payload_bytes_max == 0 ? stranger_buffer_bytes : buffer_bytes;
  if (buffer_.size() < size) buffer_.resize(size);
}

std::array<std::span<std::byte>, 2> FrameDecoder::space() {
  if (in_large_payload()) {
    WEIR_CHECK(buffered() == 0);
    const bool has_room_for_all = large_payload_.size() == large_prefix_->payload_bytes;
    return {std::span(large_payload_).subspan(large_received_),
            std::span(buffer_).first(has_room_for_all ? read_ahead_bytes : 0)};
  }
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, buffered());
    end_ = buffered();
    begin_ = 0;
  }
  const std::size_t room = buffer_.size() - end_;
  WEIR_CHECK(room > 0);
  const std::size_t wanted = last_was_large_ ? std::min(room, read_ahead_bytes) : room;
  return {std::span(buffer_).subspan(end_, wanted), {}};
}

void FrameDecoder::received(std::size_t bytes) {
  if (in_large_payload()) {
    const std::size_t into_payload = std::min(bytes, large_payload_.size() - large_received_);
    large_received_ += into_payload;
    bytes -= into_payload;
    begin_ = 0;
    end_ = 0;
    if (large_received_ == large_payload_.size()) grow_large_payload();
  }
  WEIR_CHECK(bytes <= buffer_.size() - end_);
  end_ += bytes;
}

Result<std::optional<Frame>> FrameDecoder::next() {
  if (failure_) return *failure_;
  if (in_large_payload()) {
    if (large_received_ < large_prefix_->payload_bytes) return std::optional<Frame>{};
    const Prefix prefix = *std::exchange(large_prefix_, std::nullopt);
    last_was_large_ = true;
    return finish(prefix, large_header_, std::exchange(large_payload_, {}));
  }
  if (buffered() < frame_prefix_bytes) return std::optional<Frame>{};
  const std::byte* at = buffer_.data() + begin_;
  Prefix prefix;
  std::memcpy(&prefix.header_bytes, at, 4);
  std::memcpy(&prefix.payload_bytes, at + 4, 4);
  std::memcpy(&prefix.checksum, at + 8, 8);
  if (prefix.header_bytes == 0 || prefix.header_bytes > frame_header_bytes_max ||
      prefix.header_bytes % word_bytes != 0) {
    return fail("a frame claims a header of " + std::to_string(prefix.header_bytes) +
                " bytes; it has 8 to " + std::to_string(frame_header_bytes_max) +
                ", in words of 8");
  }
  if (prefix.payload_bytes > payload_bytes_max_) {
    return fail("a frame claims a payload of " + std::to_string(prefix.payload_bytes) +
                " bytes; at most " + std::to_string(payload_bytes_max_) + " are allowed here");
  }
  const std::size_t head_bytes = frame_prefix_bytes + prefix.header_bytes;
  if (buffered() < head_bytes) return std::optional<Frame>{};
  const std::span<const std::byte> header(at + frame_prefix_bytes, prefix.header_bytes);
  if (buffered() >= head_bytes + prefix.payload_bytes) {
    begin_ += head_bytes + prefix.payload_bytes;
    last_was_large_ = false;
    const std::byte* payload = at + head_bytes;
    return finish(prefix, header, Bytes(payload, payload + prefix.payload_bytes));
  }
  if (prefix.payload_bytes > small_payload_bytes_max) start_large_payload(prefix);
  return std::optional<Frame>{};
}

bool FrameDecoder::between_frames() const {
  return !in_large_payload() && buffered() == 0;
}

std::size_t FrameDecoder::capacity_bytes() const {
  return buffer_.capacity() + large_payload_.capacity();
}

// Takes over what the buffer has of it, which is not the whole.
void FrameDecoder::start_large_payload(const Prefix& prefix) {
  const std::byte* header = buffer_.data() + begin_ + frame_prefix_bytes;
  large_prefix_ = prefix;
  large_header_.assign(header, header + prefix.header_bytes);
  begin_ += frame_prefix_bytes + prefix.header_bytes;
  large_received_ = buffered();
  const std::size_t size =
      std::min<std::size_t>(prefix.payload_bytes, std::max(trusted_bytes, 2 * large_received_));
  if (pool_ != nullptr) large_payload_ = pool_->take(size);
  large_payload_.resize(size);
  std::memcpy(large_payload_.data(), buffer_.data() + begin_, large_received_);
  begin_ = 0;
  end_ = 0;
}

void FrameDecoder::grow_large_payload() {
  large_payload_.resize(
      std::min<std::size_t>(large_prefix_->payload_bytes, 2 * large_payload_.size()));
}

Result<std::optional<Frame>> FrameDecoder::fail(std::string message) {
  failure_ = damage(std::move(message));
  return *failure_;
}

Result<std::optional<Frame>> FrameDecoder::finish(const Prefix& prefix,
                                                  std::span<const std::byte> header,
                                                  Bytes payload) {
  std::array<std::byte, 8> lengths;
  std::memcpy(lengths.data(), &prefix.header_bytes, 4);
  std::memcpy(lengths.data() + 4, &prefix.payload_bytes, 4);
  if (checksum_of(lengths, header, payload) != prefix.checksum) {
    return fail("a frame's checksum does not match its content");
  }
  Result<Frame> frame = decode_header(header, std::move(payload));
  if (!frame) {
    failure_ = frame.error();
    return *failure_;
  }
  return std::optional<Frame>(std::move(*frame));
}

}  // namespace weir
