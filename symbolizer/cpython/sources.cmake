pp_library(symbolizer/cpython
  SOURCES
    cpython/code_cache.cc
    cpython/debug_offsets.cc
    cpython/debug_offsets_table.cc
    cpython/frame_walker.cc
    cpython/interpreter_list.cc
    cpython/layout.cc
    cpython/layout_table.cc
    cpython/line_table.cc
    cpython/native_tid.cc
    cpython/read_plan.cc
    cpython/thread_stack.cc
  DEPS pp_attach_proc pp_attach_base)
