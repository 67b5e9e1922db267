pp_library(attach/proc
  SOURCES proc/maps.cc proc/process_memory.cc proc/process_status.cc proc/proc_file.cc proc/proc_stat.cc proc/procfs.cc
  DEPS pp_attach_base)
