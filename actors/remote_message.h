// How a message crosses processes: one blob of bounded size, written by base/codec.h, and the actor handles beside it.
//
// CAF's own inspection of single fields is not used: it is several times slower, and a float in it can hang the
// receiver (CAF issue 1107).
#pragma once

#include <caf/all.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/codec.h"
#include "base/reflect.h"

namespace weir {

// The largest blob that is accepted. Who makes a message that may be larger asks fits_remote_message before, and says so
// instead; one that is sent all the same is dropped, with a line on stderr: nothing that comes from outside may end a
// process.
inline constexpr std::uint32_t remote_message_bytes_max = 64 * 1024 * 1024;

namespace remote_message_detail {

template <class T>
inline constexpr bool is_handle = false;
template <class... Signatures>
inline constexpr bool is_handle<caf::typed_actor<Signatures...>> = true;
template <class... Signatures>
inline constexpr bool is_handle<std::optional<caf::typed_actor<Signatures...>>> = true;

template <class T>
caf::strong_actor_ptr pointer_of(const T& handle) {
  return caf::actor_cast<caf::strong_actor_ptr>(handle);
}
template <class T>
caf::strong_actor_ptr pointer_of(const std::optional<T>& handle) {
  return handle ? caf::actor_cast<caf::strong_actor_ptr>(*handle) : nullptr;
}
template <class T>
void assign(T& handle, const caf::strong_actor_ptr& pointer) {
  handle = caf::actor_cast<T>(pointer);
}
template <class T>
void assign(std::optional<T>& handle, const caf::strong_actor_ptr& pointer) {
  handle.reset();
  if (pointer) handle = caf::actor_cast<T>(pointer);
}

[[nodiscard]] caf::error save_blob(caf::serializer& sink, Bytes& blob);
[[nodiscard]] caf::error load_blob(caf::deserializer& source, Bytes& blob);

// Everything but the handles.
template <class Message>
Bytes blob_of(const Message& message) {
  Bytes blob;
  ByteWriter writer(blob);
  const auto save_field = [&](const auto& field) {
    if constexpr (!is_handle<std::decay_t<decltype(field)>>) encode(writer, field);
  };
  std::apply([&](const auto&... fields) { (save_field(fields), ...); }, fields_of(message));
  return blob;
}

template <class Message>
caf::error save(caf::serializer& sink, const Message& message) {
  Bytes blob = blob_of(message);
  std::vector<caf::strong_actor_ptr> handles;
  const auto save_handle = [&](const auto& field) {
    if constexpr (is_handle<std::decay_t<decltype(field)>>) handles.push_back(pointer_of(field));
  };
  std::apply([&](const auto&... fields) { (save_handle(fields), ...); }, fields_of(message));
  if (auto error = save_blob(sink, blob)) return error;
  for (auto& handle : handles) {
    if (auto error = sink(handle)) return error;
  }
  return caf::none;
}

template <class Message>
caf::error load(caf::deserializer& source, Message& message) {
  Bytes blob;
  if (auto error = load_blob(source, blob)) return error;
  ByteReader reader(blob);
  caf::error failed;
  const auto load_field = [&](auto& field) {
    if constexpr (is_handle<std::decay_t<decltype(field)>>) {
      caf::strong_actor_ptr pointer;
      if (!failed) failed = source(pointer);
      assign(field, pointer);
    } else {
      decode_into(reader, field);
    }
  };
  std::apply([&](auto&... fields) { (load_field(fields), ...); }, fields_of(message));
  if (failed) return failed;
  if (!reader.ok() || !reader.at_end()) {
    return caf::make_error(caf::sec::malformed_basp_message, "a message does not decode");
  }
  return caf::none;
}

}  // namespace remote_message_detail

// What a message has beside its handles.
template <class Message>
[[nodiscard]] std::size_t remote_message_bytes(const Message& message) {
  return remote_message_detail::blob_of(message).size();
}
template <class Message>
[[nodiscard]] bool fits_remote_message(const Message& message) {
  return remote_message_bytes(message) <= remote_message_bytes_max;
}

}  // namespace weir

// To be written in namespace weir.
#define WEIR_REMOTE_MESSAGE(type)                                       \
  inline caf::error inspect(caf::serializer& sink, type& message) {     \
    return remote_message_detail::save(sink, message);                  \
  }                                                                     \
  inline caf::error inspect(caf::deserializer& source, type& message) { \
    return remote_message_detail::load(source, message);                \
  }

// To be written outside of any namespace.
#define WEIR_LOCAL_MESSAGE(type) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(weir::type)
