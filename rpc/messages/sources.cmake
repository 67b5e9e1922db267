# The request for a capture: its table of options, its checks, a collector's task. For every process; without gRPC.
pp_library(rpc/messages
  SOURCES
    messages/capture_task.cc
    messages/check_spec.cc
    messages/metadata.cc
    messages/name_glob.cc
    messages/option_table.cc
    messages/option_text.cc
    messages/quantity.cc
    messages/spec_rules.cc
    messages/step_schedule.cc
    messages/task_from_message.cc
    messages/task_word.cc
  DEPS pp_rpc_proto pp_attach_base fmt::fmt)
