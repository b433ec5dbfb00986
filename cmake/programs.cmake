# Executables: every apps/*.cc and tools/*.cc is one; bench/ is one. They lie in the build tree as
# their sources do in the source tree: build/release/apps/word_count.

weir_stage(apps WEIR_APPS_STAGE)
weir_stage(tools WEIR_TOOLS_STAGE)
weir_stage(bench WEIR_BENCH_STAGE)

# weir_settings(<target>): what all executables of this tree have in common.
function(weir_settings target)
  target_compile_options(${target} PRIVATE ${WEIR_WARNINGS} -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
  target_compile_definitions(${target} PRIVATE WEIR_VERSION="${PROJECT_VERSION}"
    WEIR_SOURCE_DIR="${PROJECT_SOURCE_DIR}" WEIR_BINARY_DIR="${PROJECT_BINARY_DIR}")
endfunction()

# weir_programs(<folder> <target prefix> <stage>): one executable per source file; target weir_<folder> builds them all.
function(weir_programs folder prefix stage)
  add_custom_target(weir_${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    set(target ${prefix}${name})
    add_executable(${target} ${source})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
                          RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
    target_include_directories(${target} PRIVATE ${stage})
    target_link_libraries(${target} PRIVATE weir_actors ${ARGN})
    weir_settings(${target})
    add_dependencies(weir_${folder} ${target})
  endforeach()
endfunction()

weir_programs(apps "" ${WEIR_APPS_STAGE})
weir_programs(tools weir_ ${WEIR_TOOLS_STAGE} CLI11::CLI11)

file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cc
     ${PROJECT_SOURCE_DIR}/bench/limits/*.cc)
if(WEIR_BUILD_BENCH AND bench_sources)
  add_executable(weir_bench ${bench_sources})
  set_target_properties(weir_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_include_directories(weir_bench PRIVATE ${WEIR_BENCH_STAGE})
  target_link_libraries(weir_bench PRIVATE weir_actors CLI11::CLI11)
  weir_settings(weir_bench)
  add_dependencies(weir_bench weir_tools)  # it starts nodes
endif()
