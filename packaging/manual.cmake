# The manual pages, as the programs print them; that of the policy out of the example that is installed with it.
set(PP_MANUAL_PAGES)
function(pp_manual_page file program)
  set(page ${PROJECT_BINARY_DIR}/man/${file})
  add_custom_command(OUTPUT ${page} COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man
    COMMAND ${ARGN} > ${page} DEPENDS ${program} COMMENT "Writing ${file}" VERBATIM)
  string(REGEX REPLACE ".*\\." "" section ${file})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  set(PP_MANUAL_PAGES ${PP_MANUAL_PAGES} ${page} PARENT_SCOPE)
endfunction()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(PP_POLICY_EXAMPLE ${PROJECT_SOURCE_DIR}/packaging/policy.example.toml)
pp_manual_page(ptrace-prof.1 ptrace-prof $<TARGET_FILE:ptrace-prof> --help-man)
pp_manual_page(ptrace-profd.8 ptrace-profd $<TARGET_FILE:ptrace-profd> --help-man)
if(EXISTS ${PP_POLICY_EXAMPLE})
  pp_manual_page(ptrace-prof-policy.5 ${PP_POLICY_EXAMPLE}
    ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/packaging/policy_manual.py ${PP_POLICY_EXAMPLE} ${PROJECT_VERSION})
endif()
add_custom_target(manual_pages ALL DEPENDS ${PP_MANUAL_PAGES})
