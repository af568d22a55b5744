# spotmesh_add_packets(TARGET SCHEMAS file.fbs… [INCLUDES directory…])
#
# Compiles schemas while TARGET is built and adds the result to it: `#include "file.packets.hpp"`
# for the packets, "file.views.hpp" for zero-copy views. Whoever links TARGET can include them as
# well. Schemas that a schema includes have to be listed too, here or for a target that TARGET
# links; a change in any file that is listed or lies in an INCLUDES directory compiles them anew.
function(spotmesh_add_packets target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SCHEMAS;INCLUDES")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SCHEMAS)
    message(FATAL_ERROR "spotmesh_add_packets(${target}): give SCHEMAS, and perhaps INCLUDES; "
                        "not understood: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  set(directory "${CMAKE_CURRENT_BINARY_DIR}/${target}_packets")
  set(schemas "")
  set(outputs "")
  set(sources "")
  foreach(schema IN LISTS arg_SCHEMAS)
    get_filename_component(schema "${schema}" ABSOLUTE)
    get_filename_component(stem "${schema}" NAME_WLE)
    list(APPEND schemas "${schema}")
    list(APPEND sources "${directory}/${stem}.packets.cpp")
    list(APPEND outputs "${directory}/${stem}.packets.cpp" "${directory}/${stem}.packets.hpp"
                        "${directory}/${stem}.views.hpp")
  endforeach()
  set(include_flags "")
  set(included "")
  foreach(include IN LISTS arg_INCLUDES)
    get_filename_component(include "${include}" ABSOLUTE)
    list(APPEND include_flags --include "${include}")
    file(GLOB_RECURSE found CONFIGURE_DEPENDS "${include}/*.fbs")
    list(APPEND included ${found})
  endforeach()
  # The compiler leaves files alone whose text is the same; the stamp tells the build that they are
  # up to date all the same.
  set(stamp "${directory}/packets.stamp")
  add_custom_command(
    OUTPUT "${stamp}"
    BYPRODUCTS ${outputs}
    COMMAND spotmesh-packetc cpp --out "${directory}" ${include_flags} -- ${schemas}
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS spotmesh-packetc ${schemas} ${included}
    COMMENT "Compiling packets of ${target}"
    VERBATIM)
  add_custom_target(${target}_packets DEPENDS "${stamp}")
  add_dependencies(${target} ${target}_packets)
  target_sources(${target} PRIVATE ${sources})
  set_source_files_properties(${outputs} PROPERTIES GENERATED TRUE)
  target_include_directories(${target} PUBLIC "${directory}")
  target_link_libraries(${target} PUBLIC spotmesh_base)
endfunction()
