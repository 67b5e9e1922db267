// What is written down of a capture, so that a daemon that comes after knows of it: a line of JSON.
//
// Pure data. A record comes from a file of ours, and is checked all the same.
#pragma once

#include <string>
#include <string_view>

#include "daemon/server/captures/capture_facts.h"

namespace ptrace_prof {

struct CaptureRecord {
  CaptureParameters parameters;  // without what is the daemon's own: spool_folder, stop_patience, shelf
  CaptureSnapshot state;
};

std::string EncodeRecord(const CaptureRecord& record);
// kDataLoss: that is none.
Result<CaptureRecord> DecodeRecord(std::string_view text);

}  // namespace ptrace_prof
