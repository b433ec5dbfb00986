#include "actors/blob_server.h"

#include <algorithm>

namespace weir {
namespace {

Error unknown_blob(const std::string& id) {
  return {Errc::input_missing, "the master has no blob " + id};
}

}  // namespace

void BlobServer::begin(BlobServerHandle::base* self, const EngineContext& engine,
                       std::shared_ptr<BlobStore> store) {
  self_ = self;
  engine_ = &engine;
  store_ = std::move(store);
  if (engine.heartbeat_interval.count() > 0) look_again();
}

void BlobServer::look_again() {
  self_->delayed_send(caf::actor_cast<BlobServerHandle>(self_), engine_->heartbeat_timeout,
                      HeartbeatRound{});
}

// A client that lives sends the next piece when it has the answer to the one before.
void BlobServer::give_up_silent() {
  const MonotonicTime now = engine_->clock->now();
  std::erase_if(uploads_, [&](const auto& entry) {
    return now - entry.second.last_chunk > silent_timeouts * engine_->heartbeat_timeout;
  });
  look_again();
}

MissingBlobs BlobServer::find(const FindBlobs& query) const {
  MissingBlobs missing;
  for (const std::string& id : query.ids) {
    const auto blob = parse_blob_id(id);
    if (!blob || !store_->verify(*blob)) missing.ids.push_back(id);
  }
  return missing;
}

ChunkStored BlobServer::store(const StoreChunk& chunk) {
  const auto done = append(chunk);
  if (done) return {};
  uploads_.erase({chunk.id, chunk.upload});
  return {done.error()};
}

Result<void> BlobServer::append(const StoreChunk& chunk) {
  const auto id = parse_blob_id(chunk.id);
  if (!id) return Error{Errc::corrupt_data, "'" + chunk.id + "' is no SHA-256"};
  const UploadKey key{chunk.id, chunk.upload};
  auto found = uploads_.find(key);
  if (found == uploads_.end()) {
    if (chunk.offset != 0) return Error{Errc::timeout, "the upload was given up: begin again"};
    make_room();
    auto upload = store_->begin_upload(
        {.id = *id, .size_bytes = chunk.total_bytes, .executable = chunk.executable});
    if (!upload) return upload.error();
    found = uploads_.emplace(key, Upload{*std::move(upload), {}}).first;
  }
  found->second.last_chunk = engine_->clock->now();
  WEIR_TRY(found->second.upload.append(chunk.offset, chunk.bytes));
  if (found->second.upload.received() < chunk.total_bytes) return {};
  const auto finished = found->second.upload.finish();
  uploads_.erase(found);
  return finished;
}

void BlobServer::make_room() {
  if (uploads_.size() < uploads_max) return;
  uploads_.erase(std::ranges::min_element(
      uploads_, {}, [](const auto& entry) { return entry.second.last_chunk; }));
}

BlobChunk BlobServer::fetch(const FetchChunk& query) const {
  const auto id = parse_blob_id(query.id);
  if (!id || !store_->has(*id)) return {{}, 0, unknown_blob(query.id)};
  const auto size = store_->size_of(*id);
  if (!size) return {{}, 0, size.error()};
  auto bytes = store_->read(*id, query.offset, chunk_bytes);
  if (!bytes) return {{}, 0, bytes.error()};
  return {*std::move(bytes), *size, {}};
}

BlobServerHandle::behavior_type blob_server(BlobServerHandle::stateful_pointer<BlobServer> self,
                                            const EngineContext* engine,
                                            std::shared_ptr<BlobStore> store) {
  auto* state = &self->state;
  state->begin(self, *engine, std::move(store));
  return {
      [state](const HeartbeatRound&) { state->give_up_silent(); },
      [state](const FindBlobs& m) { return state->find(m); },
      [state](const StoreChunk& m) { return state->store(m); },
      [state](const FetchChunk& m) { return state->fetch(m); },
  };
}

}  // namespace weir
