// Converts the structs of model.h, process_entry.h and check.h to messages of extension.proto and back, for TraceWriter
// and TraceReader.
//
// Encoders append fields of the message to `out`. Decoders take hostile bytes: an invalid value keeps its default, and
// strings are no longer than their packet.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "daemon/trace/check.h"
#include "daemon/trace/model.h"
#include "daemon/trace/process_entry.h"
#include "daemon/trace/wire_encoder.h"

namespace ptrace_prof {

void EncodeAccounting(const Accounting& accounting, WireEncoder& out);
Accounting DecodeAccounting(std::string_view message);

void EncodeEnd(const EndInfo& end, Nanos when, WireEncoder& out);
EndInfo DecodeEnd(std::string_view message);

// The fields of a process or thread that Perfetto's descriptor lacks.
void EncodeProcess(const ProcessInfo& process, WireEncoder& out);
void DecodeProcess(std::string_view message, ProcessInfo& process);
void EncodeThread(const ThreadInfo& thread, WireEncoder& out);
void DecodeThread(std::string_view message, ThreadInfo& thread);

// Perfetto's descriptor of a process or thread.
void EncodeProcessDescriptor(const ProcessInfo& process, WireEncoder& out);
void DecodeProcessDescriptor(std::string_view message, ProcessInfo& process);
void EncodeThreadDescriptor(const ThreadInfo& thread, WireEncoder& out);
void DecodeThreadDescriptor(std::string_view message, ThreadInfo& thread);

void EncodeLocals(uint32_t depth_from_leaf, std::span<const LocalVariable> locals, WireEncoder& out);
uint32_t DecodeLocals(std::string_view message, std::vector<LocalVariable>& locals);

void EncodeProcessEntry(const ProcessEntry& entry, WireEncoder& out);
ProcessEntry DecodeProcessEntry(std::string_view message);
void EncodeCheck(const Check& check, WireEncoder& out);
Check DecodeCheck(std::string_view message);

}  // namespace ptrace_prof
