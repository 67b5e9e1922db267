# The privileged part of the daemon: small, without parsers.
pp_library(daemon/launcher
  SOURCES launcher/arrivals.cc launcher/caller_identity.cc launcher/collector_rights.cc launcher/launch_message.cc launcher/launcher.cc launcher/launcher_process.cc
          launcher/launcher_rights.cc launcher/memory_grantor.cc launcher/peer_examination.cc launcher/start_collector.cc launcher/target_look.cc
  DEPS pp_attach_ptrace pp_attach_proc pp_attach_base)
