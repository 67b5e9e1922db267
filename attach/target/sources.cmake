# The tracer stub, the GPU shim and the torch hook: freestanding shared objects for every CPython. No program links them;
# attach/inject carries their bytes. They have flags of their own: no sanitizer, always optimised, no library, one
# exported symbol.
set(PP_STUB_FLAGS -O2 -fno-tree-slp-vectorize -g0 -ffreestanding -fPIC -fvisibility=hidden -fno-strict-aliasing -fno-stack-protector
  -Wall -Wextra -Wshadow)
if(PP_WERROR)
  list(APPEND PP_STUB_FLAGS -Werror)
endif()
set(PP_STUB_ARCHITECTURE "attach/target/shared/arch_${CMAKE_SYSTEM_PROCESSOR}.h")
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # GCC must not turn the body of memcpy into a call of memcpy.
  set_source_files_properties(target/shared/freestanding.c PROPERTIES COMPILE_OPTIONS -fno-tree-loop-distribute-patterns)
endif()

# A module, and a file with its bytes as the text of an array.
function(pp_in_target_module name file bytes)
  add_library(${name} MODULE ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE "PP_ARCHITECTURE=\"${PP_STUB_ARCHITECTURE}\"")
  set_target_properties(${name} PROPERTIES
    OUTPUT_NAME ${file} PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/attach
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS ON LINKER_LANGUAGE C
    COMPILE_OPTIONS "${PP_STUB_FLAGS}"
    LINK_OPTIONS "-nostdlib;-Wl,-s;-Wl,-Bsymbolic;-Wl,--no-undefined;-Wl,-z,noexecstack;-Wl,-z,noseparate-code")
  set(output ${PROJECT_BINARY_DIR}/attach/inject/${bytes})
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/attach/inject
    COMMAND ${CMAKE_COMMAND} -DINPUT=$<TARGET_FILE:${name}> -DOUTPUT=${output}
      -P ${PROJECT_SOURCE_DIR}/daemon/trace/embed_bytes.cmake
    DEPENDS ${name} ${PROJECT_SOURCE_DIR}/daemon/trace/embed_bytes.cmake)
  add_custom_target(${name}_bytes DEPENDS ${output})
endfunction()

pp_in_target_module(pp_stub ptrace_prof_stub stub_image.inc
  target/python/boot_block.c target/python/call_event.c target/python/capture.c target/python/clock.c target/python/event.c
  target/python/event_cost.c target/python/freed_code.c target/shared/freestanding.c target/python/greenlet_module.c
  target/python/greenlets.c target/python/leave.c target/python/module.c target/python/monitoring.c target/python/profile.c target/python/ring.c
  target/shared/sealed_file.c target/python/shared_memory.c target/python/state.c target/python/switches.c)
pp_in_target_module(pp_gpu_shim ptrace_prof_gpu gpu_shim_image.inc
  target/gpu/cupti_backend.c target/gpu/cupti_callbacks.c target/gpu/cupti_calls.c target/gpu/cupti_captures.c target/gpu/cupti_clock.c
  target/gpu/cupti_finalize.c target/gpu/cupti_launches.c target/gpu/cupti_library.c target/gpu/cupti_measure.c
  target/gpu/cupti_subscribe.c target/gpu/cupti_watch.c target/shared/freestanding.c target/gpu/gpu_boot_block.c target/gpu/gpu_buffers.c target/gpu/gpu_clock.c
  target/gpu/gpu_control.c target/gpu/gpu_exit.c target/gpu/gpu_launches.c target/gpu/gpu_memory.c target/gpu/gpu_module.c
  target/gpu/gpu_null.c target/gpu/gpu_walk.c target/shared/sealed_file.c)
pp_in_target_module(pp_torch_hook ptrace_prof_torch torch_hook_image.inc
  target/shared/freestanding.c target/shared/sealed_file.c target/torch/torch_boot_block.c target/torch/torch_capture.c
  target/torch/torch_allocations.c target/torch/torch_inputs.c
  target/torch/torch_memory.c target/torch/torch_module.c target/torch/torch_ops.c target/torch/torch_ring.c target/torch/torch_trace.c)
pp_library(attach/stub_image SOURCES inject/stub_image.cc DEPS pp_attach_base)
add_dependencies(pp_attach_stub_image pp_stub_bytes pp_gpu_shim_bytes pp_torch_hook_bytes)
