// Assertions for programmer errors. They stay on in release builds: a broken invariant must stop
// the process, not produce a wrong result. What can fail without a bug in this program (input,
// I/O, peers, user code) returns Result instead.
#pragma once

#include <cstdio>
#include <cstdlib>

#define WEIR_CHECK(condition)                                                            \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
