# rudder_test(LAYER SOURCES ... [LINK ...]): one GoogleTest program per folder of tests/.
#
# Every test case has a time limit, so that a hang is a failure. Tests whose suite's name begins with
# Long run in `make test-long` only (label "long").
include(GoogleTest)

function(rudder_test layer)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  set(target test_${layer})
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}/src")
  # Tests themselves need no speed, and compile a third faster so.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  add_dependencies(${target} rudder)
  target_link_libraries(${target} PRIVATE ${arg_LINK} rudder_test_support GTest::gmock_main fmt::fmt rudder_flags)
  gtest_discover_tests(${target} TEST_PREFIX "${layer}." TEST_FILTER "-Long*"
    DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 120 LABELS quick)
  gtest_discover_tests(${target} TEST_PREFIX "${layer}." TEST_FILTER "Long*" TEST_LIST long_${target}
    DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 900 LABELS long)
endfunction()
