// The table of options: every field of a CaptureSpec has a row, and each row is usable.

#include "rpc/messages/option_table.h"

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <set>

#include "rpc/messages/check_spec.h"
#include "rpc/messages/option_text.h"

namespace ptrace_prof {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

void AddLeaves(const Descriptor& message, const std::string& path, std::set<std::string>& leaves) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    const std::string name = path.empty() ? field.name() : path + "." + field.name();
    const bool is_ours = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
                         field.message_type()->file()->package() == message.file()->package();
    if (is_ours) {
      AddLeaves(*field.message_type(), name, leaves);
    } else {
      leaves.insert(name);
    }
  }
}

TEST(OptionTable, HasARowForAllThatCanBeAsked) {
  std::set<std::string> leaves;
  AddLeaves(*v1::CaptureSpec::descriptor(), "", leaves);
  for (const OptionRow& row : OptionTable()) {
    leaves.erase(row.path);
    if (row.unlimited != nullptr) {
      leaves.erase(row.path.substr(0, row.path.rfind('.') + 1) + row.option.unlimited());
    }
  }
  EXPECT_EQ(leaves, std::set<std::string>());
}

TEST(OptionTable, RowsSayWhatCanBeDone) {
  for (const OptionRow& row : OptionTable()) {
    SCOPED_TRACE(row.path);
    const v1::Option& option = row.option;
    EXPECT_NE(option.kind(), v1::Option::KIND_UNSPECIFIED);
    EXPECT_EQ(&OptionAt(row.path), &row);
    EXPECT_EQ(option.help().empty() && row.path != "trace.schedule.wait", option.flag().empty());
    const bool has_value = option.kind() != v1::Option::SWITCH && !option.help().empty();
    EXPECT_EQ(has_value, !option.value().empty());
    EXPECT_EQ(option.unlimited().empty(), row.unlimited == nullptr);
    EXPECT_EQ(option.kind() == v1::Option::CHOICE, row.field().enum_type() != nullptr);
    for (const std::string* text : {&option.fallback(), &option.alone(), &option.short_means()}) {
      v1::CaptureSpec spec;
      const auto set = text->empty() ? Result<void>() : SetOption(row, *text, &spec);
      EXPECT_TRUE(set.has_value()) << *text;
    }
  }
}

TEST(OptionTable, DefaultsPassTheCheckAndStay) {
  for (const v1::Mode mode : {v1::MODE_UNSPECIFIED, v1::MODE_SAMPLE, v1::MODE_TRACE, v1::MODE_AUTO}) {
    v1::CaptureSpec spec;
    spec.set_mode(mode);
    FillDefaults(&spec);
    const auto checked = CheckSpec(spec, SpecDoor::kFields);
    EXPECT_TRUE(checked.has_value()) << checked.error().message;
    for (const OptionRow& row : OptionTable()) {
      if (!row.option.fallback().empty() && GoesWith(row.option.modes(), spec.mode())) {
        EXPECT_TRUE(IsGiven(row, spec) || IsUnlimited(row, spec)) << row.path;
      }
    }
    v1::CaptureSpec again = spec;
    FillDefaults(&again);
    EXPECT_EQ(again.SerializeAsString(), spec.SerializeAsString());
  }
}

TEST(OptionTable, ChoicesAreWords) {
  EXPECT_EQ(ChoicesOf(OptionAt("sample.idle")), (std::vector<std::string>{"main", "all", "none"}));
  EXPECT_EQ(ChoicesOf(OptionAt("trace.on_full")), (std::vector<std::string>{"drop", "stop", "throttle"}));
  EXPECT_EQ(ChoicesOf(OptionAt("gpu")), (std::vector<std::string>{"coarse", "default", "full"}));
}

TEST(CaptureSpec, IsReadAndWrittenAsJson) {
  v1::CaptureSpec spec;
  spec.mutable_target()->set_pid(7);
  spec.set_mode(v1::MODE_AUTO);
  FillDefaults(&spec);
  std::string json;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(spec, &json).ok());
  EXPECT_NE(json.find("\"mode\":\"MODE_AUTO\""), std::string::npos) << json;
  v1::CaptureSpec back;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &back).ok());
  EXPECT_EQ(back.SerializeAsString(), spec.SerializeAsString());
}

}  // namespace
}  // namespace ptrace_prof
