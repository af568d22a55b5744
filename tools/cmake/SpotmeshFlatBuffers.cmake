# Internal FlatBuffers schemas: flatc's C++ at build time. Packets of a game go through
# spotmesh_add_packets() instead.

find_package(FlatBuffers REQUIRED)
find_program(SPOTMESH_FLATC NAMES flatc REQUIRED)
mark_as_advanced(SPOTMESH_FLATC)

# spotmesh_add_flatbuffers(TARGET SCHEMAS file…)
#
# For each NAME.fbs the sources of TARGET may include "NAME_generated.h".
function(spotmesh_add_flatbuffers target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SCHEMAS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SCHEMAS)
    message(FATAL_ERROR "spotmesh_add_flatbuffers(${target}): no SCHEMAS, or unknown "
                        "${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/flatbuffers")
  foreach(schema IN LISTS arg_SCHEMAS)
    get_filename_component(path "${schema}" ABSOLUTE)
    get_filename_component(name "${schema}" NAME_WE)
    set(header "${folder}/${name}_generated.h")
    add_custom_command(OUTPUT "${header}"
      COMMAND "${SPOTMESH_FLATC}" --cpp --scoped-enums -o "${folder}" "${path}"
      DEPENDS "${path}" VERBATIM)
    target_sources(${target} PRIVATE "${header}")
  endforeach()
  # As a system folder: generated code is not held to our warnings.
  # Tests read what the target reads.
  target_include_directories(${target} SYSTEM PRIVATE "${folder}" INTERFACE
                             "$<BUILD_INTERFACE:${folder}>")
endfunction()
