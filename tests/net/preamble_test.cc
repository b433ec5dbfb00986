#include "net/preamble.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace weir {
namespace {

constexpr std::string_view secret = "correct horse battery staple";

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

ClusterToken token() {
  return *token_of_secret(secret);
}

PreambleVerdict judged(std::span<const std::byte> received) {
  return check_preamble(received, ConnectionPurpose::data, token());
}

TEST(Preamble, a_peer_with_the_same_secret_is_accepted) {
  const Preamble preamble = make_preamble(ConnectionPurpose::data, token());
  EXPECT_EQ(judged(preamble), PreambleVerdict::accepted);
  EXPECT_EQ(std::memcmp(preamble.data(), "WEIR\x01\x00\x02\x00", 8), 0);
}

TEST(Preamble, clusters_without_a_secret_accept_their_own_kind_only) {
  const Preamble open = make_preamble(ConnectionPurpose::data, {});
  EXPECT_EQ(check_preamble(open, ConnectionPurpose::data, {}), PreambleVerdict::accepted);
  EXPECT_EQ(judged(open), PreambleVerdict::wrong_token);
}

TEST(Preamble, every_part_of_it_is_incomplete) {
  const Preamble preamble = make_preamble(ConnectionPurpose::data, token());
  for (std::size_t size = 0; size < preamble_bytes; ++size) {
    const auto part = std::span(preamble).first(size);
    EXPECT_EQ(judged(part), PreambleVerdict::incomplete) << size;
    EXPECT_NE(explain(judged(part), part).find(std::to_string(size)), std::string::npos);
  }
}

TEST(Preamble, strangers_are_known_by_their_first_wrong_byte) {
  EXPECT_EQ(judged(as_bytes("G")), PreambleVerdict::not_weir);
  EXPECT_EQ(judged(as_bytes("GET / HTTP/1.1\r\n")), PreambleVerdict::not_weir);
  EXPECT_EQ(judged(as_bytes("WEIX")), PreambleVerdict::not_weir);
  EXPECT_EQ(explain(PreambleVerdict::not_weir, {}), "is no Weir peer");
}

TEST(Preamble, a_changed_byte_is_never_accepted) {
  const Preamble good = make_preamble(ConnectionPurpose::data, token());
  for (std::size_t i = 0; i < preamble_bytes; ++i) {
    Preamble bad = good;
    bad[i] ^= std::byte{0x10};
    const PreambleVerdict expected = i < 4 || i == 7 ? PreambleVerdict::not_weir
                                     : i < 6         ? PreambleVerdict::wrong_version
                                     : i == 6        ? PreambleVerdict::wrong_purpose
                                                     : PreambleVerdict::wrong_token;
    EXPECT_EQ(judged(bad), expected) << i;
  }
}

TEST(Preamble, a_refusal_says_what_was_spoken) {
  Preamble preamble = make_preamble(ConnectionPurpose::data, token());
  preamble[4] = std::byte{7};
  EXPECT_EQ(explain(judged(preamble), preamble), "speaks wire version 7, this is 1");
  preamble = make_preamble(ConnectionPurpose::control, token());
  EXPECT_EQ(explain(judged(preamble), preamble), "came for control, which is not spoken here");
  preamble = make_preamble(ConnectionPurpose::data, {});
  EXPECT_EQ(explain(judged(preamble), preamble), "does not know the cluster's secret");
}

TEST(ClusterToken, is_the_beginning_of_the_sha_256) {
  // printf 'correct horse battery staple' | sha256sum
  constexpr unsigned char expected[] = {0xc4, 0xbb, 0xcb, 0x1f, 0xbe, 0xc9, 0x9d, 0x65};
  EXPECT_EQ(std::memcmp(token().bytes.data(), expected, sizeof expected), 0);
}

TEST(ClusterToken, white_space_around_the_secret_does_not_count) {
  EXPECT_EQ(*token_of_secret("\n  correct horse battery staple\r\n"), token());
  EXPECT_NE(*token_of_secret("correct  horse battery staple"), token());
}

TEST(ClusterToken, a_short_secret_is_refused) {
  EXPECT_TRUE(token_of_secret("0123456789abcdef"));
  for (const std::string_view text : {"", "0123456789abcde", "0123456789abcde         "}) {
    const auto refused = token_of_secret(text);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::bad_option);
    EXPECT_NE(refused.error().message.find("at least 16"), std::string::npos);
  }
}

class SecretFile : public testing::Test {
 protected:
  const std::string path_ = testing::TempDir() + "/weir_secret";
  void TearDown() override { std::remove(path_.c_str()); }
  void write(std::string_view content) { std::ofstream(path_) << content; }
};

TEST_F(SecretFile, is_read) {
  write(std::string(secret) + "\n");
  EXPECT_EQ(*read_secret_file(path_), token());
}

TEST_F(SecretFile, that_is_absent_a_folder_short_or_huge_is_named) {
  std::vector<std::string> paths{path_ + "_absent", testing::TempDir(), path_, "/dev/zero"};
  write("short");
  for (const std::string& path : paths) {
    const auto refused = read_secret_file(path);
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, Errc::bad_option);
    EXPECT_NE(refused.error().message.find(path), std::string::npos) << refused.error().message;
    EXPECT_EQ(refused.error().message.find("Success"), std::string::npos);
  }
  EXPECT_NE(read_secret_file(paths[0]).error().message.find("No such file"), std::string::npos);
  EXPECT_NE(read_secret_file(paths[1]).error().message.find("Is a directory"), std::string::npos);
}

TEST_F(SecretFile, that_others_can_read_is_named_with_a_remedy) {
  write(secret);
  std::filesystem::permissions(path_, std::filesystem::perms(0600));
  EXPECT_FALSE(find_secret_readers(path_));
  std::filesystem::permissions(path_, std::filesystem::perms(0640));
  EXPECT_NE(find_secret_readers(path_)->find("chmod 600 " + path_), std::string::npos);
  EXPECT_FALSE(find_secret_readers(path_ + "_absent"));
}

}  // namespace
}  // namespace weir
