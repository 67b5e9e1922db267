# What the administrator allows, beyond what the kernel does. parse_policy.cc alone sees the header of toml++.
pp_library(daemon/policy
  SOURCES policy/account_names.cc policy/child_rules.cc
          policy/identity_rule.cc policy/parse_policy.cc policy/policy.cc policy/policy_file.cc
  DEPS pp_daemon_trace pp_attach_proc pp_attach_base)
target_link_libraries(pp_daemon_policy PRIVATE pp_toml)
