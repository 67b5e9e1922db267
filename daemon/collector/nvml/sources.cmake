# The helper that reads NVIDIA's library: a small dynamic program, because ours is static and cannot load a library. Our
# program carries its bytes. It has flags of its own: no sanitizer. It is linked against unversioned names
# (libc_names.c), so that it starts with any glibc.
set(PP_NVML_FLAGS -O2 -g0 -fno-builtin -fno-stack-protector -U_FORTIFY_SOURCE -Wall -Wextra -Wshadow)
if(PP_WERROR)
  list(APPEND PP_NVML_FLAGS -Werror)
endif()
function(pp_nvml_names target soname)
  add_library(${target} SHARED collector/nvml/libc_names.c)
  target_compile_definitions(${target} PRIVATE ${ARGN})
  set_target_properties(${target} PROPERTIES
    NO_SONAME ON LINKER_LANGUAGE C LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/daemon/collector/nvml
    COMPILE_OPTIONS "${PP_NVML_FLAGS}" LINK_OPTIONS "-nostdlib;-Wl,-soname,${soname}")
endfunction()
pp_nvml_names(pp_nvml_libc libc.so.6)
pp_nvml_names(pp_nvml_libdl libdl.so.2 PP_LIBDL)

add_executable(pp_nvml_helper collector/nvml/nvml_helper.c)
target_include_directories(pp_nvml_helper PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(pp_nvml_helper PRIVATE pp_nvml_libc pp_nvml_libdl)
set_target_properties(pp_nvml_helper PROPERTIES
  OUTPUT_NAME ptrace-prof-nvml RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/daemon/collector/nvml
  LINKER_LANGUAGE C C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS ON SKIP_BUILD_RPATH ON
  COMPILE_OPTIONS "${PP_NVML_FLAGS};-fPIE" LINK_OPTIONS "-pie;-nodefaultlibs;-Wl,-s;-Wl,-z,noexecstack")

set(PP_NVML_BYTES ${PROJECT_BINARY_DIR}/daemon/collector/nvml/nvml_image.inc)
add_custom_command(
  OUTPUT ${PP_NVML_BYTES}
  COMMAND ${CMAKE_COMMAND} -DINPUT=$<TARGET_FILE:pp_nvml_helper> -DOUTPUT=${PP_NVML_BYTES}
    -P ${PROJECT_SOURCE_DIR}/daemon/trace/embed_bytes.cmake
  DEPENDS pp_nvml_helper ${PROJECT_SOURCE_DIR}/daemon/trace/embed_bytes.cmake)
add_custom_target(pp_nvml_bytes DEPENDS ${PP_NVML_BYTES})
pp_library(daemon/collector/nvml
  SOURCES collector/nvml/nvml_counters.cc collector/nvml/nvml_image.cc collector/nvml/nvml_process.cc
  DEPS pp_daemon_trace pp_attach_base fmt::fmt)
add_dependencies(pp_daemon_collector_nvml pp_nvml_bytes)
