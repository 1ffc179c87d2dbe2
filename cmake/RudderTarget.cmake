# rudder_layer(NAME SOURCES ... [LINK ...] [PRIVATE ...]): one static library per folder of src/.
#
# The installed headers of a layer lie in include/rudder/NAME, the others in src/NAME: those of a layer are
# included from src/ ("NAME/...") by the layers that the table of docs/design.md allows. LINK names the layers it builds on,
# PRIVATE the libraries that stay out of its headers. COLD: it has no loop that takes long, so that it may as well be
# compiled fast (-O1 in the build type Release).
function(rudder_layer name)
  cmake_parse_arguments(arg "COLD" "" "SOURCES;LINK;PRIVATE" ${ARGN})
  add_library(rudder_${name} STATIC ${arg_SOURCES})
  add_library(rudder::${name} ALIAS rudder_${name})
  set_target_properties(rudder_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(rudder_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE "${PROJECT_SOURCE_DIR}/src")
  if(arg_COLD)
    target_compile_options(rudder_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  target_compile_features(rudder_${name} PUBLIC cxx_std_20)
  target_link_libraries(rudder_${name} PUBLIC ${arg_LINK} PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:rudder_flags>)
endfunction()
