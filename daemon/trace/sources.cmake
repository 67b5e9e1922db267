# Only the field numbers of the generated headers are used. The generated code is linked into tests only, as an
# independent reader of our traces.
set(PP_TRACE_PROTOS daemon/trace/perfetto.proto daemon/trace/extension.proto)
set(PP_TRACE_PROTO_SOURCES)
set(PP_TRACE_PROTO_HEADERS)
foreach(proto ${PP_TRACE_PROTOS})
  string(REPLACE ".proto" ".pb.cc" proto_source ${proto})
  string(REPLACE ".proto" ".pb.h" proto_header ${proto})
  set(proto_source ${PROJECT_BINARY_DIR}/${proto_source})
  set(proto_header ${PROJECT_BINARY_DIR}/${proto_header})
  add_custom_command(
    OUTPUT ${proto_source} ${proto_header}
    COMMAND protobuf::protoc --cpp_out=${PROJECT_BINARY_DIR} -I${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${proto}
    DEPENDS ${PROJECT_SOURCE_DIR}/daemon/trace/perfetto.proto ${PROJECT_SOURCE_DIR}/${proto}
    COMMENT "Generating ${proto}")
  list(APPEND PP_TRACE_PROTO_SOURCES ${proto_source})
  list(APPEND PP_TRACE_PROTO_HEADERS ${proto_header})
endforeach()
# The descriptor of our extension, which every trace carries.
set(PP_TRACE_DESCRIPTOR ${PROJECT_BINARY_DIR}/daemon/trace/extension_descriptor)
add_custom_command(
  OUTPUT ${PP_TRACE_DESCRIPTOR}.inc
  COMMAND protobuf::protoc --descriptor_set_out=${PP_TRACE_DESCRIPTOR}.bin -I${PROJECT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/daemon/trace/extension.proto
  COMMAND ${CMAKE_COMMAND} -DINPUT=${PP_TRACE_DESCRIPTOR}.bin -DOUTPUT=${PP_TRACE_DESCRIPTOR}.inc
    -P ${PROJECT_SOURCE_DIR}/daemon/trace/embed_bytes.cmake
  DEPENDS ${PROJECT_SOURCE_DIR}/daemon/trace/perfetto.proto ${PROJECT_SOURCE_DIR}/daemon/trace/extension.proto
    ${PROJECT_SOURCE_DIR}/daemon/trace/embed_bytes.cmake)
add_custom_target(pp_trace_proto_headers DEPENDS ${PP_TRACE_PROTO_HEADERS} ${PP_TRACE_DESCRIPTOR}.inc)
add_library(pp_trace_proto STATIC EXCLUDE_FROM_ALL ${PP_TRACE_PROTO_SOURCES})
target_include_directories(pp_trace_proto SYSTEM PUBLIC ${PROJECT_BINARY_DIR})
target_link_libraries(pp_trace_proto PUBLIC protobuf::libprotobuf)

pp_library(daemon/trace
  SOURCES
    trace/accounting_sum.cc
    trace/write/call_sequence.cc
    trace/read/call_track.cc
    trace/read/counter_track.cc
    trace/extension_codec.cc
    trace/held_tensor_codec.cc
    trace/piece_codec.cc
    trace/extension_descriptor.cc
    trace/write/frame_names.cc
    trace/gpu_codec.cc
    trace/write/gpu_sequence.cc
    trace/read/gpu_track.cc
    trace/write/gpu_writer.cc
    trace/write/nesting_lanes.cc
    trace/inspection_codec.cc
    trace/left_out.cc
    trace/read/packet_framer.cc
    trace/read/reader_vocabulary.cc
    trace/read/sample_batch.cc
    trace/read/sample_batcher.cc
    trace/write/sequence_interner.cc
    trace/read/sequence_tables.cc
    trace/stack_table.cc
    trace/state_label.cc
    trace/read/thread_dump.cc
    trace/write/thread_sequence.cc
    trace/read/trace_meter.cc
    trace/trace_origin.cc
    trace/read/trace_reader.cc
    trace/write/trace_writer.cc
  DEPS pp_rpc_messages pp_attach_base)
add_dependencies(pp_daemon_trace pp_trace_proto_headers)
target_include_directories(pp_daemon_trace SYSTEM PRIVATE ${PROJECT_BINARY_DIR} ${Protobuf_INCLUDE_DIRS})
