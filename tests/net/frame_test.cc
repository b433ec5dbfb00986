#include "net/frame.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <vector>

#define XXH_INLINE_ALL  // NOLINT(readability-identifier-naming): xxHash's own switch
#include <xxhash.h>

#include "base/clock.h"
#include "base/random.h"
#include "net/preamble.h"
#include "tests/support/fuzz.h"
#include "tests/support/hex_block.h"

namespace weir {
namespace {

Bytes bytes_of(std::size_t size, std::uint64_t seed = 1) {
  Random random(seed);
  Bytes bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

ElementFrame batch_of(std::size_t payload_bytes) {
  return {.vertex = {1},
          .subtask = {2},
          .channel = {3},
          .kind = ElementKind::batch,
          .charged_bytes = 4096,
          .payload = bytes_of(payload_bytes)};
}

std::vector<Frame> one_of_each() {
  return {Hello{.job = {0x1234567890abcdef}, .attempt = {7}, .from_host = {1}, .to_host = {2}},
          Welcome{},
          Refused{"attempt 3 is over"},
          batch_of(100),
          ElementFrame{.vertex = {9}, .kind = ElementKind::watermark, .time_ms = -5},
          ElementFrame{.kind = ElementKind::watermark_status, .idle = true},
          ElementFrame{.channel = {0xffffffff}, .kind = ElementKind::end_of_input},
          ElementFrame{.kind = ElementKind::loop_marker, .active = true},
          ElementFrame{.kind = ElementKind::loop_marker, .checkpoint = {3}},
          ElementFrame{.kind = ElementKind::barrier, .checkpoint = {12}},
          CreditFrame{.vertex = {4}, .subtask = {5}, .exchange = 6, .lane = 7, .bytes = 1ULL << 40},
          Goodbye{}};
}

Bytes on_wire(const Frame& frame) {
  EncodedFrame encoded = *encode_frame(frame);
  encoded.head.insert(encoded.head.end(), encoded.payload.begin(), encoded.payload.end());
  return encoded.head;
}

// Feeds at most `at_once` bytes a read. The frames, and the failure that ended them, if any.
struct Decoded {
  std::vector<Frame> frames;
  std::optional<Error> failure;
};
Decoded decode(FrameDecoder& decoder, std::span<const std::byte> stream,
               const std::function<std::size_t()>& at_once) {
  Decoded decoded;
  while (!stream.empty()) {
    std::size_t left = std::min(at_once(), stream.size());
    std::size_t filled = 0;
    for (const std::span<std::byte> space : decoder.space()) {
      const std::size_t part = std::min(left - filled, space.size());
      if (part > 0) std::memcpy(space.data(), stream.data() + filled, part);
      filled += part;
    }
    EXPECT_GT(filled, 0U);
    decoder.received(filled);
    stream = stream.subspan(filled);
    while (true) {
      auto next = decoder.next();
      if (!next) {
        decoded.failure = next.error();
        return decoded;
      }
      if (!*next) break;
      decoded.frames.push_back(std::move(**next));
    }
  }
  return decoded;
}
Decoded decode(std::span<const std::byte> stream, std::size_t at_once = SIZE_MAX) {
  FrameDecoder decoder;
  return decode(decoder, stream, [&] { return at_once; });
}

// A frame made by hand: what encode_frame would not make, under a checksum that is right.
Bytes sealed(std::span<const std::byte> header, std::span<const std::byte> payload) {
  const auto header_bytes = static_cast<std::uint32_t>(header.size());
  const auto payload_bytes = static_cast<std::uint32_t>(payload.size());
  Bytes frame;
  ByteWriter(frame).scalar(header_bytes);
  ByteWriter(frame).scalar(payload_bytes);
  Bytes summed = frame;
  summed.insert(summed.end(), header.begin(), header.end());
  summed.insert(summed.end(), payload.begin(), payload.end());
  ByteWriter(frame).scalar<std::uint64_t>(XXH3_64bits(summed.data(), summed.size()));
  ByteWriter(frame).bytes(header);
  ByteWriter(frame).bytes(payload);
  return frame;
}

std::string failure_of(std::span<const std::byte> stream) {
  const Decoded decoded = decode(stream);
  EXPECT_TRUE(decoded.failure);
  EXPECT_TRUE(decoded.frames.empty());
  if (!decoded.failure) return {};
  EXPECT_EQ(decoded.failure->code, Errc::corrupt_data);
  return decoded.failure->message;
}

Bytes header_of(const Frame& frame) {
  const EncodedFrame encoded = *encode_frame(frame);
  return Bytes(encoded.head.begin() + frame_prefix_bytes, encoded.head.end());
}

TEST(Frame, of_each_kind_comes_back_as_it_was_sent) {
  for (const Frame& frame : one_of_each()) {
    const Decoded decoded = decode(on_wire(frame));
    ASSERT_EQ(decoded.frames.size(), 1U) << describe(frame);
    EXPECT_EQ(decoded.frames[0], frame) << describe(frame);
  }
}

TEST(Frame, comes_back_from_any_cut_in_two) {
  for (const Frame& frame : one_of_each()) {
    const Bytes wire = on_wire(frame);
    for (std::size_t cut = 1; cut < wire.size(); ++cut) {
      FrameDecoder decoder;
      std::size_t reads = 0;
      const auto decoded = decode(decoder, wire, [&] { return ++reads == 1 ? cut : wire.size(); });
      ASSERT_EQ(decoded.frames, std::vector<Frame>{frame}) << describe(frame) << " cut at " << cut;
    }
  }
}

TEST(Frame, comes_back_from_single_bytes) {
  for (const std::size_t size : {0UL, 1UL, 16'384UL, 16'385UL, 100'000UL}) {
    const Frame frame = batch_of(size);
    EXPECT_EQ(decode(on_wire(frame), 1).frames, std::vector<Frame>{frame}) << size;
  }
}

TEST(Frame, many_come_out_of_one_read_and_any_other) {
  std::vector<Frame> frames;
  Bytes wire;
  for (const std::size_t size :
       {0UL, 300UL, 70'000UL, 16'000UL, 16'385UL, 2UL, 3'000'000UL, 262'144UL, 65'536UL}) {
    for (Frame frame : one_of_each()) {
      const Bytes bytes = on_wire(frame);
      wire.insert(wire.end(), bytes.begin(), bytes.end());
      frames.push_back(std::move(frame));
    }
    frames.emplace_back(batch_of(size));
    const Bytes bytes = on_wire(frames.back());
    wire.insert(wire.end(), bytes.begin(), bytes.end());
  }
  for (const std::size_t at_once : {std::size_t{777}, std::size_t{65'537}, SIZE_MAX}) {
    const Decoded decoded = decode(wire, at_once);
    ASSERT_FALSE(decoded.failure) << decoded.failure->message;
    EXPECT_TRUE(decoded.frames == frames) << at_once;
  }
}

TEST(Frame, a_stream_may_end_between_frames_only) {
  FrameDecoder decoder;
  EXPECT_TRUE(decoder.between_frames());
  const Bytes wire = on_wire(batch_of(50'000));
  const auto all = [] { return SIZE_MAX; };
  (void)decode(decoder, std::span(wire).first(1), all);
  EXPECT_FALSE(decoder.between_frames());
  (void)decode(decoder, std::span(wire).subspan(1, 40'000), all);
  EXPECT_FALSE(decoder.between_frames());
  (void)decode(decoder, std::span(wire).subspan(40'001), all);
  EXPECT_TRUE(decoder.between_frames());
}

TEST(Frame, a_flipped_bit_is_never_a_frame) {
  for (const Frame& frame : one_of_each()) {
    const Bytes good = on_wire(frame);
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
      Bytes bad = good;
      bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      const Decoded decoded = decode(bad);
      EXPECT_TRUE(decoded.frames.empty()) << describe(frame) << " bit " << bit;
      // A longer length makes the decoder wait for bytes that never come; all else is noticed.
      EXPECT_TRUE(decoded.failure || bit < 64) << describe(frame) << " bit " << bit;
    }
  }
}

TEST(Frame, over_long_lengths_are_refused_before_anything_is_allocated) {
  for (const auto& [header_bytes, payload_bytes] :
       {std::pair{0xffffffffU, 0U},
        {1032U, 0U},
        {0U, 0U},
        {12U, 0U},
        {8U, static_cast<unsigned>(frame_payload_bytes_max) + 1},
        {8U, 0xffffffffU}}) {
    Bytes wire;
    ByteWriter(wire).scalar(header_bytes);
    ByteWriter(wire).scalar(payload_bytes);
    ByteWriter(wire).scalar<std::uint64_t>(0);
    FrameDecoder decoder;
    const std::size_t before = decoder.capacity_bytes();
    const Decoded decoded = decode(decoder, wire, [] { return SIZE_MAX; });
    ASSERT_TRUE(decoded.failure);
    EXPECT_NE(decoded.failure->message.find("claims"), std::string::npos);
    EXPECT_EQ(decoder.capacity_bytes(), before);
  }
}

TEST(Frame, a_claimed_payload_is_allocated_as_it_comes) {
  const Bytes wire = on_wire(batch_of(20'000'000));
  FrameDecoder decoder;
  std::size_t fed = 0;
  for (const std::size_t until : {100UL, 500'000UL, 3'000'000UL}) {
    (void)decode(decoder, std::span(wire).subspan(fed, until - fed), [] { return SIZE_MAX; });
    fed = until;
    EXPECT_LE(decoder.capacity_bytes(), 2 * until + 1'200'000);
  }
  EXPECT_EQ(decode(decoder, std::span(wire).subspan(fed), [] { return SIZE_MAX; }).frames.size(),
            1U);
}

TEST(Frame, a_stranger_may_send_no_payload_and_costs_little) {
  FrameDecoder decoder(0);
  EXPECT_LE(decoder.capacity_bytes(), 4096U);
  const Bytes hello = on_wire(one_of_each()[0]);
  const auto all = [] { return SIZE_MAX; };
  EXPECT_EQ(decode(decoder, hello, all).frames.size(), 1U);
  decoder.set_payload_limit(1000);
  EXPECT_EQ(decode(decoder, on_wire(batch_of(1000)), all).frames.size(), 1U);
  EXPECT_TRUE(decode(decoder, on_wire(batch_of(1001)), all).failure);
}

TEST(Frame, a_failure_is_final) {
  FrameDecoder decoder;
  Bytes bad = on_wire(Welcome{});
  bad.back() ^= std::byte{1};
  ASSERT_TRUE(decode(decoder, bad, [] { return SIZE_MAX; }).failure);
  EXPECT_FALSE(decoder.next());
  EXPECT_FALSE(decoder.next());
}

TEST(Frame, a_checksum_does_not_save_a_header_that_makes_no_sense) {
  const Bytes payload = bytes_of(8);
  EXPECT_EQ(failure_of(sealed(header_of(Welcome{}), payload)),
            "a frame has a payload, but is no element");
  EXPECT_EQ(failure_of(sealed(header_of(ElementFrame{.kind = ElementKind::watermark}), payload)),
            "a frame has a payload, but its element is no batch");

  Bytes trailing = header_of(CreditFrame{});
  trailing.resize(trailing.size() + 8);
  EXPECT_EQ(failure_of(sealed(trailing, {})), "a frame's header has bytes that belong to nothing");

  Bytes cut = header_of(CreditFrame{});
  cut.resize(cut.size() - 8);
  EXPECT_NE(failure_of(sealed(cut, {})).find("malformed"), std::string::npos);

  // The union's tag lies at the beginning of the struct, behind the root pointer.
  Bytes unknown = header_of(Welcome{});
  unknown[8] = std::byte{99};
  EXPECT_EQ(failure_of(sealed(unknown, {})), "a frame is of an unknown kind");

  // The kind lies at the beginning of the element, behind the frame's word and its pointer.
  Bytes kind = header_of(ElementFrame{});
  kind[24] = std::byte{99};
  EXPECT_EQ(failure_of(sealed(kind, {})), "a frame holds an element of an unknown kind");

  // Pointers that lead out of the segment, or round in circles.
  for (const unsigned offset : {0x7fffffffU, 0x3ffffffcU, 0xfffffffcU}) {
    Bytes pointer = header_of(CreditFrame{});
    std::memcpy(pointer.data(), &offset, 4);
    EXPECT_FALSE(failure_of(sealed(pointer, {})).empty());
  }
}

TEST(Frame, a_refusal_is_one_line_of_bounded_length) {
  const auto decoded = decode(on_wire(Refused{"two\nlines\x7f"}));
  EXPECT_EQ(std::get<Refused>(decoded.frames.at(0)).reason, "two?lines?");
  const auto cut = decode(on_wire(Refused{std::string(5000, 'x')}));
  EXPECT_EQ(std::get<Refused>(cut.frames.at(0)).reason, std::string(refusal_chars_max, 'x'));
}

TEST(Frame, a_batch_larger_than_a_frame_is_refused) {
  const auto encoded = encode_frame(
      ElementFrame{.kind = ElementKind::batch, .payload = Bytes(frame_payload_bytes_max + 1)});
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().code, Errc::too_large);
}

TEST(Frame, a_payload_is_moved_and_not_copied) {
  ElementFrame element = batch_of(1000);
  const std::byte* data = element.payload.data();
  EXPECT_EQ(encode_frame(std::move(element))->payload.data(), data);
}

// The examples of net/PROTOCOL.md, as its indented blocks have them.
TEST(Frame, the_documented_examples_are_what_is_sent) {
  std::ifstream file(WEIR_SOURCE_DIR "/net/PROTOCOL.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  const auto expect_documented = [&](std::span<const std::byte> wire) {
    EXPECT_NE(document.find(hex_block(wire)), std::string::npos) << "not in PROTOCOL.md:\n"
                                                                 << hex_block(wire);
  };
  expect_documented(
      make_preamble(ConnectionPurpose::data, *token_of_secret("correct horse battery staple")));
  expect_documented(on_wire(
      Hello{.job = {0x0102030405060708}, .attempt = {1}, .from_host = {0}, .to_host = {1}}));
  expect_documented(
      on_wire(ElementFrame{.vertex = {2},
                           .subtask = {1},
                           .channel = {3},
                           .kind = ElementKind::batch,
                           .charged_bytes = 4096,
                           .payload = {std::byte{0xca}, std::byte{0xfe}, std::byte{0x01}}}));
}

// Headers damaged under a right checksum reach what is behind it; damage to the whole stream reaches the rest. Neither
// may crash, throw, or allocate out of proportion.
TEST(FrameFuzz, damaged_streams_end_in_an_error_or_in_frames) {
  const std::uint64_t seed = fuzz_seed();
  Random random(seed);
  const std::vector<Frame> frames = one_of_each();
  const MonotonicTime end = system_clock().now() + fuzz_time();
  std::uint64_t runs = 0;
  std::uint64_t accepted = 0;
  while (system_clock().now() < end) {
    for (int round = 0; round < 1000; ++round, ++runs) {
      Bytes stream;
      const std::uint64_t count = 1 + random.below(4);
      for (std::uint64_t i = 0; i < count; ++i) {
        Bytes header = header_of(frames[random.below(frames.size())]);
        if (random.below(2) == 0) damage_somewhere(header, random);
        if (random.below(8) == 0) header.resize(8 * random.below(130));
        const Bytes payload = bytes_of(random.below(3) == 0 ? random.below(40'000) : 0, random());
        const Bytes frame = sealed(header, payload);
        stream.insert(stream.end(), frame.begin(), frame.end());
      }
      if (random.below(2) == 0) damage_somewhere(stream, random);
      if (random.below(4) == 0) stream.resize(random.below(stream.size() + 1));
      FrameDecoder decoder;
      const auto decoded =
          decode(decoder, stream, [&] { return 1 + random.below(1 + random.below(80'000)); });
      accepted += decoded.frames.size();
      ASSERT_LE(decoded.frames.size(), count) << "seed " << seed << " run " << runs;
      ASSERT_LE(decoder.capacity_bytes(), 1'200'000U) << "seed " << seed << " run " << runs;
    }
  }
  std::cout << runs << " streams, " << accepted << " frames accepted\n";
  EXPECT_GT(accepted, 0U);
}

}  // namespace
}  // namespace weir
