#include "actors/remote_message.h"

#include <gtest/gtest.h>

#include <caf/all.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <string>
#include <vector>

#include "actors/messages.h"

namespace weir {
namespace {

LogText log_of(std::size_t bytes) {
  return {std::string(bytes, 'x'), 0, {}};
}

TEST(RemoteMessage, arrives_as_it_was_sent) {
  std::vector<char> wire;
  caf::binary_serializer sink(nullptr, wire);
  ASSERT_FALSE(sink(log_of(1000)));
  caf::binary_deserializer source(nullptr, wire);
  LogText received;
  ASSERT_FALSE(source(received));
  EXPECT_EQ(received.text, std::string(1000, 'x'));
}

// CAF drops what cannot be loaded, and keeps the connection.
TEST(RemoteMessage, that_is_too_large_ends_no_process_and_cannot_be_loaded) {
  const LogText large = log_of(remote_message_bytes_max);
  EXPECT_FALSE(fits_remote_message(large));
  EXPECT_TRUE(fits_remote_message(log_of(1000)));
  std::vector<char> wire;
  caf::binary_serializer sink(nullptr, wire);
  testing::internal::CaptureStderr();
  ASSERT_FALSE(sink(large));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("was not sent"), std::string::npos);
  EXPECT_LT(wire.size(), 100U);
  caf::binary_deserializer source(nullptr, wire);
  LogText received;
  EXPECT_TRUE(source(received));
}

}  // namespace
}  // namespace weir
