# The vocabulary of the build: modules, their link tests, unit tests and public headers.

find_package(Threads REQUIRED)

set(SPOTMESH_FRAMEWORK_DIR "${PROJECT_SOURCE_DIR}/framework")
set(SPOTMESH_TESTS_DIR "${PROJECT_SOURCE_DIR}/tests")

function(spotmesh_add_subdirectory_if_present directory)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${directory}/CMakeLists.txt")
    add_subdirectory("${PROJECT_SOURCE_DIR}/${directory}" "${PROJECT_BINARY_DIR}/${directory}")
  endif()
endfunction()

# Adds every folder directly below `area` that has a CMakeLists.txt, in alphabetical order. The
# folder tests/unit is an area of its own and holds no CMakeLists.txt itself.
function(spotmesh_add_each_subdirectory area)
  file(GLOB lists CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
       "${PROJECT_SOURCE_DIR}/${area}/*/CMakeLists.txt")
  list(SORT lists)
  foreach(list_file IN LISTS lists)
    get_filename_component(directory "${list_file}" DIRECTORY)
    spotmesh_add_subdirectory_if_present("${directory}")
  endforeach()
endfunction()

function(spotmesh_require_listed_modules)
  file(GLOB lists CONFIGURE_DEPENDS RELATIVE "${SPOTMESH_FRAMEWORK_DIR}"
       "${SPOTMESH_FRAMEWORK_DIR}/*/CMakeLists.txt" "${SPOTMESH_FRAMEWORK_DIR}/*/*/CMakeLists.txt")
  foreach(list_file IN LISTS lists)
    get_filename_component(module "${list_file}" DIRECTORY)
    if(NOT module IN_LIST SPOTMESH_MODULE_STACK)
      message(FATAL_ERROR
        "framework/${module} has no place in SPOTMESH_MODULE_STACK of the top CMakeLists.txt")
    endif()
  endforeach()
endfunction()

# Turns each name into a target: `runtime` means spotmesh_runtime, anything else stays as it is.
function(_spotmesh_resolve_targets out)
  set(resolved "")
  foreach(name IN LISTS ARGN)
    if(TARGET spotmesh_${name})
      list(APPEND resolved spotmesh_${name})
    else()
      list(APPEND resolved ${name})
    endif()
  endforeach()
  set(${out} ${resolved} PARENT_SCOPE)
endfunction()

# spotmesh_module(NAME [DEPENDS module…] [PUBLIC_LINKS target…] [PRIVATE_LINKS target…])
#
# Makes spotmesh_<NAME> from every .cpp of the calling folder, and an executable link_<NAME> that
# takes in the whole archive and links nothing but what the module declares: a symbol used from a
# module that is not declared fails there.
function(spotmesh_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS;PUBLIC_LINKS;PRIVATE_LINKS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "spotmesh_module(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target spotmesh_${name})
  _spotmesh_resolve_targets(depends ${arg_DEPENDS})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  if(NOT sources)
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE "${SPOTMESH_FRAMEWORK_DIR}/include"
                                                   "${SPOTMESH_FRAMEWORK_DIR}")
    target_link_libraries(${target} INTERFACE ${depends} ${arg_PUBLIC_LINKS})
    return()
  endif()
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC "${SPOTMESH_FRAMEWORK_DIR}/include"
                                              "${SPOTMESH_FRAMEWORK_DIR}")
  target_link_libraries(${target} PUBLIC ${depends} ${arg_PUBLIC_LINKS}
                                  PRIVATE ${arg_PRIVATE_LINKS})

  add_executable(link_${name} "${SPOTMESH_TESTS_DIR}/support/link_main.cpp")
  target_link_libraries(link_${name} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,${target}>")
  add_test(NAME link_${name} COMMAND link_${name})
  set_tests_properties(link_${name} PROPERTIES TIMEOUT 30 LABELS "link")
endfunction()

# Catch2's own main, compiled once for all test executables.
if(NOT TARGET spotmesh_test_main)
  find_package(Catch2 2 REQUIRED CONFIG)
  add_library(spotmesh_test_main STATIC "${SPOTMESH_TESTS_DIR}/support/test_main.cpp")
  target_link_libraries(spotmesh_test_main PUBLIC Catch2::Catch2 Threads::Threads)
  target_include_directories(spotmesh_test_main PUBLIC "${SPOTMESH_TESTS_DIR}")
endif()

# spotmesh_unit_test(NAME DEPENDS target… [LABELS label…] [TIMEOUT seconds])
#
# Makes the executable unit_<NAME> from every .cpp of the calling folder and registers it with ctest
# under that name. The label `threaded` makes it run under ThreadSanitizer as well.
function(spotmesh_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "DEPENDS;LABELS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "spotmesh_unit_test(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  _spotmesh_resolve_targets(depends ${arg_DEPENDS})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  add_executable(unit_${name} ${sources})
  target_link_libraries(unit_${name} PRIVATE ${depends} spotmesh_test_main)
  add_test(NAME unit_${name} COMMAND unit_${name})
  set_tests_properties(unit_${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "unit;${arg_LABELS}")
endfunction()

# Every public header is compiled alone by the target all_verify_interface_header_sets.
function(spotmesh_public_headers)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${SPOTMESH_FRAMEWORK_DIR}/include/spotmesh/*.hpp")
  add_library(spotmesh_headers INTERFACE)
  target_sources(spotmesh_headers INTERFACE FILE_SET HEADERS
                 BASE_DIRS "${SPOTMESH_FRAMEWORK_DIR}/include" FILES ${headers})
  set_target_properties(spotmesh_headers PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()
