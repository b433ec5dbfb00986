# How everything is compiled and linked: warnings, sanitizers, compiler cache, linker.
include(CheckLinkerFlag)

set(WEIR_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                  -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms of g++ 12's optimiser: std::string's operator+ (GCC bug 105651), appending to byte vectors, and variants
  # inside optionals.
  list(APPEND WEIR_WARNINGS -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds -Wno-maybe-uninitialized)
endif()
# Only the compilers we test: a newer one may know warnings that we do not.
if(WEIR_WERROR AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)
  list(APPEND WEIR_WARNINGS -Werror)
endif()

if(WEIR_SANITIZE)
  add_compile_options(-fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${WEIR_SANITIZE})
  if(WEIR_SANITIZE MATCHES "thread")
    add_compile_options(-Wno-tsan)  # std::atomic_thread_fence in library headers
  endif()
endif()

find_program(WEIR_CCACHE ccache)
mark_as_advanced(WEIR_CCACHE)
if(WEIR_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what precompiled headers need (ccache's manual, "Precompiled headers").
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${WEIR_CCACHE})
endif()

# The first of these linkers that links a program; none: the compiler's default.
foreach(linker IN ITEMS lld gold)
  check_linker_flag(CXX -fuse-ld=${linker} WEIR_LINKER_${linker})
  if(WEIR_LINKER_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()

if(WEIR_SANITIZE MATCHES "thread" AND NOT WEIR_caf__core_library MATCHES "tsan-caf")
  message(WARNING "the packaged CAF makes the thread sanitizer report races that are none: run tools/build_tsan_caf")
endif()
