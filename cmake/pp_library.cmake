# pp_library(folder/name SOURCES … DEPS …): one static library per folder. The target is called pp_<folder>_<name>;
# DEPS are such targets or imported ones.
set(PP_WARNINGS -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers)
option(PP_WERROR "Warnings in our code are errors" ON)
if(PP_WERROR)
  list(APPEND PP_WARNINGS -Werror)
endif()

# Several sources of a library are compiled as one, as most of the time goes into headers that they share: a fifth of
# the processor time. clang-tidy compiles each file by itself (PP_UNITY=OFF), which finds missing includes.
option(PP_UNITY "Compile several sources of a library or a unit test as one" ON)
set(PP_UNITY_SOURCES 8 CACHE STRING "How many sources are compiled as one; 0: all of a library or a test")

function(pp_target_defaults target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_compile_options(${target} PRIVATE ${PP_WARNINGS})
endfunction()

function(pp_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  string(REPLACE "/" "_" target "pp_${name}")
  add_library(${target} STATIC ${ARG_SOURCES})
  target_link_libraries(${target} PUBLIC ${ARG_DEPS})
  pp_target_defaults(${target})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PP_UNITY} UNITY_BUILD_BATCH_SIZE ${PP_UNITY_SOURCES})
endfunction()
