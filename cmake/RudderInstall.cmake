# Installs the program, the layers as static libraries with their headers, and a package, so that
# another project can find_package(rudder) and link rudder::graph or rudder::partition.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(rudder_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/rudder")

set(rudder_layers "")
foreach(layer IN LISTS RUDDER_LAYERS)
  if(TARGET rudder_${layer})
    get_target_property(type rudder_${layer} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND rudder_layers rudder_${layer})
    endif()
  endif()
endforeach()

install(TARGETS rudder RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(TARGETS ${rudder_layers} EXPORT rudder-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/rudder" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT rudder-targets NAMESPACE rudder:: DESTINATION "${rudder_package_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/rudder-config.cmake.in"
  "${PROJECT_BINARY_DIR}/rudder-config.cmake" INSTALL_DESTINATION "${rudder_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/rudder-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/rudder-config.cmake" "${PROJECT_BINARY_DIR}/rudder-config-version.cmake"
  cmake/FindMETIS.cmake cmake/FindXxHash.cmake cmake/FindLibZip.cmake cmake/FindMicrohttpd.cmake
  cmake/FindLIBLINEAR.cmake cmake/FindZstd.cmake
  DESTINATION "${rudder_package_dir}")

# Shell completion, written by the program itself.
foreach(shell IN ITEMS bash:share/bash-completion/completions:rudder zsh:share/zsh/site-functions:_rudder
                       fish:share/fish/vendor_completions.d:rudder.fish)
  string(REPLACE ":" ";" shell "${shell}")
  list(GET shell 0 name)
  list(GET shell 1 folder)
  list(GET shell 2 file)
  install(CODE "
    execute_process(COMMAND \"$<TARGET_FILE:rudder>\" completion ${name} RESULT_VARIABLE code
      OUTPUT_FILE \"${PROJECT_BINARY_DIR}/completion/${file}\" ERROR_QUIET)
    if(code EQUAL 0)
      file(INSTALL \"${PROJECT_BINARY_DIR}/completion/${file}\"
        DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${folder}\")
    endif()")
endforeach()
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/completion")
