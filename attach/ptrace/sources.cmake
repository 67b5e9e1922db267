pp_library(attach/ptrace
  SOURCES ptrace/brief_stop.cc ptrace/guarded_seize.cc ptrace/held_start.cc ptrace/stopped_threads.cc
          ptrace/traced_threads.cc ptrace/tracee.cc ptrace/tracee_code.cc
  DEPS pp_attach_proc pp_attach_base)
