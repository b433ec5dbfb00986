# Tests: tests/<folder>/**/*_test.cc become one executable, weir_<folder>_test. The test of a layer links that layer
# only; every other folder (sim, golden, api, …) links everything and runs after the apps and tools are built.
find_package(GTest REQUIRED)
include(GoogleTest)
weir_stage(tests tests_stage)

# Seconds that a test may take; sanitizers make it several times slower.
set(test_timeout 120)
if(WEIR_SANITIZE)
  set(test_timeout 900)
endif()

# What a test says does not depend on how fast it is: a third of the time that it takes to compile one is saved.
function(weir_test_settings target)
  weir_settings(${target})
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# weir_test(<folder> <linked targets>...)
function(weir_test folder)
  set(target weir_${folder}_test)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*_test.cc)
  add_executable(${target} ${sources})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_include_directories(${target} PRIVATE ${tests_stage} ${WEIR_APPS_STAGE})
  target_link_libraries(${target} PRIVATE ${ARGN} GTest::gmock GTest::gtest_main)
  # Google Test's headers are a tenth to two fifths of what a test costs to compile.
  target_precompile_headers(${target} PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  weir_test_settings(${target})
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${folder}/"
                       PROPERTIES LABELS ${folder} TIMEOUT ${test_timeout})
  set_property(GLOBAL APPEND PROPERTY WEIR_TEST_SOURCES ${sources})
endfunction()

# tests/support/*.cc: what several tests share. Pure layers' tests can use its headers only.
file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cc)
list(FILTER support_sources EXCLUDE REGEX "_test\\.cc$")
set(support weir_actors)
if(support_sources)
  add_library(weir_test_support STATIC ${support_sources})
  target_include_directories(weir_test_support PUBLIC ${tests_stage})
  target_link_libraries(weir_test_support PUBLIC weir_actors GTest::gtest)
  weir_test_settings(weir_test_support)
  set(support weir_test_support)
endif()

# tests/jobs/*.cc: programs with a job that tests run, one each.
add_custom_target(weir_test_jobs)
file(GLOB test_jobs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/jobs/*.cc)
foreach(source IN LISTS test_jobs)
  cmake_path(GET source STEM name)
  set(target weir_test_job_${name})
  add_executable(${target} ${source})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/jobs)
  target_include_directories(${target} PRIVATE ${tests_stage} ${WEIR_APPS_STAGE})
  target_link_libraries(${target} PRIVATE weir_actors)
  weir_test_settings(${target})
  add_dependencies(weir_test_jobs ${target})
endforeach()

file(GLOB_RECURSE all_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*_test.cc)
set(folders ${all_tests})
list(TRANSFORM folders REPLACE "^${PROJECT_SOURCE_DIR}/tests/([^/]+)/.*$" "\\1")
list(FILTER folders EXCLUDE REGEX "/")
list(REMOVE_DUPLICATES folders)
get_property(layers GLOBAL PROPERTY WEIR_LAYERS)
foreach(folder IN LISTS folders)
  if(folder STREQUAL "actors")
    weir_test(${folder} ${support})
  elseif(folder STREQUAL "net")
    weir_test(${folder} weir_net caf::io)
  elseif(folder IN_LIST layers)
    weir_test(${folder} weir_${folder})
  else()
    weir_test(${folder} ${support})
    add_dependencies(weir_${folder}_test weir_apps weir_tools weir_test_jobs)
  endif()
endforeach()

# No test can be lost.
get_property(built_tests GLOBAL PROPERTY WEIR_TEST_SOURCES)
list(REMOVE_ITEM all_tests ${built_tests} "")
if(all_tests)
  list(JOIN all_tests "\n  " lost)
  message(FATAL_ERROR "tests that no target builds (move them into a folder of tests/):\n  ${lost}")
endif()

# Programs with a mistake, for which the compiler must say the sentence that the API has for it.
if(TARGET weir_dataflow_test)
  file(GLOB programs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/compile_fail/*.cc)
  set(includes $<REMOVE_DUPLICATES:$<TARGET_PROPERTY:weir_dataflow_test,INCLUDE_DIRECTORIES>>)
  foreach(program IN LISTS programs)
    cmake_path(GET program STEM stem)
    add_test(NAME compile_fail/${stem}
             COMMAND ${CMAKE_COMMAND} -DSOURCE=${program}
                     "-DCOMPILE=${CMAKE_CXX_COMPILER};-std=c++20;-I$<JOIN:${includes},;-I>"
                     -P ${PROJECT_SOURCE_DIR}/tests/compile_fail/compile.cmake)
    set_tests_properties(compile_fail/${stem} PROPERTIES LABELS compile_fail TIMEOUT 120)
  endforeach()
endif()

# The page of the API shows code that compiles.
if(TARGET weir_flow_test)
  set(includes $<REMOVE_DUPLICATES:$<TARGET_PROPERTY:weir_flow_test,INCLUDE_DIRECTORIES>>)
  add_test(NAME docs/the_api_compiles
           COMMAND ${CMAKE_COMMAND} -DPAGE=${PROJECT_SOURCE_DIR}/docs/API.md
                   -DPROGRAM=${PROJECT_BINARY_DIR}/tests/api_page.cc
                   "-DCOMPILE=${CMAKE_CXX_COMPILER};-std=c++20;-I$<JOIN:${includes},;-I>"
                   -P ${PROJECT_SOURCE_DIR}/tests/docs/compile_api.cmake)
  set_tests_properties(docs/the_api_compiles PROPERTIES LABELS docs TIMEOUT 300)
endif()

add_test(NAME structure COMMAND ${PROJECT_SOURCE_DIR}/tools/check_structure)
set_tests_properties(structure PROPERTIES LABELS structure TIMEOUT 120)

# A program outside the tree finds, builds against and runs with what is installed.
if(NOT WEIR_SANITIZE)
  set(package_dir ${PROJECT_BINARY_DIR}/tests/package)
  add_test(NAME package/install
           COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --prefix ${package_dir}/prefix)
  add_test(NAME package/a_program_outside_the_tree_builds_and_runs
           COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${PROJECT_SOURCE_DIR}/tests/package ${package_dir}/build
                   --build-generator ${CMAKE_GENERATOR} --build-options -DCMAKE_PREFIX_PATH=${package_dir}/prefix -DCMAKE_BUILD_TYPE=Release
                   --test-command ${package_dir}/build/outside)
  set_tests_properties(package/install PROPERTIES LABELS package TIMEOUT 120 FIXTURES_SETUP installed)
  set_tests_properties(package/a_program_outside_the_tree_builds_and_runs PROPERTIES
                       LABELS package TIMEOUT 300 FIXTURES_REQUIRED installed)
  foreach(tool IN ITEMS node job inspect)
    add_test(NAME package/weir_${tool}_is_installed COMMAND ${package_dir}/prefix/${CMAKE_INSTALL_BINDIR}/weir_${tool} --version)
    set_tests_properties(package/weir_${tool}_is_installed PROPERTIES
                         LABELS package TIMEOUT 120 FIXTURES_REQUIRED installed)
  endforeach()
endif()
