#include "rpc/messages/option_text.h"

#include <fmt/format.h>
#include <google/protobuf/message.h>

#include <charconv>

#include "attach/base/clean_text.h"
#include "rpc/messages/quantity.h"
#include "rpc/messages/step_schedule.h"

namespace ptrace_prof {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

Error NotAllowed(std::string_view text, std::string_view what, std::string remedy) {
  return Error{Code::kInvalidArgument, fmt::format("'{}' is not {}", CleanText(text), what), std::move(remedy)};
}

void SetNumber(const FieldDescriptor& field, uint64_t number, Message* holder) {
  const auto& reflection = *holder->GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32: return reflection.SetUInt32(holder, &field, static_cast<uint32_t>(number));
    case FieldDescriptor::CPPTYPE_INT32: return reflection.SetInt32(holder, &field, static_cast<int32_t>(number));
    default: return reflection.SetUInt64(holder, &field, number);
  }
}

using Set = Result<void> (*)(const OptionRow&, std::string_view, Message*);

Result<void> SetSwitch(const OptionRow& row, std::string_view text, Message* holder) {
  holder->GetReflection()->SetBool(holder, &row.field(), text != "false");
  return {};
}

// "main, all or none"
std::string Listed(const std::vector<std::string>& words) {
  std::string text = words.front();
  for (size_t i = 1; i < words.size(); ++i) {
    text += (i + 1 < words.size() ? ", " : " or ") + words[i];
  }
  return text;
}

Result<void> SetChoice(const OptionRow& row, std::string_view text, Message* holder) {
  for (int i = 0; i < row.field().enum_type()->value_count(); ++i) {
    const auto& value = *row.field().enum_type()->value(i);
    if (value.number() != 0 && ChoiceName(value) == text) {
      holder->GetReflection()->SetEnumValue(holder, &row.field(), value.number());
      return {};
    }
  }
  return NotAllowed(text, "one of its values", "write " + Listed(ChoicesOf(row)));
}

Result<void> SetCount(const OptionRow& row, std::string_view text, Message* holder) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < row.option.min()) {
    return NotAllowed(text, "an allowed whole number",
                      fmt::format("write a whole number from {:.0f} to {:.0f}", row.option.min(), row.option.max()));
  }
  SetNumber(row.field(), number, holder);
  return {};
}

Result<void> SetSize(const OptionRow& row, std::string_view text, Message* holder) {
  PP_ASSIGN_OR_RETURN(const uint64_t bytes, ParseSize(text));
  SetNumber(row.field(), bytes, holder);
  return {};
}

Result<void> SetTime(const OptionRow& row, std::string_view text, Message* holder) {
  PP_ASSIGN_OR_RETURN(const Nanos time, ParseDuration(text));
  SetNanos(time,
           static_cast<google::protobuf::Duration*>(holder->GetReflection()->MutableMessage(holder, &row.field())));
  return {};
}

template <Result<double> (*kParse)(std::string_view)>
Result<void> SetReal(const OptionRow& row, std::string_view text, Message* holder) {
  if (row.unlimited != nullptr && text == row.option.unlimited_word()) {
    holder->GetReflection()->SetBool(holder, row.unlimited, true);
    return {};
  }
  PP_ASSIGN_OR_RETURN(const double number, kParse(text));
  holder->GetReflection()->SetDouble(holder, &row.field(), number);
  return {};
}

Result<void> AddText(const OptionRow& row, std::string_view text, Message* holder) {
  holder->GetReflection()->AddString(holder, &row.field(), std::string(text));
  return {};
}

Result<void> AddIds(const OptionRow& row, std::string_view text, Message* holder) {
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    int32_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size() || id < 1) {
      return NotAllowed(word, "a thread id", "write ids as `ptrace-prof dump` shows them, such as 4711,4715");
    }
    holder->GetReflection()->AddInt32(holder, &row.field(), id);
    if (comma == std::string_view::npos) {
      return {};
    }
    text.remove_prefix(comma + 1);
  }
}

Result<void> SetSchedule(const OptionRow& row, std::string_view text, Message* holder) {
  PP_ASSIGN_OR_RETURN(const v1::StepSchedule schedule, ParseStepSchedule(text));
  holder->GetReflection()->MutableMessage(holder, &row.field())->CopyFrom(schedule);
  return {};
}

// Indexed by kind, in the order of the enum.
constexpr Set kSetters[] = {nullptr, SetSwitch, SetChoice,          SetCount,
                            SetSize, SetTime,   SetReal<ParseRate>, SetReal<ParsePercent>,
                            AddText, AddIds,    SetSchedule,        AddText};
static_assert(std::size(kSetters) == v1::Option::Kind_ARRAYSIZE);

}  // namespace

Result<void> SetOption(const OptionRow& row, std::string_view text, v1::CaptureSpec* spec) {
  auto set = kSetters[row.option.kind()](row, text, MutableHolderOf(row, spec));
  if (set.has_value()) {
    return set;
  }
  Error error = std::move(set).error();
  error.message = fmt::format("{}: {}", NameOf(row, SpecDoor::kCommandLine), error.message);
  return error;
}

}  // namespace ptrace_prof
