# Scratch folders, so that no test reads or writes the user's models.
set(poas_scratch ${PROJECT_BINARY_DIR}/scratch)
file(MAKE_DIRECTORY ${poas_scratch}/starpu ${poas_scratch}/models)
# OpenBLAS of Debian 12 does not know newer processors and can hang there without a core type.
set(poas_test_environment
  STARPU_HOME=${poas_scratch}/starpu STARPU_PERF_MODEL_DIR=${poas_scratch}/starpu
  POAS_MODEL_DIR=${poas_scratch}/models STARPU_SILENT=1 OPENBLAS_NUM_THREADS=1)

# poas_pure_test(NAME SOURCES...): GoogleTest program over libpoas, one CTest test for each case.
function(poas_pure_test name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE poas poas_compiler GTest::gtest_main nlohmann_json::nlohmann_json)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/plugin ${PROJECT_SOURCE_DIR})
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES ENVIRONMENT "${poas_test_environment}" LABELS pure TIMEOUT 600)
endfunction()

# poas_pure_test_objects(NAME SOURCES...): as poas_pure_test, linked with the pure stages, models and meters
# alone, for tests of what libpoas does not export.
function(poas_pure_test_objects name)
  add_executable(${name} ${ARGN} $<TARGET_OBJECTS:poas_stages> $<TARGET_OBJECTS:poas_models> $<TARGET_OBJECTS:poas_meters>)
  target_link_libraries(${name} PRIVATE poas_compiler poas_glpk GTest::gtest_main nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/plugin
    ${PROJECT_SOURCE_DIR}/plugin/include ${PROJECT_SOURCE_DIR})
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES ENVIRONMENT "${poas_test_environment}" LABELS pure TIMEOUT 600)
endfunction()
