# The stub's own code in an ordinary program, without the replacements for libc that it has in the target.
set(PP_STUB_SOURCES python/boot_block python/call_event python/capture python/clock python/event python/event_cost python/freed_code python/greenlet_module python/greenlets python/leave python/module python/monitoring
  python/profile python/ring shared/sealed_file python/shared_memory python/state python/switches)
list(TRANSFORM PP_STUB_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/attach/target/)
list(TRANSFORM PP_STUB_SOURCES APPEND .c)
add_library(attach_target_objects OBJECT ${PP_STUB_SOURCES} unit/attach/target/python/event_target.c)
get_target_property(PP_STUB_TEST_FLAGS pp_stub COMPILE_OPTIONS)
get_target_property(PP_STUB_TEST_DEFINITIONS pp_stub COMPILE_DEFINITIONS)
target_include_directories(attach_target_objects PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(attach_target_objects PRIVATE ${PP_STUB_TEST_DEFINITIONS})
set_target_properties(attach_target_objects PROPERTIES
  UNITY_BUILD OFF C_STANDARD 11 C_EXTENSIONS ON COMPILE_OPTIONS "${PP_STUB_TEST_FLAGS}")
add_executable(attach_target_test unit/attach/target/python/arming_test.cc unit/attach/target/python/chunks_test.cc
  unit/attach/target/python/waiting_test.cc)
target_link_libraries(attach_target_test PRIVATE attach_target_objects pp_attach_inject GTest::gtest_main)
pp_target_defaults(attach_target_test)
include(GoogleTest)
gtest_discover_tests(attach_target_test PROPERTIES TIMEOUT 300)

# The same for the GPU shim.
set(PP_SHIM_SOURCES gpu/cupti_backend gpu/cupti_callbacks gpu/cupti_calls gpu/cupti_captures gpu/cupti_clock gpu/cupti_finalize gpu/cupti_launches
  gpu/cupti_library gpu/cupti_measure gpu/cupti_subscribe gpu/cupti_watch gpu/gpu_boot_block gpu/gpu_buffers gpu/gpu_clock gpu/gpu_control gpu/gpu_exit gpu/gpu_launches gpu/gpu_memory gpu/gpu_null gpu/gpu_walk shared/sealed_file)
list(TRANSFORM PP_SHIM_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/attach/target/)
list(TRANSFORM PP_SHIM_SOURCES APPEND .c)
add_library(attach_target_gpu_objects OBJECT ${PP_SHIM_SOURCES} unit/attach/target/gpu/gpu_target.c)
target_include_directories(attach_target_gpu_objects PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(attach_target_gpu_objects PRIVATE ${PP_STUB_TEST_DEFINITIONS})
set_target_properties(attach_target_gpu_objects PROPERTIES
  UNITY_BUILD OFF C_STANDARD 11 C_EXTENSIONS ON COMPILE_OPTIONS "${PP_STUB_TEST_FLAGS}")
add_executable(attach_target_gpu_test unit/attach/target/gpu/gpu_captures_test.cc
  unit/attach/target/gpu/gpu_launches_test.cc unit/attach/target/gpu/gpu_walk_test.cc)
target_link_libraries(attach_target_gpu_test PRIVATE attach_target_gpu_objects pp_attach_inject GTest::gtest_main)
pp_target_defaults(attach_target_gpu_test)
gtest_discover_tests(attach_target_gpu_test PROPERTIES TIMEOUT 60)
