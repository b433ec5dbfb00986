// Files named by what is in them: programs of jobs and what is shipped with them, on their way from
// client to master to workers.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/file_descriptor.h"
#include "base/result.h"

namespace weir {

// The SHA-256 of a file's content.
struct BlobId {
  std::array<std::byte, 32> digest{};
  friend auto operator<=>(const BlobId&, const BlobId&) = default;
};

// 64 lower-case hexadecimal digits, as sha256sum prints them.
[[nodiscard]] std::string to_string(const BlobId& id);
[[nodiscard]] std::optional<BlobId> parse_blob_id(std::string_view text);

// Reads the whole file. Errc::input_missing or Errc::input_unreadable.
[[nodiscard]] Result<BlobId> hash_file(const std::filesystem::path& path);

// A blob that arrives piece by piece. Not visible before it is finished, and gone if it is destroyed
// before. Used by one thread at a time; does not need the store it came from.
class BlobUpload {
 public:
  BlobUpload(BlobUpload&&) noexcept;
  BlobUpload& operator=(BlobUpload&&) noexcept;
  ~BlobUpload();

  // Requires an upload that is not finished. Errc::corrupt_data if `offset` is not received() or
  // there are more bytes than announced; Errc::output_failed if they cannot be written. What fails
  // has no effect and may be tried again.
  [[nodiscard]] Result<void> append(std::uint64_t offset, std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t received() const;

  // Makes it visible, and returns when it would survive a loss of power. Errc::corrupt_data if it
  // is not what was announced. Either way the upload is over.
  [[nodiscard]] Result<void> finish();

 private:
  friend class BlobStore;
  class Impl;
  explicit BlobUpload(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Finds out whether a blob is still what its name says, piece by piece. Used by one thread at a time; does not need the
// store it came from.
class BlobCheck {
 public:
  BlobCheck(BlobCheck&&) noexcept;
  BlobCheck& operator=(BlobCheck&&) noexcept;
  ~BlobCheck();

  enum class Outcome { unfinished, intact, damaged };
  // Reads at most so many bytes more. Not to be called again when it is finished. Errc::input_unreadable.
  [[nodiscard]] Result<Outcome> step(std::size_t bytes_max);

 private:
  friend class BlobStore;
  class Impl;
  explicit BlobCheck(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A directory with one file per blob, named by its id; only complete ones. The directory belongs to
// one store at a time. Thread-safe: two that bring the same blob at once both succeed.
//   <directory>/<id>         a blob, read-only; executable if any who brought it said so
//   <directory>/incoming/    uploads under way; what a crash leaves there goes at the next open
//   <directory>/lock         locked by the process that has the store open
class BlobStore {
 public:
  friend class BlobCheck;

  // Creates the directory if it is missing. Errc::output_failed if that is impossible or another
  // store has it open.
  [[nodiscard]] static Result<BlobStore> open(const std::filesystem::path& directory);

  // Copies a file into the store. If somebody writes to the file meanwhile, the blob is what was
  // read. Executable if the file is so for its owner. Errors of hash_file, or Errc::output_failed.
  [[nodiscard]] Result<BlobId> put_file(const std::filesystem::path& path);

  struct Announced {
    BlobId id;
    std::uint64_t size_bytes = 0;
    bool executable = false;
  };
  [[nodiscard]] Result<BlobUpload> begin_upload(const Announced& announced);

  [[nodiscard]] bool has(const BlobId& id) const;
  // Where it is if it is there. It stays until it is removed.
  [[nodiscard]] std::filesystem::path path_of(const BlobId& id) const;
  // Errc::input_missing if it is not there.
  [[nodiscard]] Result<std::uint64_t> size_of(const BlobId& id) const;
  // At most `size_max` bytes from `offset` on; fewer only at the end, none beyond it. The caller
  // bounds what it asks for. Errc::input_missing or Errc::input_unreadable.
  [[nodiscard]] Result<Bytes> read(const BlobId& id, std::uint64_t offset,
                                   std::size_t size_max) const;
  // Reads all of it, unless the file is as it was when that was done last. Errc::corrupt_data if it is no longer what its
  // name says. A blob that is brought again takes its place.
  [[nodiscard]] Result<void> verify(const BlobId& id) const;
  // The same in pieces.
  [[nodiscard]] Result<BlobCheck> begin_check(const BlobId& id) const;

  // Who has it open keeps what he reads. Nothing happens if it is not there.
  [[nodiscard]] Result<void> remove(const BlobId& id);
  // Of all complete blobs. Looks at each file.
  [[nodiscard]] std::uint64_t total_bytes() const;

 private:
  BlobStore(std::filesystem::path directory, FileDescriptor lock);

  std::filesystem::path directory_;
  FileDescriptor lock_;
  // One blob is put in its place at a time. Shared with uploads, which may outlive the store.
  std::shared_ptr<std::mutex> publishing_;
  class Verified;
  std::shared_ptr<Verified> verified_;  // shared with checks, which may outlive the store
};

}  // namespace weir
