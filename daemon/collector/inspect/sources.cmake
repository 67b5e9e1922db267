pp_library(daemon/collector/inspect
  SOURCES collector/inspect/doctor.cc collector/inspect/examination.cc collector/inspect/gpu_libraries.cc collector/inspect/gpu_library.cc collector/inspect/gpu_outlook.cc
          collector/inspect/interpreter_cache.cc collector/inspect/launch_facts.cc collector/inspect/libc_environ.cc collector/inspect/node_checks.cc collector/inspect/node_facts.cc
          collector/inspect/process_checks.cc collector/inspect/process_list.cc collector/inspect/process_scan.cc collector/inspect/target_examiner.cc
          collector/inspect/torch_profiler.cc
  DEPS pp_daemon_trace pp_symbolizer_cpython pp_attach_proc pp_attach_base)
