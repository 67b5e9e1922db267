# The tracer stub and the GPU shim: two freestanding shared objects for every CPython. Nothing links them; attach/inject
# carries their bytes. Their own flags only: no sanitizer, always optimised, no library, one exported symbol.
set(PP_STUB_FLAGS -O2 -fno-tree-slp-vectorize -g0 -ffreestanding -fPIC -fvisibility=hidden -fno-strict-aliasing -fno-stack-protector
  -Wall -Wextra -Wshadow)
if(PP_WERROR)
  list(APPEND PP_STUB_FLAGS -Werror)
endif()
set(PP_STUB_ARCHITECTURE "attach/intarget/arch_${CMAKE_SYSTEM_PROCESSOR}.h")
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # memcpy may not become a call of memcpy.
  set_source_files_properties(intarget/freestanding.c PROPERTIES COMPILE_OPTIONS -fno-tree-loop-distribute-patterns)
endif()

# The module, and its bytes as the text of an array.
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
  intarget/boot_block.c intarget/call_event.c intarget/capture.c intarget/clock.c intarget/event.c
  intarget/event_cost.c intarget/freed_code.c intarget/freestanding.c intarget/greenlet_module.c
  intarget/greenlets.c intarget/leave.c intarget/module.c intarget/monitoring.c intarget/profile.c intarget/ring.c
  intarget/sealed_file.c intarget/shared_memory.c intarget/state.c intarget/switches.c)
pp_in_target_module(pp_gpu_shim ptrace_prof_gpu gpu_shim_image.inc
  intarget/cupti_backend.c intarget/cupti_callbacks.c intarget/cupti_calls.c intarget/cupti_captures.c intarget/cupti_clock.c
  intarget/cupti_finalize.c intarget/cupti_launches.c intarget/cupti_library.c intarget/cupti_measure.c
  intarget/cupti_subscribe.c intarget/cupti_watch.c intarget/freestanding.c intarget/gpu_boot_block.c intarget/gpu_buffers.c intarget/gpu_clock.c
  intarget/gpu_control.c intarget/gpu_exit.c intarget/gpu_launches.c intarget/gpu_memory.c intarget/gpu_module.c
  intarget/gpu_null.c intarget/gpu_walk.c intarget/sealed_file.c)
pp_library(attach/stub_image SOURCES inject/stub_image.cc DEPS pp_attach_base)
add_dependencies(pp_attach_stub_image pp_stub_bytes pp_gpu_shim_bytes)
