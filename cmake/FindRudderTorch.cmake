# Finds libtorch inside a torch wheel and defines RudderTorch::torch.
#
# Looks in RUDDER_TORCH (cmake variable, then environment: the folder .../site-packages/torch), then
# in the project's .venv. Links the wheel's own libraries, so that a CUDA build needs no CUDA
# toolkit; find_package(Torch) would ask for one, and mixes installations when there are two.
#
# Sets RudderTorch_FOUND, RudderTorch_VERSION, RudderTorch_DIR and RudderTorch_CUDA.
set(RUDDER_TORCH "" CACHE PATH "Folder of torch (.../site-packages/torch); empty: the one in .venv")
if(NOT RUDDER_TORCH AND NOT "$ENV{RUDDER_TORCH}" STREQUAL "")
  # Kept, so that a later build without the variable does not change libraries.
  set_property(CACHE RUDDER_TORCH PROPERTY VALUE "$ENV{RUDDER_TORCH}")
endif()
set(_torch_given "${RUDDER_TORCH}")
if(_torch_given)
  set(_torch_places "${_torch_given}")
else()
  file(GLOB _torch_places "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
endif()

# Looked up afresh each time: whoever runs the set-up after a first configure gets what it brought.
set(RudderTorch_DIR "")
foreach(_place IN LISTS _torch_places)
  if(NOT RudderTorch_DIR AND EXISTS "${_place}/lib/libtorch_cpu.so"
     AND EXISTS "${_place}/include/torch/csrc/api/include/torch/torch.h")
    set(RudderTorch_DIR "${_place}")
  endif()
endforeach()
if(_torch_given AND NOT RudderTorch_DIR)
  message(FATAL_ERROR "RUDDER_TORCH is '${_torch_given}', which holds no lib/libtorch_cpu.so with its "
    "headers; give the folder .../site-packages/torch, or leave it empty and run make setup")
endif()

set(RudderTorch_VERSION "")
set(RudderTorch_CUDA FALSE)
if(RudderTorch_DIR)
  set(_torch_header "${RudderTorch_DIR}/include/torch/headeronly/version.h")
  if(NOT EXISTS "${_torch_header}")
    set(_torch_header "${RudderTorch_DIR}/include/torch/csrc/api/include/torch/version.h")
  endif()
  if(EXISTS "${_torch_header}")
    file(STRINGS "${_torch_header}" _torch_lines REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
    string(REGEX MATCHALL "[0-9]+" RudderTorch_VERSION "${_torch_lines}")
    list(JOIN RudderTorch_VERSION "." RudderTorch_VERSION)
  endif()
  if(EXISTS "${RudderTorch_DIR}/lib/libtorch_cuda.so")
    set(RudderTorch_CUDA TRUE)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RudderTorch
  REQUIRED_VARS RudderTorch_DIR VERSION_VAR RudderTorch_VERSION
  REASON_FAILURE_MESSAGE "run make setup, or set RUDDER_TORCH to the folder of torch you have")

if(RudderTorch_FOUND AND NOT TARGET RudderTorch::torch)
  foreach(_name c10 torch_cpu torch)
    add_library(RudderTorch::${_name}_library SHARED IMPORTED)
    set_target_properties(RudderTorch::${_name}_library PROPERTIES
      IMPORTED_LOCATION "${RudderTorch_DIR}/lib/lib${_name}.so"
      IMPORTED_SONAME "lib${_name}.so")
  endforeach()
  # The wheel's libraries need others of the wheel and, in a CUDA build, of the nvidia packages
  # beside it. The linker need not see those. At run time they are found by the libraries' own run
  # paths, and by ours: the old kind of run path (RPATH), which holds for libraries of libraries too.
  set(_torch_options "LINKER:--allow-shlib-undefined" "LINKER:--disable-new-dtags")
  file(GLOB _torch_nvidia "${RudderTorch_DIR}/../nvidia/*/lib")
  foreach(_folder "${RudderTorch_DIR}/lib" ${_torch_nvidia})
    list(APPEND _torch_options "LINKER:-rpath,${_folder}")
  endforeach()
  if(RudderTorch_CUDA)
    # Nothing of ours calls into libtorch_cuda, but loading it is what registers its kernels.
    list(APPEND _torch_options "LINKER:--no-as-needed,${RudderTorch_DIR}/lib/libtorch_cuda.so,--as-needed")
  endif()
  add_library(RudderTorch::torch INTERFACE IMPORTED)
  target_include_directories(RudderTorch::torch SYSTEM INTERFACE
    "${RudderTorch_DIR}/include" "${RudderTorch_DIR}/include/torch/csrc/api/include")
  target_link_libraries(RudderTorch::torch INTERFACE
    RudderTorch::torch_library RudderTorch::torch_cpu_library RudderTorch::c10_library)
  target_link_options(RudderTorch::torch INTERFACE ${_torch_options})
  # Wheels up to 2.6 were built with the old ABI of std::string; the library says which.
  file(STRINGS "${RudderTorch_DIR}/lib/libc10.so" _torch_abi REGEX "__cxx11" LIMIT_COUNT 1)
  target_compile_definitions(RudderTorch::torch INTERFACE
    _GLIBCXX_USE_CXX11_ABI=$<IF:$<BOOL:${_torch_abi}>,1,0>)
endif()
