// The table of a capture's options: the rows that stand beside the fields of CaptureSpec (ptraceprof/v1/option.proto),
// in the order of the message.
//
// Read once, from the descriptors; lives as long as the program. May be used on any thread.
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
  const google::protobuf::FieldDescriptor* unlimited = nullptr;  // the bool beside the field that lifts the limit

  const google::protobuf::FieldDescriptor& field() const { return *way.back(); }
  // The last flag in `flag`: "--rate". Empty: the command line has no such option.
  std::string_view long_flag() const;
};

const std::vector<OptionRow>& OptionTable();
// The path must be in the table.
const OptionRow& OptionAt(std::string_view path);

// How errors name a field and a mode: in the words of the caller's interface.
enum class SpecDoor { kFields, kCommandLine };
std::string NameOf(const OptionRow& row, SpecDoor door);  // "sample.rate_hz", "--rate"
std::string NameOf(v1::Mode mode, SpecDoor door);         // "MODE_TRACE", "--mode trace"

// The message that holds the field of a row, to read or to change.
const google::protobuf::Message& HolderOf(const OptionRow& row, const v1::CaptureSpec& spec);
google::protobuf::Message* MutableHolderOf(const OptionRow& row, v1::CaptureSpec* spec);
// Whether the caller set the field. A field without presence that is 0 counts as not set.
bool IsGiven(const OptionRow& row, const v1::CaptureSpec& spec);
bool IsUnlimited(const OptionRow& row, const v1::CaptureSpec& spec);

// Whether an option for these modes can be used with `mode`.
bool GoesWith(v1::Option::Modes modes, v1::Mode mode);

// The values of a CHOICE as words: "main", "all", "none". The value 0 has no word.
std::vector<std::string> ChoicesOf(const OptionRow& row);
std::string ChoiceName(const google::protobuf::EnumValueDescriptor& value);

}  // namespace ptrace_prof
