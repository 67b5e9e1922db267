# The tracer stub: one freestanding shared object for every CPython. Nothing links it; attach/inject carries its bytes.
# Its own flags only: no sanitizer, always optimised, no library, one exported symbol.
set(PP_STUB_FLAGS -O2 -fno-tree-slp-vectorize -g0 -ffreestanding -fPIC -fvisibility=hidden -fno-strict-aliasing -fno-stack-protector
  -Wall -Wextra -Wshadow)
if(PP_WERROR)
  list(APPEND PP_STUB_FLAGS -Werror)
endif()
set(PP_STUB_ARCHITECTURE "attach/intarget/arch_${CMAKE_SYSTEM_PROCESSOR}.h")

add_library(pp_stub MODULE
  intarget/boot_block.c intarget/capture.c intarget/event.c intarget/event_cost.c intarget/freestanding.c intarget/module.c
  intarget/monitoring.c intarget/profile.c intarget/shared_memory.c)
target_include_directories(pp_stub PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(pp_stub PRIVATE "PP_ARCHITECTURE=\"${PP_STUB_ARCHITECTURE}\"")
set_target_properties(pp_stub PROPERTIES
  OUTPUT_NAME ptrace_prof_stub PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/attach
  C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS ON LINKER_LANGUAGE C
  COMPILE_OPTIONS "${PP_STUB_FLAGS}"
  LINK_OPTIONS "-nostdlib;-Wl,-s;-Wl,-Bsymbolic;-Wl,--no-undefined;-Wl,-z,noexecstack;-Wl,-z,noseparate-code")
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # memcpy may not become a call of memcpy.
  set_source_files_properties(intarget/freestanding.c PROPERTIES COMPILE_OPTIONS -fno-tree-loop-distribute-patterns)
endif()

set(PP_STUB_BYTES ${PROJECT_BINARY_DIR}/attach/inject/stub_image.inc)
add_custom_command(
  OUTPUT ${PP_STUB_BYTES}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/attach/inject
  COMMAND ${CMAKE_COMMAND} -DINPUT=$<TARGET_FILE:pp_stub> -DOUTPUT=${PP_STUB_BYTES}
    -P ${PROJECT_SOURCE_DIR}/daemon/trace/embed_bytes.cmake
  DEPENDS pp_stub ${PROJECT_SOURCE_DIR}/daemon/trace/embed_bytes.cmake)
add_custom_target(pp_stub_bytes DEPENDS ${PP_STUB_BYTES})
pp_library(attach/stub_image SOURCES inject/stub_image.cc DEPS pp_attach_base)
add_dependencies(pp_attach_stub_image pp_stub_bytes)
