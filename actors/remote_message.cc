#include "actors/remote_message.h"

#include <utility>

namespace weir::remote_message_detail {

caf::error save_blob(caf::serializer& sink, Bytes& blob) {
  WEIR_CHECK(blob.size() <= remote_message_bytes_max);
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
