#include "net/blob_store.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/system_error.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t copy_bytes = 1 << 18;
constexpr mode_t blob_mode = 0444;
constexpr mode_t executable_blob_mode = 0555;

// SHA-256 of what comes bit by bit.
class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new()) {
    WEIR_CHECK(context_ != nullptr);
    WEIR_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void update(std::span<const std::byte> bytes) {
    WEIR_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  // Once.
  [[nodiscard]] BlobId finish() {
    BlobId id;
    unsigned size = 0;
    WEIR_CHECK(EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(&id.digest),
                                  &size) == 1);
    WEIR_CHECK(size == id.digest.size());
    return id;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

Error cannot(std::string_view task, const fs::path& path, int error, Errc code) {
  return system_error("cannot " + std::string(task) + ' ' + path.string(), error, code);
}

Error cannot_read(const fs::path& path, int error) {
  return cannot("read", path, error,
                error == ENOENT ? Errc::input_missing : Errc::input_unreadable);
}

Result<FileDescriptor> open_input(const fs::path& path) {
  // Without O_NONBLOCK, opening a fifo would wait for somebody to write to it.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return cannot_read(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return cannot_read(path, errno);
  if (S_ISDIR(status.st_mode)) return cannot_read(path, EISDIR);
  if (!S_ISREG(status.st_mode))
    return Error{Errc::input_unreadable, "cannot read " + path.string() + ": not a regular file"};
  return file;
}

// Calls `take`, which returns Result<void>, with the content in pieces.
template <class Take>
Result<void> read_all(const FileDescriptor& file, const fs::path& path, Take take) {
  std::vector<std::byte> buffer(copy_bytes);
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got == 0) return {};
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(path, errno);
    WEIR_TRY(take(std::span(buffer).first(static_cast<std::size_t>(got))));
  }
}

Result<void> write_all(int file, const fs::path& path, std::uint64_t offset,
                       std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("write", path, errno, Errc::output_failed);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return {};
}

// So that a rename in it survives a loss of power.
Result<void> sync_directory(const fs::path& path) {
  const FileDescriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() || ::fsync(directory.get()) != 0)
    return cannot("write", path, errno, Errc::output_failed);
  return {};
}

bool is_executable(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && (status.st_mode & S_IXUSR) != 0;
}

fs::path incoming_of(const fs::path& directory) {
  return directory / "incoming";
}

// A file in incoming/ that becomes a blob or vanishes.
class IncomingFile {
 public:
  static Result<IncomingFile> create(const fs::path& directory,
                                     std::shared_ptr<std::mutex> publishing) {
    const std::string pattern = (incoming_of(directory) / "XXXXXX").string();
    std::string path = pattern;
    FileDescriptor file(::mkostemp(path.data(), O_CLOEXEC));
    if (!file.is_open() && errno == ENOENT) {  // somebody cleaned up, as in /tmp
      std::error_code refused;
      fs::create_directories(incoming_of(directory), refused);
      path = pattern;
      file = FileDescriptor(::mkostemp(path.data(), O_CLOEXEC));
    }
    if (!file.is_open())
      return cannot("create a file in", incoming_of(directory), errno, Errc::output_failed);
    return IncomingFile(directory, std::move(publishing), path, std::move(file));
  }
  IncomingFile(IncomingFile&&) noexcept = default;
  IncomingFile& operator=(IncomingFile&&) = delete;
  ~IncomingFile() {
    if (file_.is_open()) ::unlink(path_.c_str());
  }

  // Has no effect if it fails: what was written by then is overwritten by the next.
  Result<void> write(std::span<const std::byte> bytes) {
    WEIR_TRY(write_all(file_.get(), path_, size_, bytes));
    digest_.update(bytes);
    size_ += bytes.size();
    return {};
  }
  std::uint64_t size() const { return size_; }
  // Once; no write may follow.
  BlobId id() { return digest_.finish(); }

  // Makes it the blob `id`, which it must be. One that is there already is replaced by its equal,
  // which also mends it, and is executable if either is.
  Result<void> publish(const BlobId& id, bool executable) {
    if (::fsync(file_.get()) != 0) return cannot("write", path_, errno, Errc::output_failed);
    WEIR_TRY(put_in_place(directory_ / to_string(id), executable));
    return sync_directory(directory_);
  }

 private:
  IncomingFile(fs::path directory, std::shared_ptr<std::mutex> publishing, fs::path path,
               FileDescriptor file)
      : directory_(std::move(directory)),
        publishing_(std::move(publishing)),
        path_(std::move(path)),
        file_(std::move(file)) {}

  Result<void> put_in_place(const fs::path& target, bool executable) {
    const std::lock_guard lock(*publishing_);
    const bool runs = executable || is_executable(target);
    if (::fchmod(file_.get(), runs ? executable_blob_mode : blob_mode) != 0)
      return cannot("write", path_, errno, Errc::output_failed);
    if (::rename(path_.c_str(), target.c_str()) != 0)
      return cannot("create", target, errno, Errc::output_failed);
    // While somebody has a program open for writing it cannot be executed.
    file_.close();
    return {};
  }

  fs::path directory_;
  std::shared_ptr<std::mutex> publishing_;
  fs::path path_;
  FileDescriptor file_;  // closed once it is published
  Digest digest_;
  std::uint64_t size_ = 0;
};

int value_of_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

}  // namespace

std::string to_string(const BlobId& id) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * id.digest.size());
  for (const std::byte byte : id.digest) {
    text += digits[std::to_integer<std::size_t>(byte >> 4)];
    text += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

std::optional<BlobId> parse_blob_id(std::string_view text) {
  BlobId id;
  if (text.size() != 2 * id.digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < id.digest.size(); ++i) {
    const int high = value_of_digit(text[2 * i]);
    const int low = value_of_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    id.digest[i] = static_cast<std::byte>(16 * high + low);
  }
  return id;
}

Result<BlobId> hash_file(const fs::path& path) {
  const auto file = open_input(path);
  if (!file) return file.error();
  Digest digest;
  WEIR_TRY(read_all(*file, path, [&](std::span<const std::byte> bytes) -> Result<void> {
    digest.update(bytes);
    return {};
  }));
  return digest.finish();
}

class BlobUpload::Impl {
 public:
  Impl(IncomingFile file, const BlobStore::Announced& announced)
      : file_(std::move(file)), announced_(announced) {}

  Result<void> append(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (offset != file_.size())
      return bad("bytes from " + std::to_string(offset) + " on came when " +
                 std::to_string(file_.size()) + " had been received");
    if (bytes.size() > announced_.size_bytes - file_.size())
      return bad("it is longer than the " + std::to_string(announced_.size_bytes) +
                 " bytes announced");
    return file_.write(bytes);
  }

  std::uint64_t received() const { return file_.size(); }

  Result<void> finish() {
    if (file_.size() != announced_.size_bytes)
      return bad(std::to_string(file_.size()) + " of " + std::to_string(announced_.size_bytes) +
                 " bytes were received");
    const BlobId id = file_.id();
    if (id != announced_.id) return bad("what was received has the hash " + to_string(id));
    return file_.publish(id, announced_.executable);
  }

 private:
  Error bad(const std::string& reason) const {
    return {Errc::corrupt_data, "blob " + to_string(announced_.id) + ": " + reason};
  }

  IncomingFile file_;
  BlobStore::Announced announced_;
};

BlobUpload::BlobUpload(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BlobUpload::BlobUpload(BlobUpload&&) noexcept = default;
BlobUpload& BlobUpload::operator=(BlobUpload&&) noexcept = default;
BlobUpload::~BlobUpload() = default;

Result<void> BlobUpload::append(std::uint64_t offset, std::span<const std::byte> bytes) {
  WEIR_CHECK(impl_ != nullptr);
  return impl_->append(offset, bytes);
}
std::uint64_t BlobUpload::received() const {
  WEIR_CHECK(impl_ != nullptr);
  return impl_->received();
}
Result<void> BlobUpload::finish() {
  WEIR_CHECK(impl_ != nullptr);
  const std::unique_ptr<Impl> ending = std::move(impl_);
  return ending->finish();
}

// Blobs that were found intact, and what the kernel said of their files then.
class BlobStore::Verified {
 public:
  // Changes with the file's content, whoever changes it.
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    std::array<std::int64_t, 4> times{};
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  static Stamp stamp_of(const struct stat& status) {
    return {status.st_dev,
            status.st_ino,
            status.st_size,
            {status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
             status.st_ctim.tv_nsec}};
  }

  void add(const BlobId& id, const Stamp& stamp) {
    const std::lock_guard lock(mutex_);
    stamps_[id] = stamp;
  }
  bool has(const BlobId& id, const Stamp& stamp) const {
    const std::lock_guard lock(mutex_);
    const auto found = stamps_.find(id);
    return found != stamps_.end() && found->second == stamp;
  }

 private:
  mutable std::mutex mutex_;
  std::map<BlobId, Stamp> stamps_;  // as many as there are blobs
};

class BlobCheck::Impl {
 public:
  Impl(const BlobId& id, fs::path path, FileDescriptor file,
       const BlobStore::Verified::Stamp& stamp, std::shared_ptr<BlobStore::Verified> verified)
      : id_(id),
        path_(std::move(path)),
        file_(std::move(file)),
        stamp_(stamp),
        verified_(std::move(verified)) {}

  Result<Outcome> step(std::size_t bytes_max) {
    if (verified_->has(id_, stamp_)) return Outcome::intact;
    std::vector<std::byte> buffer(std::min(bytes_max, copy_bytes));
    for (std::size_t read = 0; read < bytes_max;) {
      const ssize_t got = ::read(file_.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return cannot_read(path_, errno);
      if (got == 0) return finish();
      digest_.update(std::span(buffer).first(static_cast<std::size_t>(got)));
      read += static_cast<std::size_t>(got);
    }
    return Outcome::unfinished;
  }

 private:
  Outcome finish() {
    if (digest_.finish() != id_) return Outcome::damaged;
    verified_->add(id_, stamp_);
    return Outcome::intact;
  }

  const BlobId id_;
  const fs::path path_;
  const FileDescriptor file_;
  const BlobStore::Verified::Stamp stamp_;  // from before it was read
  const std::shared_ptr<BlobStore::Verified> verified_;
  Digest digest_;
};

BlobCheck::BlobCheck(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BlobCheck::BlobCheck(BlobCheck&&) noexcept = default;
BlobCheck& BlobCheck::operator=(BlobCheck&&) noexcept = default;
BlobCheck::~BlobCheck() = default;

Result<BlobCheck::Outcome> BlobCheck::step(std::size_t bytes_max) {
  return impl_->step(bytes_max);
}

BlobStore::BlobStore(fs::path directory, FileDescriptor lock)
    : directory_(std::move(directory)),
      lock_(std::move(lock)),
      publishing_(std::make_shared<std::mutex>()),
      verified_(std::make_shared<Verified>()) {}

Result<BlobStore> BlobStore::open(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return cannot("create", directory, error.value(), Errc::output_failed);
  const fs::path lock_path = directory / "lock";
  FileDescriptor lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.is_open()) return cannot("open", lock_path, errno, Errc::output_failed);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return cannot("lock", lock_path, errno, Errc::output_failed);
    return Error{Errc::output_failed, "another process uses the directory " + directory.string() +
                                          ": choose another with --data-dir"};
  }
  const fs::path incoming = incoming_of(directory);
  fs::remove_all(incoming, error);
  if (!error) fs::create_directory(incoming, error);
  if (error) return cannot("empty", incoming, error.value(), Errc::output_failed);
  return BlobStore(directory, std::move(lock));
}

Result<BlobId> BlobStore::put_file(const fs::path& path) {
  const auto source = open_input(path);
  if (!source) return source.error();
  struct stat status {};
  if (::fstat(source->get(), &status) != 0) return cannot_read(path, errno);
  auto copy = IncomingFile::create(directory_, publishing_);
  if (!copy) return copy.error();
  WEIR_TRY(read_all(*source, path,
                    [&](std::span<const std::byte> bytes) { return copy->write(bytes); }));
  const BlobId id = copy->id();
  WEIR_TRY(copy->publish(id, (status.st_mode & S_IXUSR) != 0));
  return id;
}

Result<BlobUpload> BlobStore::begin_upload(const Announced& announced) {
  auto file = IncomingFile::create(directory_, publishing_);
  if (!file) return file.error();
  return BlobUpload(std::make_unique<BlobUpload::Impl>(std::move(*file), announced));
}

bool BlobStore::has(const BlobId& id) const {
  std::error_code ignored;
  return fs::is_regular_file(path_of(id), ignored);
}

fs::path BlobStore::path_of(const BlobId& id) const {
  return directory_ / to_string(id);
}

Result<std::uint64_t> BlobStore::size_of(const BlobId& id) const {
  struct stat status {};
  if (::stat(path_of(id).c_str(), &status) != 0) return cannot_read(path_of(id), errno);
  return static_cast<std::uint64_t>(status.st_size);
}

Result<Bytes> BlobStore::read(const BlobId& id, std::uint64_t offset, std::size_t size_max) const {
  const auto file = open_input(path_of(id));
  if (!file) return file.error();
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return cannot_read(path_of(id), errno);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (offset >= size) return Bytes{};
  Bytes bytes(static_cast<std::size_t>(std::min<std::uint64_t>(size_max, size - offset)));
  std::size_t read = 0;
  while (read < bytes.size()) {
    const ssize_t got = ::pread(file->get(), bytes.data() + read, bytes.size() - read,
                                static_cast<off_t>(offset + read));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(path_of(id), errno);
    if (got == 0) break;
    read += static_cast<std::size_t>(got);
  }
  bytes.resize(read);
  return bytes;
}

Result<void> BlobStore::verify(const BlobId& id) const {
  auto check = begin_check(id);
  if (!check) return check.error();
  auto outcome = check->step(copy_bytes);
  while (outcome && *outcome == BlobCheck::Outcome::unfinished) outcome = check->step(copy_bytes);
  if (!outcome) return outcome.error();
  if (*outcome == BlobCheck::Outcome::intact) return {};
  return Error{Errc::corrupt_data,
               path_of(id).string() + " is damaged: it has another hash than its name says"};
}

Result<BlobCheck> BlobStore::begin_check(const BlobId& id) const {
  auto file = open_input(path_of(id));
  if (!file) return file.error();
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return cannot_read(path_of(id), errno);
  return BlobCheck(std::make_unique<BlobCheck::Impl>(id, path_of(id), *std::move(file),
                                                     Verified::stamp_of(status), verified_));
}

Result<void> BlobStore::remove(const BlobId& id) {
  if (::unlink(path_of(id).c_str()) == 0 || errno == ENOENT) return {};
  return cannot("remove", path_of(id), errno, Errc::output_failed);
}

std::uint64_t BlobStore::total_bytes() const {
  std::uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator at(directory_, error), end; !error && at != end;
       at.increment(error)) {
    if (!parse_blob_id(at->path().filename().string())) continue;
    std::error_code vanished;
    const std::uintmax_t size = at->file_size(vanished);
    if (!vanished) total += size;
  }
  return total;
}

}  // namespace weir
