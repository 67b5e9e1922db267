# A few instructions differ by architecture.
pp_library(attach/inject
  SOURCES
    inject/bootstrap_text.cc
    inject/call_bell.cc
    inject/channel.cc
    inject/delivery.cc
    inject/file_lock.cc
    inject/frame_strategy.cc
    inject/frame_thunk_${CMAKE_SYSTEM_PROCESSOR}.cc
    inject/injection.cc
    inject/left_scripts.cc
    inject/left_texts.cc
    inject/queue_strategy.cc
    inject/queued_call.cc
    inject/remote_writer.cc
    inject/resident_stub.cc
    inject/ring_reader.cc
    inject/run_call.cc
    inject/script_files.cc
    inject/script_strategy.cc
    inject/script_threads.cc
    inject/slack.cc
    inject/strategy.cc
    inject/stub_file.cc
    inject/target_files.cc
    inject/timed_stop.cc
  DEPS pp_attach_stub_image pp_attach_ptrace pp_attach_proc pp_attach_base fmt::fmt)
