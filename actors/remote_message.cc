#include "actors/remote_message.h"

#include <cstdio>
#include <limits>
#include <utility>

namespace weir::remote_message_detail {
namespace {

constexpr std::uint32_t too_large = std::numeric_limits<std::uint32_t>::max();
static_assert(too_large > remote_message_bytes_max);

}  // namespace

caf::error save_blob(caf::serializer& sink, Bytes& blob) {
  if (blob.size() > remote_message_bytes_max) {
    std::fprintf(stderr, "weir: a message of %zu bytes was not sent: at most %u are possible\n",
                 blob.size(), remote_message_bytes_max);
    // The receiver cannot load it, so CAF drops it there and keeps the connection.
    auto nothing_follows = too_large;
    return sink(nothing_follows);
  }
  auto size = static_cast<std::uint32_t>(blob.size());
  if (auto error = sink(size)) return error;
  return blob.empty() ? caf::error{} : sink.apply_raw(blob.size(), blob.data());
}

caf::error load_blob(caf::deserializer& source, Bytes& blob) {
  std::uint32_t size = 0;
  if (auto error = source(size)) return error;
  if (size > remote_message_bytes_max) {
    return caf::make_error(caf::sec::malformed_basp_message, "a message is longer than allowed");
  }
  blob.resize(size);
  return blob.empty() ? caf::error{} : source.apply_raw(blob.size(), blob.data());
}

}  // namespace weir::remote_message_detail
