# find_package(weir): target weir::weir.
include("${CMAKE_CURRENT_LIST_DIR}/packages.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/weirTargets.cmake")
