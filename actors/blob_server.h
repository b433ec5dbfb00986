// The actor that keeps what jobs consist of: takes it from clients, gives it to workers.
#pragma once

#include <caf/all.hpp>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "actors/engine_context.h"
#include "actors/messages.h"
#include "net/blob_store.h"

namespace weir {

// Piece by piece, each answered before the next is sent, so that nothing queues. Has a thread of its own: it reads and
// writes files.
class BlobServer {
 public:
  static constexpr const char* name = "blob-server";
  static constexpr std::size_t chunk_bytes = 256 * 1024;
  // Uploads under way; the one that has been silent for longest gives way to a newer one.
  static constexpr std::size_t uploads_max = 64;

  // After so many heartbeat timeouts without a piece an upload is given up: its client is gone.
  static constexpr int silent_timeouts = 3;

  void begin(BlobServerHandle::base* self, const EngineContext& engine,
             std::shared_ptr<BlobStore> store);
  void give_up_silent();
  [[nodiscard]] MissingBlobs find(const FindBlobs& query) const;
  [[nodiscard]] ChunkStored store(const StoreChunk& chunk);
  [[nodiscard]] BlobChunk fetch(const FetchChunk& query) const;

 private:
  struct Upload {
    BlobUpload upload;
    MonotonicTime last_chunk;
  };
  using UploadKey = std::pair<std::string, std::uint64_t>;

  [[nodiscard]] Result<void> append(const StoreChunk& chunk);
  void make_room();
  void look_again();

  BlobServerHandle::base* self_ = nullptr;
  const EngineContext* engine_ = nullptr;
  std::shared_ptr<BlobStore> store_;
  std::map<UploadKey, Upload> uploads_;
};

[[nodiscard]] BlobServerHandle::behavior_type blob_server(
    BlobServerHandle::stateful_pointer<BlobServer> self, const EngineContext* engine,
    std::shared_ptr<BlobStore> store);

}  // namespace weir
