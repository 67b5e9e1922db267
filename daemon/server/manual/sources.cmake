pp_library(daemon/server/manual SOURCES server/manual/empty_values.cc server/manual/manual_page.cc DEPS fmt::fmt)
