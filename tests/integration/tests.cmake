include(integration/cli.cmake OPTIONAL)
include(integration/perfetto.cmake OPTIONAL)
include(integration/export.cmake OPTIONAL)
