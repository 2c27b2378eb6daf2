# The examples are documentation: they must run, be right, and end with the documented codes.
set(example_environment STARPU_NCPU=1 STARPU_NCUDA=0 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1
  STARPU_WORKERS_NOBIND=1 STARPU_SCHED_LIB=$<TARGET_FILE:poas> POAS_SPLIT=always ${poas_test_environment})

# poas_example_test(NAME CODE WORDS COMMAND...): exit code and a regular expression for the output.
function(poas_example_test name code words)
  add_test(NAME example_${name} COMMAND ${CMAKE_COMMAND} -DCODE=${code} "-DWORDS=${words}" "-DRUN=${ARGN}"
    -DMODELS=${poas_scratch}/models/${name}
    -P ${CMAKE_CURRENT_SOURCE_DIR}/run_example.cmake)
  set_tests_properties(example_${name} PROPERTIES LABELS starpu TIMEOUT 300 FIXTURES_REQUIRED starpu_bus
    ENVIRONMENT "${example_environment}")
endfunction()

set(gemm $<TARGET_FILE:gemm>)
set(shape -m 300 -n 420 -k 100 --repetitions 2 --check)
poas_example_test(gemm_fp32 0 "policy: poas.*right" ${gemm} ${shape} --alpha -0.5 --beta 1 --transa T)
poas_example_test(gemm_fp64 0 "policy: poas.*right" ${gemm} ${shape} --type fp64 --transb T)
poas_example_test(gemm_fp16 0 "policy: poas.*right" ${gemm} ${shape} --type fp16)
poas_example_test(gemm_bf16 0 "policy: poas.*right" ${gemm} ${shape} --type bf16 --beta 1)
poas_example_test(gemm_pageable 0 "right" ${gemm} ${shape} --pageable)
poas_example_test(gemm_size 0 "1024 x 1024" ${gemm} --size 1k --repetitions 1)
poas_example_test(gemm_baseline 0 "best single unit.*right" ${gemm} ${shape} --baseline
  --json ${poas_scratch}/gemm-baseline.json)
poas_example_test(gemm_help 0 "--baseline" ${gemm} --help)
poas_example_test(gemm_bad_size 2 "size" ${gemm} --size many)
poas_example_test(gemm_bad_type 2 "type" ${gemm} --type fp8)
poas_example_test(gemm_no_such_unit 77 "no unit cuda9" ${gemm} --size 64 --units cuda9)
poas_example_test(gemm_json_unwritable 1 "json" ${gemm} --size 64 --json /nonexistent/file.json)
poas_example_test(custom 0 "policy: poas.*right" $<TARGET_FILE:custom> --size 300k)
poas_example_test(custom_bad_usage 2 "size" $<TARGET_FILE:custom> --size -1)
poas_example_test(insert_poas 0 "policy poas: right" ${CMAKE_COMMAND} -E env STARPU_SCHED=poas $<TARGET_FILE:insert>)
poas_example_test(insert_dmdas 0 "policy dmdas: right" ${CMAKE_COMMAND} -E env STARPU_SCHED=dmdas $<TARGET_FILE:insert>)
