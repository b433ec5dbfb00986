# Layers: one static library per folder, each reachable only through a staged include directory of
# its own, so that a layer sees its own headers, those of the layers it depends on, and no others.

# weir_stage(<folder> <variable>): sets <variable> to a directory that contains <folder> and nothing else.
function(weir_stage folder variable)
  set(stage ${PROJECT_BINARY_DIR}/include/${folder})
  file(MAKE_DIRECTORY ${stage})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${stage}/${folder} SYMBOLIC)
  set(${variable} ${stage} PARENT_SCOPE)
endfunction()

# weir_layer(<name> [UNITY] [DEPENDS <layers>...] [PUBLIC|PRIVATE <third party>...] [PRECOMPILE <headers>...])
# Sources and headers of <name>/ become target weir_<name>. A layer without sources is an INTERFACE library.
# UNITY: sources are compiled four at a time.
function(weir_layer name)
  cmake_parse_arguments(ARG "UNITY" "" "DEPENDS;PUBLIC;PRIVATE;PRECOMPILE" ${ARGN})
  list(TRANSFORM ARG_DEPENDS PREPEND weir_)
  set(target weir_${name})
  weir_stage(${name} stage)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.cc)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.h)
  list(TRANSFORM headers REPLACE "^${PROJECT_SOURCE_DIR}/${name}/" "${stage}/${name}/")
  if(sources)
    set(scope PUBLIC)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PRIVATE ${ARG_PRIVATE})
    target_compile_definitions(${target} PRIVATE WEIR_VERSION="${PROJECT_VERSION}")
    target_compile_options(${target} PRIVATE ${WEIR_WARNINGS}
      # __FILE__ in messages: "base/ids.h", wherever the tree lies.
      -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -fmacro-prefix-map=${stage}/=)
    if(ARG_PRECOMPILE)
      target_precompile_headers(${target} PRIVATE ${ARG_PRECOMPILE})
      target_compile_options(${target} PRIVATE -fpch-preprocess)
    endif()
    # What is local to a source needs a name then that no other in the layer has, and may be part of a class that is as local.
    if(ARG_UNITY AND WEIR_UNITY_BUILD)
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 4)
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${stage} FILES ${headers})
  target_link_libraries(${target} ${scope} ${ARG_DEPENDS} ${ARG_PUBLIC})
  target_compile_features(${target} ${scope} cxx_std_20)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY WEIR_LAYERS ${name})
endfunction()

# weir_schemas(<layer>): the Cap'n Proto schemas <layer>/**/*.capnp become C++ that only the layer's own sources can
# include, by the schema's path: "net/schemas/frame.capnp.h".
function(weir_schemas layer)
  find_program(WEIR_CAPNP capnp)
  find_program(WEIR_CAPNPC_CXX capnpc-c++)
  mark_as_advanced(WEIR_CAPNP WEIR_CAPNPC_CXX)
  if(NOT WEIR_CAPNP OR NOT WEIR_CAPNPC_CXX)
    message(FATAL_ERROR "capnp or capnpc-c++ not found: install capnproto (tools/setup does)")
  endif()
  set(generated ${PROJECT_BINARY_DIR}/schemas/${layer})
  file(MAKE_DIRECTORY ${generated})
  file(GLOB_RECURSE schemas CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${layer}/*.capnp)
  foreach(schema IN LISTS schemas)
    cmake_path(RELATIVE_PATH schema BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE path)
    set(outputs ${generated}/${path}.c++ ${generated}/${path}.h)
    add_custom_command(OUTPUT ${outputs} DEPENDS ${schema} VERBATIM
      COMMAND ${WEIR_CAPNP} compile -o ${WEIR_CAPNPC_CXX}:${generated} --src-prefix=${PROJECT_SOURCE_DIR} ${schema})
    target_sources(weir_${layer} PRIVATE ${outputs})
    # The generator's style, not ours.
    set_source_files_properties(${generated}/${path}.c++ PROPERTIES COMPILE_OPTIONS -w)
  endforeach()
  target_include_directories(weir_${layer} SYSTEM PRIVATE ${generated})
endfunction()
