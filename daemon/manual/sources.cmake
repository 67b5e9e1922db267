pp_library(daemon/manual SOURCES manual/manual_page.cc DEPS fmt::fmt)
