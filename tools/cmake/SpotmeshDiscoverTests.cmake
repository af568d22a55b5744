# Read by ctest at the start of a run, once for each Catch2 executable: asks it for its test cases
# and adds each as a test of its own. The includer sets spotmesh_executable, spotmesh_prefix,
# spotmesh_timeout, spotmesh_labels and spotmesh_environment.

function(spotmesh_ctest_case name specification)
  set(test "${spotmesh_prefix}: ${name}")
  add_test("${test}" "${spotmesh_executable}" -w NoTests "${specification}")
  set_tests_properties("${test}" PROPERTIES TIMEOUT "${spotmesh_timeout}"
    LABELS "${spotmesh_labels}" ENVIRONMENT "${spotmesh_environment}")
endfunction()

# A test that always fails stands for cases that cannot be listed: they must not just be missing.
function(spotmesh_ctest_broken reason)
  set(test "${spotmesh_prefix}: ${reason}")
  add_test("${test}" "${CMAKE_COMMAND}" -E false)
  set_tests_properties("${test}" PROPERTIES LABELS "${spotmesh_labels}")
endfunction()

set(_cases "${spotmesh_executable}.cases.cmake")
if(NOT EXISTS "${spotmesh_executable}")
  spotmesh_ctest_broken("is not built")
else()
  set(_listed 0)
  if("${spotmesh_executable}" IS_NEWER_THAN "${_cases}")
    execute_process(COMMAND "${spotmesh_executable}" --write-cases "${_cases}"
                    RESULT_VARIABLE _listed OUTPUT_QUIET)
  endif()
  if(_listed EQUAL 0)
    include("${_cases}")
  else()
    file(REMOVE "${_cases}")
    spotmesh_ctest_broken("cannot list its test cases (${_listed})")
  endif()
endif()
