# The administrator's rules, in addition to the kernel's. Only parse_policy.cc includes the header of toml++.
pp_library(daemon/server/policy
  SOURCES server/policy/account_names.cc server/policy/child_rules.cc
          server/policy/identity_rule.cc server/policy/parse_policy.cc server/policy/policy.cc server/policy/policy_file.cc
  DEPS pp_daemon_trace pp_attach_proc pp_attach_base)
target_link_libraries(pp_daemon_server_policy PRIVATE pp_toml)
