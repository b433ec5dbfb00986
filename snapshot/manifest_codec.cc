// The bytes of _metadata: a header of our own, then a Cap'n Proto message (schemas/manifest.capnp).
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "snapshot/checksum.h"
#include "snapshot/manifest.h"
#include "snapshot/schemas/manifest.capnp.h"

namespace weir {
namespace {

namespace wire = manifest_wire;

constexpr std::string_view magic = "WEIRCHKP";
//   magic    u32 version    u32 zero    u64 bytes of the body    u64 checksum; the checksum is of what is before and behind it
constexpr std::size_t header_bytes = 32;
constexpr std::size_t checked_header_bytes = 24;

// A manifest nests seven deep, and nothing of it is read twice.
constexpr int nesting_max = 16;

unsigned count_of(std::size_t size) {
  WEIR_CHECK(size <= std::numeric_limits<unsigned>::max());
  return static_cast<unsigned>(size);
}

capnp::Data::Reader data_of(const Bytes& bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}

// By length: names may contain zeros.
capnp::Text::Reader text_of(const std::string& text) {
  return {text.c_str(), text.size()};
}

Bytes bytes_of(capnp::Data::Reader data) {
  const auto* begin = reinterpret_cast<const std::byte*>(data.begin());
  return {begin, begin + data.size()};
}

std::string text_of(capnp::Text::Reader text) {
  return {text.cStr(), text.size()};
}

void build(const StateDescriptor& descriptor, wire::Descriptor::Builder to) {
  to.setName(text_of(descriptor.name));
  to.setKind(static_cast<std::uint8_t>(descriptor.kind));
  to.setSchema(text_of(descriptor.schema));
}

void build(const StateChunk& chunk, wire::Chunk::Builder to) {
  to.setOffset(chunk.offset);
  to.setSize(chunk.size);
  to.setChecksum(chunk.checksum);
}

void build(const KeyedStateHandle& state, wire::KeyedState::Builder to) {
  build(state.descriptor, to.initDescriptor());
  auto groups = to.initGroups(count_of(state.groups.size()));
  for (unsigned i = 0; i < groups.size(); ++i) {
    groups[i].setGroup(state.groups[i].group.value);
    build(state.groups[i].chunk, groups[i].initChunk());
  }
}

void build(const OperatorStateHandle& state, wire::OperatorState::Builder to) {
  build(state.descriptor, to.initDescriptor());
  to.setItems(state.items);
  build(state.chunk, to.initChunk());
}

void build(const SubtaskInManifest& subtask, wire::Subtask::Builder to) {
  to.setFinished(subtask.finished);
  to.setFile(subtask.file);
  auto keyed = to.initKeyed(count_of(subtask.keyed.size()));
  for (unsigned i = 0; i < keyed.size(); ++i) build(subtask.keyed[i], keyed[i]);
  auto items = to.initItems(count_of(subtask.items.size()));
  for (unsigned i = 0; i < items.size(); ++i) build(subtask.items[i], items[i]);
}

void build(const OperatorInManifest& op, wire::Operator::Builder to) {
  to.setName(text_of(op.name));
  to.setParallelism(op.parallelism);
  to.setMaxParallelism(op.max_parallelism);
  auto subtasks = to.initSubtasks(count_of(op.subtasks.size()));
  for (unsigned i = 0; i < subtasks.size(); ++i) build(op.subtasks[i], subtasks[i]);
  to.setHasCoordinator(op.coordinator.has_value());
  if (op.coordinator) to.setCoordinator(data_of(*op.coordinator));
  auto committables = to.initCommittables(count_of(op.committables.size()));
  for (unsigned i = 0; i < committables.size(); ++i) {
    committables.set(i, data_of(op.committables[i]));
  }
}

void build(const CheckpointManifest& manifest, wire::Manifest::Builder to) {
  to.setCheckpoint(manifest.id.value);
  to.setJob(manifest.job.value);
  to.setJobName(text_of(manifest.job_name));
  to.setTriggeredMs(manifest.triggered.ms);
  auto files = to.initFiles(count_of(manifest.files.size()));
  for (unsigned i = 0; i < files.size(); ++i) {
    files[i].setName(text_of(manifest.files[i].name));
    files[i].setSize(manifest.files[i].size);
    files[i].setInlineBytes(data_of(manifest.files[i].inline_bytes));
  }
  auto operators = to.initOperators(count_of(manifest.operators.size()));
  for (unsigned i = 0; i < operators.size(); ++i) build(manifest.operators[i], operators[i]);
}

StateDescriptor read(wire::Descriptor::Reader from) {
  return {.name = text_of(from.getName()),
          .kind = static_cast<StateKind>(from.getKind()),
          .schema = text_of(from.getSchema())};
}

StateChunk read(wire::Chunk::Reader from) {
  return {.offset = from.getOffset(), .size = from.getSize(), .checksum = from.getChecksum()};
}

KeyedStateHandle read(wire::KeyedState::Reader from) {
  KeyedStateHandle state{.descriptor = read(from.getDescriptor())};
  for (const auto group : from.getGroups()) {
    state.groups.push_back({.group = {group.getGroup()}, .chunk = read(group.getChunk())});
  }
  return state;
}

OperatorStateHandle read(wire::OperatorState::Reader from) {
  return {.descriptor = read(from.getDescriptor()),
          .items = from.getItems(),
          .chunk = read(from.getChunk())};
}

SubtaskInManifest read(wire::Subtask::Reader from) {
  SubtaskInManifest subtask{.finished = from.getFinished(), .file = from.getFile()};
  for (const auto state : from.getKeyed()) subtask.keyed.push_back(read(state));
  for (const auto state : from.getItems()) subtask.items.push_back(read(state));
  return subtask;
}

OperatorInManifest read(wire::Operator::Reader from) {
  OperatorInManifest op{.name = text_of(from.getName()),
                        .parallelism = from.getParallelism(),
                        .max_parallelism = from.getMaxParallelism()};
  for (const auto subtask : from.getSubtasks()) op.subtasks.push_back(read(subtask));
  if (from.getHasCoordinator()) op.coordinator = bytes_of(from.getCoordinator());
  for (const auto committable : from.getCommittables()) {
    op.committables.push_back(bytes_of(committable));
  }
  return op;
}

CheckpointManifest read(wire::Manifest::Reader from) {
  CheckpointManifest manifest{.id = {from.getCheckpoint()},
                              .job = {from.getJob()},
                              .job_name = text_of(from.getJobName()),
                              .triggered = {from.getTriggeredMs()}};
  for (const auto file : from.getFiles()) {
    manifest.files.push_back({.name = text_of(file.getName()),
                              .size = file.getSize(),
                              .inline_bytes = bytes_of(file.getInlineBytes())});
  }
  for (const auto op : from.getOperators()) manifest.operators.push_back(read(op));
  return manifest;
}

Error damaged(std::string what) {
  return {Errc::corrupt_data, std::move(what)};
}

Error senseless(const std::string& what) {
  return damaged("is damaged: it makes no sense that " + what);
}

bool is_known(StateKind kind) {
  switch (kind) {
    case StateKind::value:
    case StateKind::list:
    case StateKind::map:
    case StateKind::reducing:
    case StateKind::aggregating:
    case StateKind::windows:
    case StateKind::event_timers:
    case StateKind::processing_timers:
    case StateKind::split_list:
    case StateKind::union_list:
    case StateKind::broadcast:
      return true;
  }
  return false;
}

// A name that would lead out of the checkpoint's directory is not ours.
Result<void> check(const StateFile& file) {
  if (file.name.find('/') != std::string::npos || file.name == "." || file.name == "..") {
    return senseless("a state file is called '" + file.name + "'");
  }
  const bool is_inline = file.name.empty();
  if (file.inline_bytes.size() != (is_inline ? file.size : 0)) {
    return senseless("a state file of " + std::to_string(file.size) + " bytes has " +
                     std::to_string(file.inline_bytes.size()) + " of them inline");
  }
  return {};
}

Result<void> check(const StateChunk& chunk, std::uint64_t file_size) {
  if (chunk.offset > file_size || chunk.size > file_size - chunk.offset) {
    return senseless("state lies beyond the end of its file");
  }
  return {};
}

Result<void> check(const StateDescriptor& descriptor, bool keyed) {
  if (!is_known(descriptor.kind) || is_keyed(descriptor.kind) != keyed) {
    return senseless("the state '" + descriptor.name + "' is of kind " +
                     std::to_string(static_cast<unsigned>(descriptor.kind)));
  }
  return {};
}

Result<void> check(const SubtaskInManifest& subtask, const OperatorInManifest& op,
                   const CheckpointManifest& manifest) {
  if (subtask.keyed.empty() && subtask.items.empty()) return {};
  if (subtask.finished) return senseless("a finished subtask of '" + op.name + "' has state");
  if (subtask.file >= manifest.files.size()) {
    return senseless("a subtask of '" + op.name + "' has its state in no file");
  }
  const std::uint64_t file_size = manifest.files[subtask.file].size;
  for (const KeyedStateHandle& state : subtask.keyed) {
    WEIR_TRY(check(state.descriptor, true));
    for (std::size_t i = 0; i < state.groups.size(); ++i) {
      const KeyGroup group = state.groups[i].group;
      const bool ascends = i == 0 || state.groups[i - 1].group < group;
      if (!ascends || group.value >= op.max_parallelism) {
        return senseless("'" + op.name + "' has the key group " + std::to_string(group.value) +
                         " where it does");
      }
      WEIR_TRY(check(state.groups[i].chunk, file_size));
    }
  }
  for (const OperatorStateHandle& state : subtask.items) {
    WEIR_TRY(check(state.descriptor, false));
    WEIR_TRY(check(state.chunk, file_size));
  }
  return {};
}

Result<void> check(const CheckpointManifest& manifest) {
  for (const StateFile& file : manifest.files) WEIR_TRY(check(file));
  std::set<std::string_view> names;
  for (const OperatorInManifest& op : manifest.operators) {
    if (!names.insert(op.name).second) return senseless("two operators are called " + op.name);
    if (op.parallelism == 0 || op.parallelism > op.max_parallelism ||
        op.max_parallelism > parallelism_max || op.subtasks.size() != op.parallelism) {
      return senseless("'" + op.name + "' has " + std::to_string(op.subtasks.size()) +
                       " subtasks, parallelism " + std::to_string(op.parallelism) +
                       " and maximum parallelism " + std::to_string(op.max_parallelism));
    }
    for (const SubtaskInManifest& subtask : op.subtasks) WEIR_TRY(check(subtask, op, manifest));
  }
  return {};
}

Result<CheckpointManifest> decode_body(std::span<const std::byte> body) {
  if (body.empty() || body.size() % sizeof(capnp::word) != 0) {
    return damaged("is damaged: its body is not made of words");
  }
  std::vector<capnp::word> words(body.size() / sizeof(capnp::word));  // aligned
  std::memcpy(words.data(), body.data(), body.size());
  // Lists that lie over each other must not make much out of few bytes.
  const capnp::ReaderOptions options{.traversalLimitInWords = 2 * words.size() + 64,
                                     .nestingLimit = nesting_max};
  try {
    capnp::FlatArrayMessageReader message(kj::arrayPtr(words.data(), words.size()), options);
    CheckpointManifest manifest = read(message.getRoot<wire::Manifest>());
    WEIR_TRY(check(manifest));
    return manifest;
  } catch (const kj::Exception& e) {
    return damaged("is damaged: " + std::string(e.getDescription().cStr()));
  }
}

}  // namespace

Result<Bytes> encode_manifest(const CheckpointManifest& manifest) {
  try {
    capnp::MallocMessageBuilder message;
    build(manifest, message.initRoot<wire::Manifest>());
    const kj::Array<capnp::word> words = capnp::messageToFlatArray(message);
    const auto body = std::as_bytes(std::span(words.asBytes().begin(), words.asBytes().size()));
    Bytes bytes;
    ByteWriter writer(bytes);
    writer.reserve(header_bytes + body.size());
    writer.bytes(std::as_bytes(std::span(magic)));
    writer.scalar(manifest_version);
    writer.scalar(std::uint32_t{0});
    writer.scalar(std::uint64_t{body.size()});
    writer.scalar(checksum_of(bytes, body));
    writer.bytes(body);
    return bytes;
  } catch (const kj::Exception& e) {
    return Error{Errc::too_large, "a checkpoint's manifest cannot be encoded: " +
                                      std::string(e.getDescription().cStr())};
  }
}

Result<CheckpointManifest> decode_manifest(std::span<const std::byte> bytes) {
  const auto begins_well = std::as_bytes(std::span(magic));
  const std::size_t seen = std::min(bytes.size(), magic.size());
  if (!std::ranges::equal(bytes.first(seen), begins_well.first(seen))) {
    return damaged("is no manifest of a checkpoint: it does not begin with WEIRCHKP");
  }
  if (bytes.size() < header_bytes) {
    return damaged("is truncated: " + std::to_string(bytes.size()) +
                   " bytes, where the header has " + std::to_string(header_bytes));
  }
  ByteReader reader(bytes.subspan(magic.size()));
  const auto version = reader.scalar<std::uint32_t>();
  const auto zero = reader.scalar<std::uint32_t>();
  const auto body_bytes = reader.scalar<std::uint64_t>();
  const auto checksum = reader.scalar<std::uint64_t>();
  if (version > manifest_version) {
    return damaged("is of format " + std::to_string(version) + ", and this version of weir reads " +
                   "formats up to " + std::to_string(manifest_version) +
                   ": use the version that wrote it, or a newer one");
  }
  if (body_bytes > reader.remaining()) {
    return damaged("is truncated: " + std::to_string(bytes.size()) + " of " +
                   std::to_string(header_bytes) + " + " + std::to_string(body_bytes) + " bytes");
  }
  const auto body = bytes.subspan(header_bytes);
  if (body.size() > body_bytes || zero != 0 || version == 0 ||
      checksum_of(bytes.first(checked_header_bytes), body) != checksum) {
    return damaged("is damaged: its checksum does not match its content");
  }
  return decode_body(body);
}

}  // namespace weir
