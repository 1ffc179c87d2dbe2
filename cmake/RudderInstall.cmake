# Installs the program, the layers as static libraries with their headers, and a package, so that
# another project can find_package(rudder) and link rudder::graph or rudder::partition. The component "program" is
# what people run, with its manual pages and the completion of shells; "development" is the rest.
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

install(TARGETS rudder RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
install(TARGETS ${rudder_layers} EXPORT rudder-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  COMPONENT development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/rudder" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT development)
install(EXPORT rudder-targets NAMESPACE rudder:: DESTINATION "${rudder_package_dir}" COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT development)

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/rudder-config.cmake.in"
  "${PROJECT_BINARY_DIR}/rudder-config.cmake" INSTALL_DESTINATION "${rudder_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/rudder-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/rudder-config.cmake" "${PROJECT_BINARY_DIR}/rudder-config-version.cmake"
  cmake/FindMETIS.cmake cmake/FindXxHash.cmake cmake/FindLibZip.cmake cmake/FindMicrohttpd.cmake
  cmake/FindLIBLINEAR.cmake cmake/FindZstd.cmake cmake/FindPyArrow.cmake
  DESTINATION "${rudder_package_dir}" COMPONENT development)

# Shell completion and manual pages, written by the program itself.
foreach(made IN ITEMS bash:share/bash-completion/completions zsh:share/zsh/site-functions
                      fish:share/fish/vendor_completions.d man:share/man/man1)
  string(REPLACE ":" ";" made "${made}")
  list(GET made 0 name)
  list(GET made 1 folder)
  install(CODE "
    execute_process(COMMAND \"$<TARGET_FILE:rudder>\" completion ${name} --force
      --out \"${PROJECT_BINARY_DIR}/completion/${name}\" RESULT_VARIABLE code ERROR_QUIET)
    if(code EQUAL 0)
      file(INSTALL \"${PROJECT_BINARY_DIR}/completion/${name}/\"
        DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${folder}\")
    endif()" COMPONENT program)
endforeach()
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/completion")
