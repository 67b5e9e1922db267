#include "rpc/library_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <atomic>
#include <string>

namespace ptrace_prof {
namespace {

std::atomic<TakeLibraryLog> g_take{nullptr};

void OnProtobuf(google::protobuf::LogLevel, const char*, int, const std::string& message) {
  g_take.load()("protobuf", message);
}

void OnGrpc(gpr_log_func_args* said) { g_take.load()("grpc", said->message); }

}  // namespace

void RedirectLibraryLogs(TakeLibraryLog take) {
  g_take.store(take);
  google::protobuf::SetLogHandler(&OnProtobuf);
  ::gpr_set_log_function(&OnGrpc);
}

}  // namespace ptrace_prof
