# Warnings, sanitizers and helpers shared by all targets of the project.
add_library(poas_compiler INTERFACE)
target_compile_options(poas_compiler INTERFACE
  -Wall -Wextra -Wshadow -Werror $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(POAS_SANITIZE)
  list(JOIN POAS_SANITIZE "," poas_sanitizers)
  target_compile_options(poas_compiler INTERFACE -fsanitize=${poas_sanitizers} -fno-omit-frame-pointer)
  target_link_options(poas_compiler INTERFACE -fsanitize=${poas_sanitizers})
endif()
