# Warnings, sanitizers and helpers shared by all targets of the project.
find_program(POAS_CCACHE ccache)
if(POAS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${POAS_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${POAS_CCACHE})
endif()
add_library(poas_compiler INTERFACE)
target_compile_options(poas_compiler INTERFACE
  -Wall -Wextra -Wshadow -Werror $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(POAS_SANITIZE)
  list(JOIN POAS_SANITIZE "," poas_sanitizers)
  target_compile_options(poas_compiler INTERFACE -fsanitize=${poas_sanitizers} -fno-omit-frame-pointer)
  target_link_options(poas_compiler INTERFACE -fsanitize=${poas_sanitizers})
endif()
