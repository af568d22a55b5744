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

# The main of all Catch2 executables, compiled once.
if(NOT TARGET spotmesh_test_main)
  find_package(Catch2 2 REQUIRED CONFIG)
  add_library(spotmesh_test_main STATIC "${SPOTMESH_TESTS_DIR}/support/test_main.cpp")
  target_link_libraries(spotmesh_test_main PUBLIC Catch2::Catch2 Threads::Threads)
  target_include_directories(spotmesh_test_main PUBLIC "${SPOTMESH_TESTS_DIR}")
endif()

# What tests/run.sh --sanitize thread builds: all that the tests labelled `threaded` need.
add_custom_target(spotmesh_threaded_tests)

# Sanitized code is several times slower; every time limit is stretched alike.
if(SPOTMESH_SANITIZE)
  set(SPOTMESH_TIMEOUT_FACTOR 4)
else()
  set(SPOTMESH_TIMEOUT_FACTOR 1)
endif()

# The sanitizers' run time finds no symbolizer under its versioned name by itself.
find_program(SPOTMESH_SYMBOLIZER NAMES llvm-symbolizer-19)
mark_as_advanced(SPOTMESH_SYMBOLIZER)
if(SPOTMESH_SYMBOLIZER)
  set(_symbolizer ":external_symbolizer_path=${SPOTMESH_SYMBOLIZER}")
endif()

set(SPOTMESH_TEST_ENVIRONMENT
    "SPOTMESH_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
    "SPOTMESH_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
    "SPOTMESH_SANITIZE=${SPOTMESH_SANITIZE}"
    "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1${_symbolizer}"
    "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1${_symbolizer}"
    "UBSAN_OPTIONS=print_stacktrace=1${_symbolizer}")

# Labels say where a test also runs: `threaded` under ThreadSanitizer; `browser`, `style` and `link`
# not under AddressSanitizer.
function(_spotmesh_require_labels test)
  foreach(label IN LISTS ARGN)
    if(NOT label MATCHES "^(unit|simulation|conformance|e2e|fuzz|threaded|browser|style|link)$")
      message(FATAL_ERROR "${test}: unknown label '${label}'")
    endif()
  endforeach()
endfunction()

# spotmesh_catch_test(TARGET DEPENDS target… [SOURCES file…] [LABELS label…] [TIMEOUT seconds])
#
# Makes the executable TARGET from SOURCES (every .cpp of the calling folder if omitted) and adds
# each of its test cases to ctest as "TARGET: <case> [tags]". TIMEOUT, 120 if omitted, holds for one
# case.
function(spotmesh_catch_test target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "DEPENDS;SOURCES;LABELS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "spotmesh_catch_test(${target}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  endif()
  _spotmesh_require_labels(${target} ${arg_LABELS})
  _spotmesh_resolve_targets(depends ${arg_DEPENDS})
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${depends} spotmesh_test_main)
  if("threaded" IN_LIST arg_LABELS)
    add_dependencies(spotmesh_threaded_tests ${target})
  endif()

  math(EXPR timeout "${arg_TIMEOUT} * ${SPOTMESH_TIMEOUT_FACTOR}")
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${target}.ctest.cmake")
  file(WRITE "${script}" "set(spotmesh_executable \"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${target}\")
set(spotmesh_prefix \"${target}\")
set(spotmesh_timeout ${timeout})
set(spotmesh_labels \"${arg_LABELS}\")
set(spotmesh_environment \"${SPOTMESH_TEST_ENVIRONMENT}\")
include(\"${PROJECT_SOURCE_DIR}/tools/cmake/SpotmeshDiscoverTests.cmake\")
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${script}")
endfunction()

# spotmesh_unit_test(NAME [OPTIMIZED] DEPENDS target… [LABELS label…] [TIMEOUT seconds])
#
# The Catch2 executable unit_<NAME> from every .cpp of the calling folder. OPTIMIZED is for tests
# that compute much by themselves; what others test is optimized, and they compile in half the time.
function(spotmesh_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMIZED" "TIMEOUT" "DEPENDS;LABELS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "spotmesh_unit_test(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  spotmesh_catch_test(unit_${name} DEPENDS ${arg_DEPENDS} LABELS unit ${arg_LABELS}
                      TIMEOUT ${arg_TIMEOUT})
  if(NOT arg_OPTIMIZED)
    target_compile_options(unit_${name} PRIVATE -O0)
  endif()
endfunction()

# spotmesh_script_test(NAME COMMAND command… [DEPENDS target…] [LABELS label…] [TIMEOUT seconds])
#
# A command that succeeds with exit code 0, run at the top of the source tree. It finds executables
# in $SPOTMESH_BIN_DIR. DEPENDS names the executables it needs.
function(spotmesh_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;DEPENDS;LABELS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_COMMAND)
    message(FATAL_ERROR "spotmesh_script_test(${name}): no COMMAND, or unknown "
                        "${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  math(EXPR timeout "${arg_TIMEOUT} * ${SPOTMESH_TIMEOUT_FACTOR}")
  _spotmesh_require_labels(${name} ${arg_LABELS})
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} LABELS "${arg_LABELS}"
                       ENVIRONMENT "${SPOTMESH_TEST_ENVIRONMENT}")
  if("threaded" IN_LIST arg_LABELS AND arg_DEPENDS)
    add_dependencies(spotmesh_threaded_tests ${arg_DEPENDS})
  endif()
endfunction()

# Every public header is compiled alone by the target all_verify_interface_header_sets.
function(spotmesh_public_headers)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${SPOTMESH_FRAMEWORK_DIR}/include/spotmesh/*.hpp")
  add_library(spotmesh_headers INTERFACE)
  target_sources(spotmesh_headers INTERFACE FILE_SET HEADERS
                 BASE_DIRS "${SPOTMESH_FRAMEWORK_DIR}/include" FILES ${headers})
  set_target_properties(spotmesh_headers PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()
