// The tests of the service, and the collectors that it starts in them: this program again, as "__collector".

#include <gtest/gtest.h>

#include <string_view>

#include "daemon/collector/collector_main.h"
#include "daemon/server/captures/collector_process.h"

int main(int argc, char** argv) {
  if (argc >= 2 && std::string_view(argv[1]) == ptrace_prof::kCollectorArgument) {
    return ptrace_prof::CollectorMain(argc, argv);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
