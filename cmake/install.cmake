# Installation: the layers' headers under include/weir, the static libraries, and find_package(weir).
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weir)

get_property(layers GLOBAL PROPERTY WEIR_LAYERS)
list(TRANSFORM layers PREPEND weir_ OUTPUT_VARIABLE layer_targets)
install(TARGETS ${layer_targets} weir EXPORT weir
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weir)
# tools/node and its like under names that nobody else's programs have.
foreach(tool IN ITEMS node job inspect)
  install(PROGRAMS $<TARGET_FILE:weir_${tool}> DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME weir_${tool})
endforeach()
install(EXPORT weir NAMESPACE weir:: FILE weirTargets.cmake DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/weirConfig.cmake ${PROJECT_SOURCE_DIR}/cmake/packages.cmake
              ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake DESTINATION ${config_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
