# Only the numbers of system calls differ by architecture here.
pp_library(attach/proc
  SOURCES
    proc/access_diagnosis.cc proc/access_facts.cc proc/anchored_memory.cc proc/cgroup_facts.cc proc/cgroup_folders.cc proc/call_queue_image.cc proc/check_target.cc proc/check_threads.cc proc/fork_trace.cc proc/frozen_group.cc proc/maps.cc
    proc/mapped_file.cc proc/memory_grants.cc proc/memory_group.cc proc/path_in_root.cc proc/process_limits.cc proc/process_memory.cc proc/process_status.cc proc/proc_file.cc
    proc/proc_stat.cc proc/procfs.cc proc/own_namespaces.cc proc/program_mark.cc proc/quiet_wait.cc proc/run_probe.cc proc/syscall_waits_${CMAKE_SYSTEM_PROCESSOR}.cc proc/thread_activity.cc proc/wait_reason.cc
  DEPS pp_attach_base)
