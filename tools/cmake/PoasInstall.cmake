# Programs of the tree, and what `cmake --install` copies.  Included last: it looks at all targets.
# The SimGrid flavour serves the tests and is not installed.
include(CMakePackageConfigHelpers)

# poas_executables(RESULT FOLDER...): the executable targets made in the folders and below.
function(poas_executables result)
  set(found)
  foreach(folder IN LISTS ARGN)
    get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
      get_target_property(type ${target} TYPE)
      if(type STREQUAL EXECUTABLE)
        list(APPEND found ${target})
      endif()
    endforeach()
    get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
    list(FILTER folders EXCLUDE REGEX "/tools/bench$")
    poas_executables(below ${folders})
    list(APPEND found ${below})
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# The real flavour's programs: those that land in build/bin itself.
poas_executables(poas_candidates ${PROJECT_SOURCE_DIR}/tools ${PROJECT_SOURCE_DIR}/examples)
set(poas_programs)
foreach(target IN LISTS poas_candidates)
  get_target_property(folder ${target} RUNTIME_OUTPUT_DIRECTORY)
  if(folder STREQUAL CMAKE_RUNTIME_OUTPUT_DIRECTORY)
    list(APPEND poas_programs ${target})
  endif()
endforeach()
set(poas_libraries poas poas_codelets)

add_custom_target(programs DEPENDS ${poas_programs} ${poas_libraries})

file(RELATIVE_PATH poas_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(${poas_libraries} PROPERTIES INSTALL_RPATH "$ORIGIN")
set_target_properties(poas_codelets PROPERTIES EXPORT_NAME codelets)
if(poas_programs)
  set_target_properties(${poas_programs} PROPERTIES INSTALL_RPATH "$ORIGIN/${poas_bin_to_lib}")
endif()
# Libraries outside the loader's path, such as those of a CUDA toolkit, are found as in the build.
set_target_properties(${poas_libraries} ${poas_programs} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)

install(TARGETS ${poas_libraries} EXPORT poas LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ${poas_programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/plugin/include/poas ${PROJECT_SOURCE_DIR}/codelets/include/poas
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/models/data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/poas/models
  FILES_MATCHING PATTERN "*.json")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The package: find_package(poas) and pkg-config.
set(poas_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/poas)
install(EXPORT poas NAMESPACE poas:: FILE poasTargets.cmake DESTINATION ${poas_package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/poasConfig.cmake.in ${PROJECT_BINARY_DIR}/poasConfig.cmake
  INSTALL_DESTINATION ${poas_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/poasConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/poasConfig.cmake ${PROJECT_BINARY_DIR}/poasConfigVersion.cmake
  DESTINATION ${poas_package_dir})
# -isystem: the warnings of StarPU's and CUDA's headers are not the user's.
list(TRANSFORM STARPU_real_INCLUDE_DIRS PREPEND "-isystem " OUTPUT_VARIABLE poas_starpu_cflags)
list(JOIN poas_starpu_cflags " " poas_starpu_cflags)
foreach(package poas poas_codelets)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
