# The stub's own code, in an ordinary program: without what stands in for libc in the target.
set(PP_STUB_SOURCES boot_block call_event capture clock event event_cost freed_code greenlet_module greenlets leave module monitoring
  profile ring sealed_file shared_memory state switches)
list(TRANSFORM PP_STUB_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/attach/intarget/)
list(TRANSFORM PP_STUB_SOURCES APPEND .c)
add_library(attach_intarget_objects OBJECT ${PP_STUB_SOURCES} unit/attach_intarget_event_target.c)
get_target_property(PP_STUB_TEST_FLAGS pp_stub COMPILE_OPTIONS)
get_target_property(PP_STUB_TEST_DEFINITIONS pp_stub COMPILE_DEFINITIONS)
target_include_directories(attach_intarget_objects PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(attach_intarget_objects PRIVATE ${PP_STUB_TEST_DEFINITIONS})
set_target_properties(attach_intarget_objects PROPERTIES
  C_STANDARD 11 C_EXTENSIONS ON COMPILE_OPTIONS "${PP_STUB_TEST_FLAGS}")
add_executable(attach_intarget_test unit/attach_intarget_arming_test.cc unit/attach_intarget_chunks_test.cc
  unit/attach_intarget_waiting_test.cc)
target_link_libraries(attach_intarget_test PRIVATE attach_intarget_objects pp_attach_inject GTest::gtest_main)
pp_target_defaults(attach_intarget_test)
include(GoogleTest)
gtest_discover_tests(attach_intarget_test PROPERTIES TIMEOUT 300)

# The same of the GPU shim.
set(PP_SHIM_SOURCES cupti_backend cupti_callbacks cupti_calls cupti_captures cupti_clock cupti_finalize cupti_launches
  cupti_library cupti_measure cupti_subscribe cupti_watch gpu_boot_block gpu_buffers gpu_clock gpu_control gpu_exit gpu_launches gpu_memory gpu_null gpu_walk sealed_file)
list(TRANSFORM PP_SHIM_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/attach/intarget/)
list(TRANSFORM PP_SHIM_SOURCES APPEND .c)
add_library(attach_intarget_gpu_objects OBJECT ${PP_SHIM_SOURCES} unit/attach_intarget_gpu_target.c)
target_include_directories(attach_intarget_gpu_objects PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(attach_intarget_gpu_objects PRIVATE ${PP_STUB_TEST_DEFINITIONS})
set_target_properties(attach_intarget_gpu_objects PROPERTIES
  C_STANDARD 11 C_EXTENSIONS ON COMPILE_OPTIONS "${PP_STUB_TEST_FLAGS}")
add_executable(attach_intarget_gpu_test unit/attach_intarget_gpu_captures_test.cc
  unit/attach_intarget_gpu_launches_test.cc unit/attach_intarget_gpu_walk_test.cc)
target_link_libraries(attach_intarget_gpu_test PRIVATE attach_intarget_gpu_objects pp_attach_inject GTest::gtest_main)
pp_target_defaults(attach_intarget_gpu_test)
gtest_discover_tests(attach_intarget_gpu_test PROPERTIES TIMEOUT 60)
