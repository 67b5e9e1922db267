pp_library(symbolizer/cpython
  SOURCES
    cpython/debug_offsets.cc
    cpython/debug_offsets_table.cc
    cpython/layout.cc
    cpython/layout_table.cc
  DEPS pp_attach_base)
