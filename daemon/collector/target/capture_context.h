// What all sources of one capture share. References only: CaptureLoop owns the objects.
#pragma once

#include "daemon/collector/target/child_judge.h"
#include "daemon/trace/model.h"
#include "daemon/trace/stack_table.h"
#include "daemon/trace/write/trace_writer.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

class NvmlCounters;
class ScriptFiles;
class StackHistory;

struct CaptureContext {
  const CaptureTask& request;
  StackTable& stacks;
  TraceWriter& writer;
  Accounting& accounting;
  ScriptFiles* scripts = nullptr;     // for a capture that traces calls or a GPU: see RunCapture
  StackHistory* history = nullptr;    // records where threads were, for a GPU recording; null: not needed
  NvmlCounters* gpus = nullptr;       // what is known of the machine's GPUs; null: nothing
  const ChildJudge* judge = nullptr;  // see CaptureAids; null: every process may be followed
};

}  // namespace ptrace_prof
