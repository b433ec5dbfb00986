#include <cstdio>

#include "base/time.h"

int main() {
  std::puts(to_string(weir::EventTime{0}).c_str());
}
