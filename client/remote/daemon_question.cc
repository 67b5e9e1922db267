#include "client/remote/daemon_question.h"

#include <google/protobuf/util/time_util.h>

#include <chrono>

#include "client/remote/call_limits.h"
#include "client/remote/state_message.h"
#include "rpc/connection/status.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;
using google::protobuf::util::TimeUtil;

RemoteDaemon::Keeping KeepingOf(const v1::DaemonKeeping& message) {
  return {.spool = message.spool(),
          .spool_free_bytes = message.spool_free_bytes(),
          .users = message.users(),
          .brief = message.brief(),
          .audit = message.audit(),
          .metrics = message.metrics()};
}

RemoteDaemon DaemonOf(const v1::DaemonStatus& message) {
  RemoteDaemon daemon;
  daemon.node = message.node();
  daemon.version = message.version();
  daemon.pid = Pid(message.pid());
  daemon.started = Nanos(TimeUtil::TimestampToNanoseconds(message.start_time()));
  daemon.now = Nanos(TimeUtil::TimestampToNanoseconds(message.time()));
  daemon.address = message.address();
  daemon.user = Uid(message.user_uid());
  daemon.owner = Uid(message.owner_uid());
  daemon.multi_user = message.multi_user();
  for (const v1::CaptureCount& row : message.captures()) {
    daemon.captures[static_cast<size_t>(StateOf(row.state()))] += row.count();
  }
  daemon.trace_bytes = message.trace_bytes();
  daemon.of_everybody = message.of_everybody();
  daemon.most_captures = message.limits().captures();
  daemon.most_bytes = message.limits().bytes();
  daemon.longest = Nanos(TimeUtil::DurationToNanoseconds(message.limits().duration()));
  if (message.has_keeping()) {
    daemon.keeping = KeepingOf(message.keeping());
  }
  return daemon;
}

}  // namespace

Result<RemoteDaemon> AskDaemon(v1::NodeService::Stub& stub) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
  v1::DaemonStatus answer;
  if (const grpc::Status status = stub.GetDaemonStatus(&context, {}, &answer); !status.ok()) {
    return FromStatus(status);
  }
  return DaemonOf(answer);
}

}  // namespace ptrace_prof
