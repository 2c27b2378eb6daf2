# Runs the command RUN; fails unless it ends with CODE and writes what WORDS describes.
execute_process(COMMAND ${RUN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if(NOT code STREQUAL CODE)
  message(FATAL_ERROR "ended with ${code}, expected ${CODE}")
endif()
if(NOT output MATCHES "${WORDS}")
  message(FATAL_ERROR "does not write '${WORDS}'")
endif()
