#include "daemon/trace/extension_codec.h"

#include <limits>
#include <optional>

#include "daemon/trace/counter_codec.h"
#include "daemon/trace/extension.pb.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/wire_decoder.h"

namespace ptrace_prof {
namespace {

namespace pf = perfetto::protos;
using AccountingFields = trace::Accounting;

constexpr size_t kMaxCmdlineWords = 4096;
constexpr size_t kMaxLocals = 65'536;
constexpr size_t kMaxLeftOut = 4096;

bool Is(const WireField& field, int number) { return field.number == static_cast<uint32_t>(number); }

}  // namespace

void EncodeLeftOut(const LeftOut& left_out, WireEncoder& out) {
  out.VarintIfSet(trace::LeftOut::kCauseFieldNumber, static_cast<uint64_t>(left_out.cause));
  out.StringIfSet(trace::LeftOut::kWhatFieldNumber, left_out.what);
  out.VarintIfSet(trace::LeftOut::kFunctionsFieldNumber, left_out.functions);
  out.VarintIfSet(trace::LeftOut::kCallsFieldNumber, left_out.calls);
  out.VarintIfSet(trace::LeftOut::kSwitchedOffFieldNumber, left_out.switched_off ? 1 : 0);
}

// Nothing if the cause is unknown to this version.
std::optional<LeftOut> DecodeLeftOut(std::string_view message) {
  LeftOut left_out;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case trace::LeftOut::kCauseFieldNumber:
        if (field.value >= kLeftOutCauses) {
          return std::nullopt;
        }
        left_out.cause = static_cast<LeftOutCause>(field.value);
        break;
      case trace::LeftOut::kWhatFieldNumber: left_out.what = field.bytes; break;
      case trace::LeftOut::kFunctionsFieldNumber: left_out.functions = field.value; break;
      case trace::LeftOut::kCallsFieldNumber: left_out.calls = field.value; break;
      case trace::LeftOut::kSwitchedOffFieldNumber: left_out.switched_off = field.value != 0; break;
      default: break;
    }
  }
  return left_out;
}

void EncodeAccounting(const Accounting& accounting, WireEncoder& out) {
  EncodeCounters(accounting, out);
  for (const uint64_t count : accounting.by_quality) {
    out.Varint(AccountingFields::kByQualityFieldNumber, count);
  }
  out.VarintIfSet(AccountingFields::kLimitFieldNumber, static_cast<uint64_t>(accounting.limit));
  for (const LeftOut& left_out : accounting.left_out) {
    out.Message(AccountingFields::kLeftOutFieldNumber, [&] { EncodeLeftOut(left_out, out); });
  }
}

Accounting DecodeAccounting(std::string_view message) {
  Accounting accounting;
  size_t quality = 0;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    DecodeCounter(field, accounting);
    if (Is(field, AccountingFields::kLimitFieldNumber) && field.value <= static_cast<uint64_t>(RateLimit::kStops)) {
      accounting.limit = static_cast<RateLimit>(field.value);
    }
    if (Is(field, AccountingFields::kByQualityFieldNumber) && quality < kSampleQualityCount) {
      accounting.by_quality[quality++] = field.value;
    }
    if (Is(field, AccountingFields::kLeftOutFieldNumber) && accounting.left_out.size() < kMaxLeftOut) {
      if (auto left_out = DecodeLeftOut(field.bytes)) {
        accounting.left_out.push_back(std::move(*left_out));
      }
    }
  }
  return accounting;
}

void EncodeEnd(const EndInfo& end, Nanos when, WireEncoder& out) {
  out.VarintIfSet(trace::End::kCodeFieldNumber, static_cast<uint64_t>(end.code));
  out.StringIfSet(trace::End::kMessageFieldNumber, end.message);
  out.StringIfSet(trace::End::kRemedyFieldNumber, end.remedy);
  out.SignedVarint(trace::End::kWhenNsFieldNumber, when.value);
  out.StringIfSet(trace::End::kReasonFieldNumber, ReasonName(end.reason));
  out.StringIfSet(trace::End::kThingFieldNumber, end.thing);
}

EndInfo DecodeEnd(std::string_view message) {
  EndInfo end;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case trace::End::kCodeFieldNumber:
        end.code = field.value <= static_cast<uint64_t>(Code::kUnauthenticated) ? static_cast<Code>(field.value)
                                                                                : Code::kUnknown;
        break;
      case trace::End::kMessageFieldNumber: end.message = field.bytes; break;
      case trace::End::kRemedyFieldNumber: end.remedy = field.bytes; break;
      case trace::End::kReasonFieldNumber: end.reason = ReasonNamed(field.bytes); break;
      case trace::End::kThingFieldNumber: end.thing = field.bytes; break;
      default: break;
    }
  }
  return end;
}

void EncodeProcess(const ProcessInfo& process, WireEncoder& out) {
  out.SignedVarint(trace::Process::kNsPidFieldNumber, process.ns_pid.value);
  out.SignedVarint(trace::Process::kParentPidFieldNumber, process.parent_pid.value);
  out.StringIfSet(trace::Process::kPythonFieldNumber, process.python);
  out.SignedVarint(trace::Process::kStartTimeNsFieldNumber, process.start_time.value);
  if (process.rank.has_value()) {
    out.SignedVarint(trace::Process::kRankFieldNumber, *process.rank);
  }
  if (process.world_size.has_value()) {
    out.SignedVarint(trace::Process::kWorldSizeFieldNumber, *process.world_size);
  }
  out.StringIfSet(trace::Process::kProcessGroupsFieldNumber, process.process_groups);
}

void DecodeProcess(std::string_view message, ProcessInfo& process) {
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case trace::Process::kNsPidFieldNumber: process.ns_pid.value = field.AsInt32(); break;
      case trace::Process::kParentPidFieldNumber: process.parent_pid.value = field.AsInt32(); break;
      case trace::Process::kPythonFieldNumber: process.python = field.bytes; break;
      case trace::Process::kStartTimeNsFieldNumber: process.start_time.value = field.AsSigned(); break;
      case trace::Process::kRankFieldNumber: process.rank = field.AsInt32(); break;
      case trace::Process::kWorldSizeFieldNumber: process.world_size = field.AsInt32(); break;
      case trace::Process::kProcessGroupsFieldNumber: process.process_groups = field.bytes; break;
      default: break;
    }
  }
}

void EncodeThread(const ThreadInfo& thread, WireEncoder& out) {
  out.SignedVarint(trace::Thread::kNsTidFieldNumber, thread.ns_tid.value);
  out.VarintIfSet(trace::Thread::kPythonIdentFieldNumber, thread.python_ident);
  out.VarintIfSet(trace::Thread::kInterpreterIdFieldNumber, static_cast<uint64_t>(thread.interpreter_id));
  out.VarintIfSet(trace::Thread::kIsMainFieldNumber, thread.is_main ? 1 : 0);
}

void DecodeThread(std::string_view message, ThreadInfo& thread) {
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case trace::Thread::kNsTidFieldNumber: thread.ns_tid.value = field.AsInt32(); break;
      case trace::Thread::kPythonIdentFieldNumber: thread.python_ident = field.value; break;
      case trace::Thread::kInterpreterIdFieldNumber: thread.interpreter_id = field.AsSigned(); break;
      case trace::Thread::kIsMainFieldNumber: thread.is_main = field.value != 0; break;
      default: break;
    }
  }
}

void EncodeProcessDescriptor(const ProcessInfo& process, WireEncoder& out) {
  out.SignedVarint(pf::ProcessDescriptor::kPidFieldNumber, process.pid.value);
  for (const std::string& word : process.cmdline) {
    out.Bytes(pf::ProcessDescriptor::kCmdlineFieldNumber, word);
  }
  out.StringIfSet(pf::ProcessDescriptor::kProcessNameFieldNumber, process.name);
}

void DecodeProcessDescriptor(std::string_view message, ProcessInfo& process) {
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case pf::ProcessDescriptor::kPidFieldNumber: process.pid.value = field.AsInt32(); break;
      case pf::ProcessDescriptor::kProcessNameFieldNumber: process.name = field.bytes; break;
      case pf::ProcessDescriptor::kCmdlineFieldNumber:
        if (process.cmdline.size() < kMaxCmdlineWords) {
          process.cmdline.emplace_back(field.bytes);
        }
        break;
      default: break;
    }
  }
}

void EncodeThreadDescriptor(const ThreadInfo& thread, WireEncoder& out) {
  out.SignedVarint(pf::ThreadDescriptor::kPidFieldNumber, thread.pid.value);
  out.SignedVarint(pf::ThreadDescriptor::kTidFieldNumber, thread.tid.value);
  out.StringIfSet(pf::ThreadDescriptor::kThreadNameFieldNumber, thread.name);
}

void DecodeThreadDescriptor(std::string_view message, ThreadInfo& thread) {
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case pf::ThreadDescriptor::kPidFieldNumber: thread.pid.value = field.AsInt32(); break;
      case pf::ThreadDescriptor::kTidFieldNumber: thread.tid.value = field.AsInt32(); break;
      case pf::ThreadDescriptor::kThreadNameFieldNumber: thread.name = field.bytes; break;
      default: break;
    }
  }
}

void EncodeLocals(uint32_t depth_from_leaf, std::span<const LocalVariable> locals, WireEncoder& out) {
  out.Varint(trace::FrameLocals::kDepthFromLeafFieldNumber, depth_from_leaf);
  for (const LocalVariable& local : locals) {
    out.Message(trace::FrameLocals::kVariablesFieldNumber, [&] {
      out.Bytes(trace::Variable::kNameFieldNumber, local.name);
      out.Bytes(trace::Variable::kValueFieldNumber, local.value);
      out.VarintIfSet(trace::Variable::kIsArgumentFieldNumber, local.is_argument ? 1 : 0);
    });
  }
}

uint32_t DecodeLocals(std::string_view message, std::vector<LocalVariable>& locals) {
  locals.clear();
  uint32_t depth = 0;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    if (field.number == trace::FrameLocals::kDepthFromLeafFieldNumber) {
      depth = static_cast<uint32_t>(field.value);
    }
    if (field.number != trace::FrameLocals::kVariablesFieldNumber || locals.size() >= kMaxLocals) {
      continue;
    }
    LocalVariable& local = locals.emplace_back();
    WireDecoder variable(field.bytes);
    for (WireField part; variable.Next(part);) {
      switch (part.number) {
        case trace::Variable::kNameFieldNumber: local.name = part.bytes; break;
        case trace::Variable::kValueFieldNumber: local.value = part.bytes; break;
        case trace::Variable::kIsArgumentFieldNumber: local.is_argument = part.value != 0; break;
        default: break;
      }
    }
  }
  return depth;
}

}  // namespace ptrace_prof
