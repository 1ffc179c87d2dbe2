# rudder_kernels(OBJECTS FILE ...): compiles files of kernels with nvcc alone, which needs no GPU, into the list of object
# files OBJECTS. For the compute capabilities of RUDDER_CUDA_CHIPS that this nvcc knows, and as PTX for all later chips.
execute_process(COMMAND "${CUDAToolkit_NVCC_EXECUTABLE}" --list-gpu-arch OUTPUT_VARIABLE rudder_cuda_known
  ERROR_QUIET)
set(RUDDER_CUDA_FLAGS "")
set(RUDDER_CUDA_NAMES "")
foreach(number IN LISTS RUDDER_CUDA_CHIPS)
  if(rudder_cuda_known MATCHES "compute_${number}\n")
    list(APPEND RUDDER_CUDA_FLAGS "-gencode=arch=compute_${number},code=sm_${number}")
    string(APPEND RUDDER_CUDA_NAMES "sm_${number} ")
  endif()
endforeach()
list(APPEND RUDDER_CUDA_FLAGS "-gencode=arch=compute_80,code=compute_80")
string(APPEND RUDDER_CUDA_NAMES "PTX 8.0")
# The host's half goes through the compiler of everything else where nvcc can use it.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND RUDDER_CUDA_FLAGS "-ccbin=${CMAKE_CXX_COMPILER}")
endif()

function(rudder_kernels objects)
  set(made "")
  foreach(file IN LISTS ARGN)
    get_filename_component(name "${file}" NAME_WE)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/kernels_${name}.o")
    # No product and sum in one rounding: bits are then those of the twin.
    add_custom_command(OUTPUT "${object}"
      COMMAND "${CUDAToolkit_NVCC_EXECUTABLE}" -std=c++20 -O3 --fmad=false -Xcompiler=-fPIC ${RUDDER_CUDA_FLAGS}
        "-I${PROJECT_SOURCE_DIR}/include" "-I${PROJECT_SOURCE_DIR}/src" -MD -MF "${object}.d"
        -c "${CMAKE_CURRENT_SOURCE_DIR}/${file}" -o "${object}"
      DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${file}"
      DEPFILE "${object}.d"
      COMMENT "Compiling kernels ${file}"
      VERBATIM)
    set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    list(APPEND made "${object}")
  endforeach()
  set(${objects} "${made}" PARENT_SCOPE)
endfunction()
