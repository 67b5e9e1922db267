pp_library(daemon/manual SOURCES manual/empty_values.cc manual/manual_page.cc DEPS fmt::fmt)
