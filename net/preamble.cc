#include "net/preamble.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/file_descriptor.h"
#include "base/system_error.h"

namespace weir {
namespace {

constexpr std::string_view magic = "WEIR";
constexpr std::size_t version_at = 4;
constexpr std::size_t purpose_at = 6;
constexpr std::size_t zero_at = 7;
constexpr std::size_t token_at = 8;
static_assert(token_at + sizeof(ClusterToken) == preamble_bytes);

constexpr std::size_t secret_chars_min = 16;
constexpr std::size_t secret_file_bytes_max =
    64 * 1024;  // a key, not a disk image given by mistake

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view white = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(white);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(white) - begin + 1);
}

std::uint16_t version_in(std::span<const std::byte> received) {
  std::uint16_t version = 0;
  std::memcpy(&version, received.data() + version_at, sizeof version);
  return version;
}

std::string name_of_purpose(std::byte purpose) {
  switch (static_cast<ConnectionPurpose>(purpose)) {
    case ConnectionPurpose::control:
      return "control";
    case ConnectionPurpose::data:
      return "data";
  }
  return "purpose " + std::to_string(std::to_integer<int>(purpose));
}

}  // namespace

Result<ClusterToken> token_of_secret(std::string_view secret) {
  const std::string_view text = trimmed(secret);
  if (text.size() < secret_chars_min) {
    return Error{Errc::bad_option, "the cluster's secret needs at least " +
                                       std::to_string(secret_chars_min) + " characters, not " +
                                       std::to_string(text.size())};
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const int done =
      EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  if (done != 1) return Error{Errc::system, "the system's OpenSSL does not offer SHA-256"};
  ClusterToken token;
  WEIR_CHECK(size >= token.bytes.size());
  std::memcpy(token.bytes.data(), digest.data(), token.bytes.size());
  return token;
}

Result<ClusterToken> read_secret_file(const std::string& path) {
  const auto cannot_read = [&path](int number) {
    return system_error("cannot read the cluster's secret from " + path, number, Errc::bad_option);
  };
  const FileDescriptor file = open_to_read(path);
  if (!file.is_open()) return cannot_read(errno);
  std::string content(secret_file_bytes_max + 1, '\0');
  std::size_t size = 0;
  while (size < content.size()) {
    const ssize_t got = ::read(file.get(), content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  content.resize(size);
  if (content.size() > secret_file_bytes_max) {
    return Error{Errc::bad_option, "the file of the cluster's secret, " + path +
                                       ", is longer than " + std::to_string(secret_file_bytes_max) +
                                       " bytes"};
  }
  Result<ClusterToken> token = token_of_secret(content);
  if (!token) return Error{token.error().code, token.error().message + " (in " + path + ")"};
  return token;
}

std::optional<std::string> find_secret_readers(const std::string& path) {
  struct stat status {};
  const bool kept = ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  if (!kept || (status.st_mode & 077U) == 0) return {};
  return "others than its owner may read or change the file of the cluster's secret, " + path +
         ": whoever knows it runs programs as the nodes' user; chmod 600 " + path;
}

Preamble make_preamble(ConnectionPurpose purpose, const ClusterToken& token) {
  Preamble preamble{};
  std::memcpy(preamble.data(), magic.data(), magic.size());
  std::memcpy(preamble.data() + version_at, &wire_version, sizeof wire_version);
  preamble[purpose_at] = static_cast<std::byte>(purpose);
  std::memcpy(preamble.data() + token_at, token.bytes.data(), token.bytes.size());
  return preamble;
}

PreambleVerdict check_preamble(std::span<const std::byte> received, ConnectionPurpose purpose,
                               const ClusterToken& token) {
  WEIR_CHECK(received.size() <= preamble_bytes);
  if (std::memcmp(received.data(), magic.data(), std::min(received.size(), magic.size())) != 0) {
    return PreambleVerdict::not_weir;
  }
  if (received.size() < purpose_at) return PreambleVerdict::incomplete;
  if (version_in(received) != wire_version) return PreambleVerdict::wrong_version;
  if (received.size() <= purpose_at) return PreambleVerdict::incomplete;
  if (received[purpose_at] != static_cast<std::byte>(purpose)) {
    return PreambleVerdict::wrong_purpose;
  }
  if (received.size() <= zero_at) return PreambleVerdict::incomplete;
  if (received[zero_at] != std::byte{0}) return PreambleVerdict::not_weir;
  if (received.size() < preamble_bytes) return PreambleVerdict::incomplete;
  const bool same =
      CRYPTO_memcmp(received.data() + token_at, token.bytes.data(), token.bytes.size()) == 0;
  return same ? PreambleVerdict::accepted : PreambleVerdict::wrong_token;
}

std::string explain(PreambleVerdict verdict, std::span<const std::byte> received) {
  switch (verdict) {
    case PreambleVerdict::incomplete:
      return "said only " + std::to_string(received.size()) + " of the " +
             std::to_string(preamble_bytes) + " bytes that come first";
    case PreambleVerdict::accepted:
      return "is a Weir peer";
    case PreambleVerdict::not_weir:
      return "is no Weir peer";
    case PreambleVerdict::wrong_version:
      WEIR_CHECK(received.size() >= purpose_at);
      return "speaks wire version " + std::to_string(version_in(received)) + ", this is " +
             std::to_string(wire_version);
    case PreambleVerdict::wrong_purpose:
      WEIR_CHECK(received.size() > purpose_at);
      return "came for " + name_of_purpose(received[purpose_at]) + ", which is not spoken here";
    case PreambleVerdict::wrong_token:
      return "does not know the cluster's secret";
  }
  WEIR_CHECK(false);
  return {};
}

}  // namespace weir
