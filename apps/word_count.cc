// Counts the words of text files: maximal runs of ASCII letters, lower-cased. Rows are word,count.
#include <functional>
#include <string>

#include "actors/launch.h"
#include "apps/words.h"

using namespace weir;

static void word_count(Job& job) {
  const auto input = job.option<std::string>("input", "files to count; a glob or several");
  job.source("lines", text_files(input).with_split_size(job.split_size()))
      .flat_map(words)
      .key_by(std::identity{})
      .count("count")
      .at_end()
      .to("out", csv_files(job.output()));
}

int main(int argc, char** argv) {
  return launch(argc, argv, word_count);
}
