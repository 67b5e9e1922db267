// Checks whether each option of the table reaches the collector from the command line. Records PID once for each
// option, and reads the collector's options from the header of the trace. Prints the options that did not arrive, and
// then exits with 1.
//
// options_reach PTRACE_PROF PID FOLDER HOST…
#include <fmt/format.h>
#include <google/protobuf/message.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>

#include "daemon/trace/read/trace_reader.h"
#include "rpc/messages/option_table.h"
#include "rpc/messages/option_text.h"

namespace ptrace_prof {
namespace {

class Header : public TraceVisitor {
 public:
  void OnRequest(const CaptureTask& task) override { asked = task; }
  std::optional<CaptureTask> asked;
};

std::optional<CaptureTask> TaskIn(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Header header;
  TraceReader reader(header);
  (void)reader.Feed(std::as_bytes(std::span(bytes)));
  return header.asked;
}

// A value that differs from the default.
std::string ValueFor(const OptionRow& row, const std::string& pid) {
  switch (row.option.kind()) {
    case v1::Option::SWITCH: return "";
    case v1::Option::CHOICE: return row.path == "mode" ? "trace" : ChoicesOf(row).back();  // auto becomes another mode
    case v1::Option::SIZE: return "8M";
    case v1::Option::TIME: return "20ms";
    case v1::Option::SHARE: return row.option.modes() == v1::Option::CALLS ? "off" : "7%";  // not before CPython 3.12
    case v1::Option::GLOBS: return "'train.*'";
    case v1::Option::IDS: return pid;
    case v1::Option::SCHEDULE: return "wait=2,active=3";
    case v1::Option::PAIRS: return "run=baseline";
    default: return "7";
  }
}

bool IsSame(const OptionRow& row, const v1::CaptureSpec& one, const v1::CaptureSpec& other) {
  const auto only = [&](const v1::CaptureSpec& spec) {
    std::unique_ptr<google::protobuf::Message> copy(HolderOf(row, spec).New());
    copy->CopyFrom(HolderOf(row, spec));
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    copy->GetReflection()->ListFields(*copy, &fields);
    for (const auto* field : fields) {
      if (field != &row.field() && field != row.unlimited) {
        copy->GetReflection()->ClearField(copy.get(), field);
      }
    }
    return copy->SerializeAsString();
  };
  return only(one) == only(other);
}

// Whether the option arrived. Records in one of the modes that the option is for.
bool Arrives(const OptionRow& row, const std::string& program, const std::string& pid, const std::string& output,
             const std::string& host) {
  const bool is_of_calls = row.option.modes() == v1::Option::CALLS || row.path == "force";
  const std::string mode = row.path == "mode" ? "" : is_of_calls ? "--mode trace" : "--mode sample";
  const std::string value = ValueFor(row, pid);
  const bool is_part = row.path.starts_with("trace.schedule.") && row.path != "trace.schedule.active";
  const std::string line = fmt::format("{} record --host {} --pid {} -q {} {} {} {} {} -o {}", program, host, pid,
                                       row.path == "duration" ? "" : "-d 20ms", mode, is_part ? "--active 1" : "",
                                       row.long_flag(), value, output);
  v1::CaptureSpec expected;
  const std::string text = row.option.kind() == v1::Option::GLOBS ? "train.*" : value;
  const bool is_set = SetOption(row, text, &expected).has_value();
  const bool has_run = std::system(line.c_str()) == 0;
  const auto asked = TaskIn(output);
  const bool arrived = is_set && has_run && asked.has_value() && IsSame(row, expected, asked->spec());
  if (!arrived) {
    fmt::print("{}: {}\n  asked of the collector: {}\n", row.path, line,
               asked.has_value() ? asked->ShortDebugString() : "nothing");
  }
  return arrived;
}

}  // namespace
}  // namespace ptrace_prof

int main(int argc, char** argv) {
  using namespace ptrace_prof;
  if (argc < 5) {
    return 2;
  }
  int tried = 0;
  int missing = 0;
  for (int i = 4; i < argc; ++i) {
    for (const OptionRow& row : OptionTable()) {
      if (row.option.help().empty()) {
        continue;  // no flag of its own
      }
      const std::string output = fmt::format("{}/{}-{}.pftrace", argv[3], i, row.path);
      ++tried;
      missing += Arrives(row, argv[1], argv[2], output, argv[i]) ? 0 : 1;
    }
  }
  fmt::print("{} of {} options arrived\n", tried - missing, tried);
  return missing > 0 ? 1 : 0;
}
