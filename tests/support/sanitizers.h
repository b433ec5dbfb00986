// Which sanitizers are in the tests, for what these do to memory, signals and time.
#pragma once

namespace weir {

// With it comes the one for undefined behaviour, of which the compiler does not tell.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool has_address_sanitizer = true;
#else
inline constexpr bool has_address_sanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool has_thread_sanitizer = true;
#else
inline constexpr bool has_thread_sanitizer = false;
#endif

inline constexpr bool has_sanitizer = has_address_sanitizer || has_thread_sanitizer;

// For how long something may take: programs with a sanitizer in them take their time, above all to start.
inline constexpr int patience_factor = has_sanitizer ? 6 : 1;

// The longest random tests try one in so many of their seeds with a sanitizer: the address sanitizer takes some 25 times as long for each.
inline constexpr unsigned seeds_divisor = has_sanitizer ? 5 : 1;

// For bounds of resident memory: a sanitizer's shadow takes several times what the program does.
inline constexpr long shadow_factor = has_sanitizer ? 10 : 1;

// UBSan finds out with a pipe whether an object can be read before it looks at its type.
inline constexpr const char* needs_descriptors =
    "without a descriptor the undefined-behaviour sanitizer takes every object for a damaged one";

inline constexpr const char* needs_memory =
    "a sanitizer's shadow alone is beyond every memory limit of a process";

}  // namespace weir
