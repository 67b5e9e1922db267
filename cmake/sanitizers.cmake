# PP_SANITIZE: what -fsanitize= gets, on everything of ours (presets asan, tsan, fuzz). A finding ends the program.
set(PP_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")
if(PP_SANITIZE)
  add_compile_options(-fsanitize=${PP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options(-fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/sanitizer_ignore.txt)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # What a sanitizer adds makes it see values that are not set where they are (GCC 12: std::optional).
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  add_link_options(-fsanitize=${PP_SANITIZE})
endif()
