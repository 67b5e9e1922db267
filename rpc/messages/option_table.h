// The table of what can be asked of a capture: the rows that stand beside the fields of CaptureSpec
// (ptraceprof/v1/option.proto), in the order of the message.
//
// Read once, from the descriptors; lives as long as the program. Any thread.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>
#include <vector>

#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

struct OptionRow {
  v1::Option option;
  std::string path;                                              // "sample.rate_hz"
  std::vector<const google::protobuf::FieldDescriptor*> way;     // from CaptureSpec to the field
  const google::protobuf::FieldDescriptor* unlimited = nullptr;  // the bool that lifts the limit, beside the field

  const google::protobuf::FieldDescriptor& field() const { return *way.back(); }
  // The last of `flag`: "--rate". Empty: the command line does not have it.
  std::string_view long_flag() const;
};

const std::vector<OptionRow>& OptionTable();
// Of a path that is in the table.
const OptionRow& OptionAt(std::string_view path);

// How an error calls a field, and a mode: as the caller wrote them.
enum class SpecDoor { kFields, kCommandLine };
std::string NameOf(const OptionRow& row, SpecDoor door);  // "sample.rate_hz", "--rate"
std::string NameOf(v1::Mode mode, SpecDoor door);         // "MODE_TRACE", "--mode trace"

// The message that holds the field of a row: read, or made.
const google::protobuf::Message& HolderOf(const OptionRow& row, const v1::CaptureSpec& spec);
google::protobuf::Message* MutableHolderOf(const OptionRow& row, v1::CaptureSpec* spec);
// Whether the caller gave it: a field without presence that is 0 is not given.
bool IsGiven(const OptionRow& row, const v1::CaptureSpec& spec);
bool IsUnlimited(const OptionRow& row, const v1::CaptureSpec& spec);

// Whether an option of these modes goes with `mode`.
bool GoesWith(v1::Option::Modes modes, v1::Mode mode);

// The values of a CHOICE as words: "main", "all", "none". The value 0 has none.
std::vector<std::string> ChoicesOf(const OptionRow& row);
std::string ChoiceName(const google::protobuf::EnumValueDescriptor& value);

}  // namespace ptrace_prof
