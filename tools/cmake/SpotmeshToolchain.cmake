# Compiler, language level, warnings, sanitizers, linker and compiler cache.

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  message(FATAL_ERROR
    "g++ ${CMAKE_CXX_COMPILER_VERSION} cannot build spotmesh: before version 13 it miscompiles "
    "coroutines. An await inside an if or while condition hangs, and a temporary that lives "
    "across an await is destroyed twice. Use clang-19: cmake --preset release")
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

set(SPOTMESH_SANITIZE "" CACHE STRING "Sanitizers to build with: empty, address or thread")
set_property(CACHE SPOTMESH_SANITIZE PROPERTY STRINGS "" address thread)

# Asserts stay on in every build: a server that has lost an invariant stops, it does not guess.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
# Quick to build is what debug is for; the sanitizers need some optimization to run in good time.
if(SPOTMESH_SANITIZE)
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
else()
  set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
endif()

add_compile_options(
  -Wall -Wextra -Wpedantic -Werror
  # A designated initializer leaves the rest at its default on purpose.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-missing-designated-field-initializers>
  -fno-omit-frame-pointer)

if(SPOTMESH_SANITIZE STREQUAL "address")
  set(_sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(SPOTMESH_SANITIZE STREQUAL "thread")
  set(_sanitize -fsanitize=thread)
elseif(SPOTMESH_SANITIZE)
  message(FATAL_ERROR
    "SPOTMESH_SANITIZE is '${SPOTMESH_SANITIZE}'; it must be empty, 'address' or 'thread'")
endif()
if(SPOTMESH_SANITIZE)
  add_compile_options(${_sanitize})
  add_link_options(${_sanitize})
endif()

find_program(SPOTMESH_LLD NAMES ld.lld-19)
mark_as_advanced(SPOTMESH_LLD)
if(SPOTMESH_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=lld)
endif()

# Paths are hashed relative to the source tree, so that several clones share what they compiled.
find_program(SPOTMESH_CCACHE NAMES ccache)
mark_as_advanced(SPOTMESH_CCACHE)
if(SPOTMESH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      "${SPOTMESH_CCACHE}")
endif()
