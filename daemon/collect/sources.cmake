pp_library(daemon/collect
  SOURCES collect/arming_at_holder.cc collect/arming_stop.cc collect/call_budget.cc collect/call_capture.cc collect/call_filter.cc
          collect/call_names.cc collect/call_replayer.cc collect/call_replayer_stacks.cc collect/child_watch.cc
          collect/call_tracer.cc collect/call_window.cc collect/capture.cc
          collect/child_count.cc collect/clock_fit.cc collect/cpu_of_others.cc collect/entry_wait.cc
          collect/gpu_annotations.cc collect/gpu_call_sites.cc collect/gpu_calls.cc collect/gpu_calls_table.cc
          collect/gpu_capture.cc collect/gpu_clock.cc collect/gpu_decoder.cc collect/gpu_detail.cc collect/gpu_early.cc
          collect/gpu_engine_wait.cc
          collect/gpu_graph_captures.cc
          collect/gpu_inventory.cc collect/gpu_joiner.cc collect/gpu_launch_stacks.cc collect/gpu_library_notices.cc collect/gpu_launches.cc
          collect/gpu_names.cc collect/gpu_operation_name.cc collect/gpu_shim_boot.cc
          collect/gpu_silence.cc collect/gpu_time_check.cc
          collect/interpreter_watch.cc collect/landmarks.cc
          collect/locals_reader.cc collect/mapped_functions.cc collect/module_call.cc collect/opened_process.cc collect/pacer.cc collect/patient_open.cc
          collect/process_sampler.cc collect/round_times.cc
          collect/process_tree.cc collect/python_descendants.cc collect/python_traits.cc collect/sample_buffer.cc collect/script_keeper.cc collect/stack_history.cc
          collect/frame_codes.cc collect/instant_reader.cc collect/instant_reader_together.cc collect/stack_builder.cc collect/standstill.cc
          collect/stop_times.cc
          collect/start_wait.cc collect/step_marker.cc collect/sampled_instead.cc collect/stub_boot.cc
          collect/target_objects.cc collect/thread_at_arming.cc collect/thread_roster.cc collect/thread_state_watch.cc collect/tick_clock.cc collect/watched_threads.cc
  DEPS pp_daemon_inspect pp_daemon_nvml pp_daemon_trace pp_symbolizer_cpython pp_attach_inject pp_attach_stub_image pp_attach_ptrace pp_attach_proc
       pp_attach_base)
