# The libraries that we use, as imported targets: fmt::fmt, protobuf::libprotobuf, PkgConfig::ELF, ZLIB::ZLIB,
# GTest::gtest_main, benchmark::benchmark. All from Debian 12.
#
# Archives are preferred to shared objects, so that build/bin/ptrace-prof runs where none of them is installed: what
# remains are libc and libm. PP_FULLY_STATIC (preset `static`) links these too.
option(PP_STATIC_LIBRARIES "Link third-party libraries statically" ON)
option(PP_FULLY_STATIC "Link libc statically too" OFF)

if(PP_STATIC_LIBRARIES)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
  set(Protobuf_USE_STATIC_LIBS ON)
  set(ZLIB_USE_STATIC_LIBS ON)
  if(NOT PP_SANITIZE)
    add_link_options(-static-libgcc -static-libstdc++)
  endif()
endif()
if(PP_FULLY_STATIC)
  add_link_options(-static)
endif()

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Protobuf REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ELF REQUIRED IMPORTED_TARGET libelf)
# libelf.a reads compressed sections with zlib, which must come after it on the command line whoever else wants zlib.
add_library(pp_elf UNKNOWN IMPORTED)
list(GET ELF_LINK_LIBRARIES 0 PP_ELF_FILE)
set_target_properties(pp_elf PROPERTIES IMPORTED_LOCATION ${PP_ELF_FILE} INTERFACE_LINK_LIBRARIES ZLIB::ZLIB)
set_target_properties(PkgConfig::ELF PROPERTIES INTERFACE_LINK_LIBRARIES pp_elf)

add_library(pp_fmt STATIC cmake/fmt/fmt_library.cc)
add_library(fmt::fmt ALIAS pp_fmt)
