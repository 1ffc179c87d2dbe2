# Options of the build, and the flags every target of ours is compiled with.
include(CMakeDependentOption)

set(rudder_top_level ${PROJECT_IS_TOP_LEVEL})
set(RUDDER_TESTS AUTO CACHE STRING "Build the tests: AUTO (if GoogleTest is there), ON or OFF")
option(RUDDER_BENCHMARKS "Build the benchmarks" OFF)
option(RUDDER_WERROR "Treat warnings as errors; our own checks do" OFF)
option(RUDDER_UNITY "Compile the sources of a target ten at a time" ON)
option(RUDDER_MPI "Ranks in several processes, over MPI" ON)
option(RUDDER_COVERAGE "Count which lines run (gcov)" OFF)
option(RUDDER_FUZZ "Build the fuzzers of tests/fuzz with libFuzzer; needs Clang" OFF)
# Parts that a build may do without: AUTO takes a library that is there, ON insists on it, OFF leaves it out.
foreach(part IN ITEMS METIS CURL MICROHTTPD LIBLINEAR XGBOOST ZSTD PARQUET CUDA)
  set(RUDDER_${part} AUTO CACHE STRING "Build with ${part}: AUTO (if it is there), ON or OFF")
  set_property(CACHE RUDDER_${part} PROPERTY STRINGS AUTO ON OFF)
endforeach()
set(RUDDER_CUDA_CHIPS 80 90 100 CACHE STRING "Compute capabilities that kernels are compiled for, times ten; others run their PTX")
set(RUDDER_PYTHON AUTO CACHE STRING "Build the Python module: AUTO (with the tests, if .venv has nanobind), ON or OFF")
set_property(CACHE RUDDER_PYTHON PROPERTY STRINGS AUTO ON OFF)
set(RUDDER_SANITIZE "" CACHE STRING "Sanitizers to compile with: address, thread or empty")
set(RUDDER_CHECKS "normal" CACHE STRING "Assertion level: light, normal or heavy")
set_property(CACHE RUDDER_SANITIZE PROPERTY STRINGS "" address thread)
set_property(CACHE RUDDER_CHECKS PROPERTY STRINGS light normal heavy)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Type of build" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# Most of a file's compile time is its headers: ten files together take as long as three alone. Names
# in unnamed namespaces are therefore unique within a layer.
if(RUDDER_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 10)
endif()

find_program(rudder_ccache ccache)
if(rudder_ccache AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${rudder_ccache}")
endif()
find_program(rudder_mold mold)
if(rudder_mold AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1)
  add_link_options(-fuse-ld=mold)
endif()

# Flags of our own code only: an installed consumer never inherits them.
add_library(rudder_flags INTERFACE)
target_compile_features(rudder_flags INTERFACE cxx_std_20)
target_compile_options(rudder_flags INTERFACE
  -Wall -Wextra -Wpedantic $<$<NOT:$<BOOL:${RUDDER_UNITY}>>:-Wshadow> -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual -Wcast-align -Wunused -Wdouble-promotion -Wno-missing-field-initializers
  # GCC 12 finds overlaps in ("x" + std::string) that are not there (its bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # Files compiled together see each other's unnamed namespaces; the preset dev looks at each alone.
  $<$<AND:$<BOOL:${RUDDER_UNITY}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage$<SEMICOLON>-Wshadow=local>
  # Under sanitizers GCC takes members of variants for uninitialised that are not looked at, and finds
  # bounds that are passed where they are not.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<STREQUAL:${RUDDER_SANITIZE},>>>:-Wno-maybe-uninitialized$<SEMICOLON>-Wno-array-bounds$<SEMICOLON>-Wno-stringop-overread>
  $<$<BOOL:${RUDDER_WERROR}>:-Werror>
  # Messages name files below the project's folder, wherever it lies; a compiler cache finds them again, too.
  "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/="
  $<$<CONFIG:Release>:-fno-math-errno>)
target_compile_definitions(rudder_flags INTERFACE
  RUDDER_CHECK_LEVEL=$<IF:$<STREQUAL:${RUDDER_CHECKS},heavy>,2,$<IF:$<STREQUAL:${RUDDER_CHECKS},normal>,1,0>>
  $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
# Sanitizers find the same at -O1 with line numbers alone, and GCC compiles them in less than half the
# time it takes with -O2 -g.
if(RUDDER_SANITIZE)
  string(REPLACE "-O2 -g" "-O1 -g1" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
  string(REPLACE "-O2 -g" "-O1 -g1" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")
endif()
if(RUDDER_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(RUDDER_SANITIZE STREQUAL "thread")
  # GCC warns that this sanitizer does not understand fences; what ours order is atomic by itself.
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  add_link_options(-fsanitize=thread)
elseif(RUDDER_SANITIZE)
  message(FATAL_ERROR "RUDDER_SANITIZE is '${RUDDER_SANITIZE}'; it may be address, thread or empty")
endif()
if(RUDDER_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
if(RUDDER_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "RUDDER_FUZZ needs Clang with libFuzzer (libclang-rt-14-dev): use the preset fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
