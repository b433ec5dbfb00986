#include "base/errc.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weir {
namespace {

struct CatalogueLine {
  std::string name;
  std::string advice;
};

// The enumerators of errc.h in their order, as its text has them.
std::vector<CatalogueLine> catalogue() {
  std::ifstream header(WEIR_SOURCE_DIR "/base/errc.h");
  std::vector<CatalogueLine> lines;
  bool inside = false;
  std::string advice;
  for (std::string line; std::getline(header, line);) {
    if (line.starts_with("enum class Errc")) {
      inside = true;
    } else if (inside && line.starts_with("}")) {
      break;
    } else if (inside && line.starts_with("  // ")) {
      advice = line.substr(5);
    } else if (inside) {
      lines.push_back({line.substr(2, line.find(',') - 2), std::exchange(advice, "")});
    }
  }
  return lines;
}

TEST(Errc, every_code_is_named_as_it_is_written) {
  const auto lines = catalogue();
  ASSERT_FALSE(lines.empty());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(name_of(static_cast<Errc>(i)), lines[i].name);
  }
}

TEST(Errc, no_two_codes_share_a_name) {
  const auto lines = catalogue();
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < lines.size(); ++i) names.insert(name_of(static_cast<Errc>(i)));
  EXPECT_EQ(names.size(), lines.size());
}

TEST(Errc, every_code_comes_with_a_sentence_of_advice) {
  for (const auto& [name, advice] : catalogue()) {
    EXPECT_TRUE(advice.ends_with('.')) << name << ": " << advice;
  }
}

TEST(ErrcDeathTest, a_number_that_is_no_code_ends_the_process) {
  EXPECT_DEATH((void)name_of(static_cast<Errc>(1000)), "check failed");
}

}  // namespace
}  // namespace weir
