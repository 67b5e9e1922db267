// The record of a capture, from which a later daemon restores it: one line of JSON.
//
// Pure functions. A record comes from our own file, and is checked all the same.
#pragma once

#include <string>
#include <string_view>

#include "daemon/server/captures/capture_facts.h"

namespace ptrace_prof {

struct CaptureRecord {
  CaptureParameters parameters;  // without the daemon's own settings: spool_folder, stop_patience, shelf
  CaptureSnapshot state;
};

std::string EncodeRecord(const CaptureRecord& record);
// kDataLoss: `text` is no record.
Result<CaptureRecord> DecodeRecord(std::string_view text);

}  // namespace ptrace_prof
