# find_package(weir): target weir::weir.
include("${CMAKE_CURRENT_LIST_DIR}/packages.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/weirTargets.cmake")

# Operators are templates that the user's program compiles: without optimisation they are about eight times slower.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  message(WARNING "weir: CMAKE_BUILD_TYPE is not set, so jobs are built without optimisation: pass -DCMAKE_BUILD_TYPE=Release")
endif()
