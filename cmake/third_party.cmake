# The libraries that we use, as imported targets: fmt::fmt, pp_spdlog, protobuf::libprotobuf, PkgConfig::ELF, ZLIB::ZLIB,
# GTest::gtest_main, benchmark::benchmark, pp_grpc, pp_munge, and pp_ncurses. All from Debian 12.
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
# libncursesw.a calls libtinfo.a.
find_library(PP_NCURSES_FILE NAMES ncursesw REQUIRED)
find_library(PP_TINFO_FILE NAMES tinfo REQUIRED)
add_library(pp_ncurses INTERFACE)
target_link_libraries(pp_ncurses INTERFACE ${PP_NCURSES_FILE} ${PP_TINFO_FILE})

add_library(pp_fmt STATIC cmake/fmt/fmt_library.cc)
add_library(fmt::fmt ALIAS pp_fmt)

# spdlog from its headers, with the {fmt} from above: Debian has no archive of it.
find_path(PP_SPDLOG_INCLUDE spdlog/spdlog.h REQUIRED)
add_library(pp_spdlog INTERFACE)
target_include_directories(pp_spdlog SYSTEM INTERFACE ${PP_SPDLOG_INCLUDE})
target_compile_definitions(pp_spdlog INTERFACE SPDLOG_FMT_EXTERNAL SPDLOG_HEADER_ONLY)
target_link_libraries(pp_spdlog INTERFACE fmt::fmt)

# libmunge from its archive: it talks to munged, and needs nothing else. LGPL, as libelf: this build is what relinks it.
find_path(PP_MUNGE_INCLUDE munge.h REQUIRED)
find_library(PP_MUNGE_FILE NAMES munge REQUIRED)
add_library(pp_munge INTERFACE)
target_include_directories(pp_munge SYSTEM INTERFACE ${PP_MUNGE_INCLUDE})
target_link_libraries(pp_munge INTERFACE ${PP_MUNGE_FILE})

# toml++ from its header: Debian has no archive of it.
find_path(PP_TOML_INCLUDE toml++/toml.h REQUIRED)
add_library(pp_toml INTERFACE)
target_include_directories(pp_toml SYSTEM INTERFACE ${PP_TOML_INCLUDE})

# gRPC with all that it needs, as pp_grpc. Debian's archives name each other in a circle, hence the group.
find_program(PP_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
pkg_check_modules(GRPC REQUIRED grpc++)
add_library(pp_grpc INTERFACE)
if(PP_STATIC_LIBRARIES)
  set(PP_GRPC_LIBRARIES)
  foreach(flag ${GRPC_STATIC_LIBRARIES})
    list(APPEND PP_GRPC_LIBRARIES ${flag})
  endforeach()
  list(REMOVE_DUPLICATES PP_GRPC_LIBRARIES)
  list(REMOVE_ITEM PP_GRPC_LIBRARIES pthread dl rt m)
  set(PP_GRPC_FLAGS)
  foreach(library ${PP_GRPC_LIBRARIES})
    list(APPEND PP_GRPC_FLAGS -l:lib${library}.a)
  endforeach()
  target_link_libraries(pp_grpc INTERFACE -Wl,--start-group ${PP_GRPC_FLAGS} -Wl,--end-group protobuf::libprotobuf
    Threads::Threads ${CMAKE_DL_LIBS})
else()
  target_link_libraries(pp_grpc INTERFACE ${GRPC_LIBRARIES} protobuf::libprotobuf Threads::Threads)
endif()
