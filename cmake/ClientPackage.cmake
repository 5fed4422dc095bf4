# The client library as others link it: shared and static, for pkg-config and find_package(weir).
#
#   weir_client_archive(NAME OBJECTS target PARTS target… KEEP pattern…)   build/lib/libNAME.a
#   weir_client_package(LIBRARY target SOVERSION number HEADER file)       what `cmake --install` puts where

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# One object that holds what it needs of Weir: all other names in it are local, so that none meets one of a program.
function(weir_client_archive name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OBJECTS" "PARTS;KEEP")
  weir_no_stray_arguments(${name} "${arg_UNPARSED_ARGUMENTS}")
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
  set(archive ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/lib${name}.a)
  list(TRANSFORM arg_PARTS REPLACE ".+" "$<TARGET_FILE:\\0>")
  list(TRANSFORM arg_KEEP PREPEND --keep-global-symbol=)
  add_custom_command(
    OUTPUT ${archive}
    COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${object} $<TARGET_OBJECTS:${arg_OBJECTS}>
            -Wl,--start-group ${arg_PARTS} -Wl,--end-group
    COMMAND ${CMAKE_OBJCOPY} --wildcard ${arg_KEEP} ${object}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${CMAKE_AR} qcs ${archive} ${object}
    DEPENDS $<TARGET_OBJECTS:${arg_OBJECTS}> ${arg_PARTS}
    COMMENT "Archiving lib${name}.a" COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${name}_archive ALL DEPENDS ${archive})
  add_dependencies(weir_programs ${name}_archive)
endfunction()

function(weir_client_package)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "LIBRARY;SOVERSION;HEADER" "")
  set(private_libraries ${zmq_LIBRARIES} ${msgpack_LIBRARIES} ${lz4_LIBRARIES} ${zstd_LIBRARIES} m pthread)
  list(TRANSFORM private_libraries PREPEND -l OUTPUT_VARIABLE private_flags)
  list(JOIN private_flags " " private_flags)
  file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" to_prefix ${to_prefix})
  foreach(name IN ITEMS weir-client weir-client-static)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endforeach()

  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/weirConfig.cmake.in weirConfig.cmake
    INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR
    NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  write_basic_package_version_file(weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weirConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/weirConfigVersion.cmake
          DESTINATION ${package})

  install(TARGETS ${arg_LIBRARY})
  install(FILES ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/lib${arg_LIBRARY}.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${arg_HEADER} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weir)
endfunction()
