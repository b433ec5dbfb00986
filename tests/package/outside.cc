// A job outside the tree, as a user writes one.
#include <functional>
#include <string>
#include <vector>

#include "actors/launch.h"

static void count_words(weir::Job& job) {
  job.source("words",
             weir::collection(std::vector<std::string>{"to", "be", "or", "not", "to", "be"}))
      .key_by(std::identity{})
      .count("count")
      .at_end()
      .to("out", weir::print());
}

int main(int argc, char** argv) {
  return weir::launch(argc, argv, count_words);
}
