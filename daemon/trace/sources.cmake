pp_library(daemon/trace
  SOURCES trace/stack_table.cc trace/capture_request.cc
  DEPS pp_attach_base)
