pp_library(daemon/inspect
  SOURCES inspect/doctor.cc inspect/examination.cc inspect/gpu_libraries.cc inspect/gpu_library.cc inspect/gpu_outlook.cc
          inspect/interpreter_cache.cc inspect/launch_facts.cc inspect/libc_environ.cc inspect/node_checks.cc inspect/node_facts.cc
          inspect/process_checks.cc inspect/process_list.cc inspect/process_scan.cc inspect/target_examiner.cc
          inspect/torch_profiler.cc
  DEPS pp_daemon_trace pp_symbolizer_cpython pp_attach_proc pp_attach_base)
