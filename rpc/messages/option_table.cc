#include "rpc/messages/option_table.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <cctype>

namespace ptrace_prof {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool IsSpelledOut(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_repeated() &&
         field.message_type()->file()->package() == v1::CaptureSpec::descriptor()->file()->package();
}

void AddRows(const Descriptor& message, const std::vector<const FieldDescriptor*>& way, const std::string& path,
             std::vector<OptionRow>& rows) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    std::vector<const FieldDescriptor*> there = way;
    there.push_back(&field);
    const std::string name = path.empty() ? field.name() : path + "." + field.name();
    if (field.options().HasExtension(v1::option)) {
      const v1::Option& option = field.options().GetExtension(v1::option);
      rows.push_back(
          {option, name, there, option.unlimited().empty() ? nullptr : message.FindFieldByName(option.unlimited())});
    }
    if (IsSpelledOut(field)) {
      AddRows(*field.message_type(), there, name, rows);
    }
  }
}

std::vector<OptionRow> ReadTable() {
  std::vector<OptionRow> rows;
  AddRows(*v1::CaptureSpec::descriptor(), {}, "", rows);
  return rows;
}

}  // namespace

std::string_view OptionRow::long_flag() const {
  const std::string_view flags = option.flag();
  const size_t begin = flags.find("--");
  return begin == std::string_view::npos ? std::string_view() : flags.substr(begin, flags.find(',', begin) - begin);
}

const std::vector<OptionRow>& OptionTable() {
  static const std::vector<OptionRow> table = ReadTable();
  return table;
}

const OptionRow& OptionAt(std::string_view path) {
  return *std::ranges::find(OptionTable(), path, [](const OptionRow& row) { return std::string_view(row.path); });
}

std::string NameOf(const OptionRow& row, SpecDoor door) {
  return door == SpecDoor::kCommandLine && !row.long_flag().empty() ? std::string(row.long_flag()) : row.path;
}

std::string NameOf(v1::Mode mode, SpecDoor door) {
  const EnumValueDescriptor* value = v1::Mode_descriptor()->FindValueByNumber(mode);
  if (value == nullptr) {
    return std::to_string(mode);
  }
  return door == SpecDoor::kCommandLine ? "--mode " + ChoiceName(*value) : value->name();
}

const Message& HolderOf(const OptionRow& row, const v1::CaptureSpec& spec) {
  const Message* message = &spec;
  for (size_t i = 0; i + 1 < row.way.size(); ++i) {
    message = &message->GetReflection()->GetMessage(*message, row.way[i]);
  }
  return *message;
}

Message* MutableHolderOf(const OptionRow& row, v1::CaptureSpec* spec) {
  Message* message = spec;
  for (size_t i = 0; i + 1 < row.way.size(); ++i) {
    message = message->GetReflection()->MutableMessage(message, row.way[i]);
  }
  return message;
}

bool IsGiven(const OptionRow& row, const v1::CaptureSpec& spec) {
  const Message& holder = HolderOf(row, spec);
  const Reflection& reflection = *holder.GetReflection();
  return row.field().is_repeated() ? reflection.FieldSize(holder, &row.field()) > 0
                                   : reflection.HasField(holder, &row.field());
}

bool IsUnlimited(const OptionRow& row, const v1::CaptureSpec& spec) {
  const Message& holder = HolderOf(row, spec);
  return row.unlimited != nullptr && holder.GetReflection()->GetBool(holder, row.unlimited);
}

bool GoesWith(v1::Option::Modes modes, v1::Mode mode) {
  switch (modes) {
    case v1::Option::SAMPLES: return mode != v1::MODE_TRACE;
    case v1::Option::SAMPLES_ONLY: return mode != v1::MODE_TRACE && mode != v1::MODE_AUTO;
    case v1::Option::CALLS: return mode == v1::MODE_TRACE || mode == v1::MODE_AUTO;
    default: return true;
  }
}

// "ON_FULL_DROP" of the enum OnFull becomes "drop".
std::string ChoiceName(const EnumValueDescriptor& value) {
  size_t prefix = value.type()->name().size() + 1;  // with an underscore after each word of the enum's name
  prefix += static_cast<size_t>(std::count_if(value.type()->name().begin() + 1, value.type()->name().end(),
                                              [](unsigned char c) { return std::isupper(c) != 0; }));
  std::string word = value.name().substr(std::min(prefix, value.name().size()));
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

std::vector<std::string> ChoicesOf(const OptionRow& row) {
  std::vector<std::string> words;
  for (int i = 0; i < row.field().enum_type()->value_count(); ++i) {
    const EnumValueDescriptor& value = *row.field().enum_type()->value(i);
    if (value.number() != 0) {
      words.push_back(ChoiceName(value));
    }
  }
  return words;
}

}  // namespace ptrace_prof
