# What a node needs beside the programs and their manual pages, where `cmake --install` puts it. Units name the program
# where it goes.
include(GNUInstallDirs)
set(PP_UNIT ${PROJECT_BINARY_DIR}/ptrace-profd.service)
file(READ ${PROJECT_SOURCE_DIR}/packaging/systemd/ptrace-profd.service PP_UNIT_TEXT)
string(REPLACE "ExecStart=/usr/bin/" "ExecStart=${CMAKE_INSTALL_FULL_BINDIR}/" PP_UNIT_TEXT "${PP_UNIT_TEXT}")
file(WRITE ${PP_UNIT} "${PP_UNIT_TEXT}")
install(FILES ${PP_UNIT} packaging/systemd/ptrace-profd.socket DESTINATION lib/systemd/system)
install(FILES packaging/systemd/sysusers.d/ptrace-prof.conf DESTINATION lib/sysusers.d)
install(FILES packaging/systemd/tmpfiles.d/ptrace-prof.conf DESTINATION lib/tmpfiles.d)
# Where logrotate looks, which for /usr is not below it.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  install(FILES packaging/logrotate.d/ptrace-prof DESTINATION /etc/logrotate.d)
else()
  install(FILES packaging/logrotate.d/ptrace-prof DESTINATION etc/logrotate.d)
endif()
install(FILES packaging/policy.example.toml DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/ptrace-prof)
