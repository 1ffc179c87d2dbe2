# rudder_test(LAYER SOURCES ... [LINK ...]): one GoogleTest program per folder of tests/.
#
# Every test case has a time limit, so that a hang is a failure. Tests whose suite's name begins with
# Long run in `make test-long` only (label "long").
include(GoogleTest)

# rudder_paths(TARGET NAME PATH ...): macros that name files. They stand in a header, not on the command line: what does
# not use them is then the same in every folder, and a compiler cache finds it.
function(rudder_paths target)
  set(header "${CMAKE_CURRENT_BINARY_DIR}/${target}_paths.hpp")
  set(text "#pragma once\n")
  while(ARGN)
    list(POP_FRONT ARGN name path)
    string(APPEND text "#define ${name} \"${path}\"\n")
  endwhile()
  file(GENERATE OUTPUT "${header}" CONTENT "${text}")
  target_compile_options(${target} PRIVATE -include "${header}")
endfunction()

# Tests that need a part which a build may lack. There they are left out, and one test stands for them that is
# skipped with the reason. (Fitting of trees skips itself: XGBoost is looked for when it runs.)
set(rudder_tests_METIS "EveryMethod*/metis:GraphMethod*/metis:Metis.*:Layout.IsTheSame*:Layout.Clusters*:MustWork.*:\
Determinism.Partition:*CliRoundTrip*:JsonOutput.OfAPartition")
set(rudder_tests_CURL "LlmAgent.*:LlmChat.*:LlmHttp.*:LlmEndpoint.*:BadReplies.*:LiveReplies.*:LiveHarm.*:AgentVerbs.BadReplies*:\
AgentVerbs.AHostileServer*:AgentVerbs.TheKeyOfAModel*:ExplainWordsLive.*:ExplainCli.InTheWords*")
set(rudder_tests_MICROHTTPD "PrometheusHttp.*:SinksOf.MetricsCan*:SinksOf.APort*")
set(rudder_tests_LIBLINEAR "*Fitting*/0:*Fitting*/1:ClassifierVerbs.*")
set(rudder_tests_ZSTD "Coded*:*.TheSameRowsCoded:*.CodedOrNot:*.CodedWhere*:Train.CodedMessages*:Resume.CodedMessages*:Train.TheDigest*:*.CodedAnswers*:ZstdBytes.*")
set(rudder_tests_PARQUET "Parquet*")
set(rudder_left_out "")
foreach(part IN ITEMS METIS CURL MICROHTTPD LIBLINEAR ZSTD PARQUET)
  if(NOT RUDDER_HAS_${part})
    string(APPEND rudder_left_out ":${rudder_tests_${part}}")
    add_test(NAME parts.${part} COMMAND "${CMAKE_COMMAND}" -E echo
      "SKIPPED: this build has no ${part}, which ${rudder_tests_${part}} need")
    set_tests_properties(parts.${part} PROPERTIES LABELS quick SKIP_REGULAR_EXPRESSION "SKIPPED: ")
  endif()
endforeach()

# Seconds for a quick and a long one; sanitizers and counters of lines take their time.
set(rudder_quick_timeout 120)
set(rudder_long_timeout 900)
if(RUDDER_SANITIZE OR RUDDER_COVERAGE)
  set(rudder_quick_timeout 900)
  set(rudder_long_timeout 3600)
endif()

function(rudder_test layer)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  set(target test_${layer})
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}/src")
  # Tests themselves need no speed, and compile a third faster so.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  add_dependencies(${target} rudder)
  target_link_libraries(${target} PRIVATE ${arg_LINK} rudder_test_support GTest::gmock_main fmt::fmt rudder_flags)
  gtest_discover_tests(${target} TEST_PREFIX "${layer}." TEST_FILTER "-Long*${rudder_left_out}"
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${rudder_quick_timeout} LABELS quick)
  gtest_discover_tests(${target} TEST_PREFIX "${layer}." TEST_FILTER "Long*" TEST_LIST long_${target}
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${rudder_long_timeout} LABELS long)
endfunction()
