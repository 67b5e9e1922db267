# Confines a collector before it opens a target, and connects it to its server.
pp_library(daemon/collector/sandbox
  SOURCES collector/sandbox/child_policy.cc collector/sandbox/command_launch.cc collector/sandbox/confinement.cc collector/sandbox/owner_child.cc collector/sandbox/pipe_sink.cc collector/sandbox/rights.cc collector/sandbox/stop_line.cc collector/sandbox/system_call_filter.cc
  DEPS pp_daemon_launcher pp_daemon_server_policy pp_daemon_trace pp_attach_base)
pp_library(daemon/collector
  SOURCES collector/calls/arming_at_holder.cc collector/calls/arming_stop.cc collector/calls/call_budget.cc collector/calls/call_source.cc collector/calls/call_filter.cc
          collector/calls/call_names.cc collector/calls/call_replayer.cc collector/calls/call_replayer_stacks.cc collector/sample/child_watch.cc
          collector/calls/call_tracer.cc collector/calls/call_window.cc collector/loop/capture.cc collector/loop/capture_loop.cc collector/sample/sampling_source.cc
          collector/target/child_count.cc collector/gpu/clock_fit.cc collector/target/cpu_of_others.cc collector/calls/entry_wait.cc collector/calls/function_names.cc
          collector/gpu/gpu_annotations.cc collector/gpu/gpu_call_sites.cc collector/gpu/gpu_calls.cc collector/gpu/gpu_calls_table.cc
          collector/gpu/gpu_capture.cc collector/gpu/gpu_clock.cc collector/gpu/gpu_decoder.cc collector/gpu/gpu_detail.cc collector/gpu/gpu_early.cc
          collector/gpu/gpu_engine_wait.cc collector/gpu/gpu_entry.cc
          collector/gpu/gpu_graph_captures.cc
          collector/gpu/gpu_inventory.cc collector/gpu/gpu_joiner.cc collector/gpu/gpu_launch_stacks.cc collector/gpu/gpu_library_notices.cc collector/gpu/gpu_launches.cc
          collector/gpu/gpu_names.cc collector/gpu/gpu_operation_name.cc collector/gpu/gpu_shim_boot.cc
          collector/gpu/gpu_silence.cc collector/gpu/gpu_status.cc collector/gpu/gpu_time_check.cc
          collector/target/interpreter_watch.cc collector/calls/landmarks.cc
          collector/sample/locals_reader.cc collector/calls/mapped_functions.cc collector/calls/known_methods.cc collector/target/opened_process.cc collector/sample/pacer.cc collector/target/patient_open.cc
          collector/sample/process_sampler.cc collector/sample/round_times.cc
          collector/sample/process_tree.cc collector/sample/python_descendants.cc collector/target/python_traits.cc collector/sample/sample_buffer.cc collector/target/script_keeper.cc collector/target/stack_history.cc
          collector/target/frame_codes.cc collector/sample/instant_reader.cc collector/sample/instant_reader_together.cc collector/target/stack_builder.cc collector/sample/standstill.cc
          collector/sample/stop_times.cc
          collector/target/start_wait.cc collector/calls/step_calls.cc collector/calls/step_marker.cc collector/calls/sampled_instead.cc collector/calls/stub_boot.cc
          collector/torch/execution_trace.cc collector/torch/torch_blocks.cc collector/torch/torch_boot.cc collector/torch/torch_capture.cc collector/torch/torch_decoder.cc collector/torch/torch_groups.cc collector/torch/torch_import.cc collector/torch/torch_inputs.cc
          collector/torch/torch_memory_slots.cc collector/torch/torch_merge.cc collector/torch/torch_rows.cc collector/torch/torch_storages.cc
          collector/torch/held_tensor_watch.cc collector/torch/held_tensors.cc collector/torch/torch_classes.cc collector/torch/torch_objects.cc collector/torch/torch_tensors.cc
          collector/calls/target_objects.cc collector/calls/thread_at_arming.cc collector/target/thread_roster.cc collector/target/thread_state_watch.cc collector/calls/tick_clock.cc collector/calls/call_threads.cc collector/calls/tracer_stub.cc collector/target/watched_threads.cc
  DEPS pp_daemon_collector_inspect pp_daemon_collector_nvml pp_daemon_trace pp_symbolizer_cpython pp_attach_inject pp_attach_stub_image pp_attach_ptrace pp_attach_proc
       pp_attach_base)
# The composition root of the collector, with everything that may access a target.
pp_library(daemon/collector/main
  SOURCES collector/collector_main.cc
  DEPS pp_daemon_collector pp_daemon_collector_sandbox pp_daemon_collector_inspect pp_daemon_server_captures
       pp_daemon_trace pp_attach_proc pp_attach_base)
