pp_library(symbolizer/elf
  SOURCES elf/dynamic_section.cc elf/dynamic_symbols.cc elf/elf_file.cc elf/elf_headers.cc elf/elf_image.cc
    elf/import_slots.cc elf/symbol_table.cc
  DEPS pp_attach_proc pp_attach_base PkgConfig::ELF)
