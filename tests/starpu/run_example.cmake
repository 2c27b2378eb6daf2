# Runs the command RUN with models in the folder MODELS, empty at first: what one run teaches is nothing to the next.
# Fails unless it ends with CODE and writes what WORDS describes.
file(REMOVE_RECURSE ${MODELS})
set(ENV{POAS_MODEL_DIR} ${MODELS})
execute_process(COMMAND ${RUN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if(NOT code STREQUAL CODE)
  message(FATAL_ERROR "ended with ${code}, expected ${CODE}")
endif()
if(NOT output MATCHES "${WORDS}")
  message(FATAL_ERROR "does not write '${WORDS}'")
endif()
