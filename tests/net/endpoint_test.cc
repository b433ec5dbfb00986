#include "net/endpoint.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Endpoint, texts_are_read_and_written_alike) {
  for (const auto& [text, expected] :
       {std::pair<std::string, Endpoint>{"10.0.0.7:7001", {"10.0.0.7", 7001}},
        {"worker-3.example.org:1", {"worker-3.example.org", 1}},
        {"[::1]:65535", {"::1", 65535}},
        {"[fe80::1%eth0]:80", {"fe80::1%eth0", 80}}}) {
    const auto endpoint = parse_endpoint(text);
    ASSERT_TRUE(endpoint) << text;
    EXPECT_EQ(*endpoint, expected);
    EXPECT_EQ(to_string(*endpoint), text);
  }
}

TEST(Endpoint, other_texts_are_refused_and_quoted) {
  for (const std::string text :
       {"", ":", "host", "host:", ":80", "host:0", "host:65536", "host:-1", "host:+1", "host:8x",
        "host: 80", "::1:80", "[]:80", "[::1]", "[::1:80", "::1]:80", "ho st:80", "a/b:80"}) {
    const auto endpoint = parse_endpoint(text);
    ASSERT_FALSE(endpoint) << text;
    EXPECT_EQ(endpoint.error().code, Errc::bad_option);
    EXPECT_NE(endpoint.error().message.find("'" + text + "'"), std::string::npos);
  }
}

TEST(PortRange, texts_are_read_and_written_alike) {
  for (const auto& [text, expected] : {std::pair<std::string, PortRange>{"7001-7050", {7001, 7050}},
                                       {"7001", {7001, 7001}},
                                       {"0", {0, 0}}}) {
    const auto range = parse_port_range(text);
    ASSERT_TRUE(range) << text;
    EXPECT_EQ(*range, expected);
    EXPECT_EQ(to_string(*range), text);
  }
}

TEST(PortRange, other_texts_are_refused) {
  for (const std::string text :
       {"", "-", "0-5", "7-", "-7", "9-8", "1-65536", "a", "1-2-3", " 1"}) {
    const auto range = parse_port_range(text);
    ASSERT_FALSE(range) << text;
    EXPECT_EQ(range.error().code, Errc::bad_option);
  }
}

}  // namespace
}  // namespace weir
