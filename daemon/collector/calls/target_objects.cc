#include "daemon/collector/calls/target_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "symbolizer/cpython/named_items.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxObjectName = 256;
constexpr size_t kMaxKnownCodes = 65'536;  // known code objects; a job may create new ones all the time
constexpr size_t kMaxModules = 65'536;     // modules examined in a process
constexpr size_t kMaxPlace = 512;          // bytes
constexpr size_t kMaxChildren = 4096;

// PyCFunctionObject, in words after the header.
constexpr uint32_t kMethodOfFunction = 0;
constexpr uint32_t kModuleOfFunction = 2;

Frame NotPython(std::string name, FrameKind kind) {
  Frame frame;
  frame.function = std::move(name);
  frame.kind = kind;
  return frame;
}

}  // namespace

std::optional<RemoteAddr> TargetObjects::Field(RemoteAddr object, uint32_t number) {
  RemoteAddr value;
  const bool read =
      memory_.ReadValue(object + layout_.var_size + number * sizeof(uint64_t), &value.value) == ReadStatus::kOk;
  return read ? std::optional(value) : std::nullopt;
}

std::optional<Frame> TargetObjects::Code(RemoteAddr code) {
  CodeId id = codes_.Find(code.value);
  if (id == kNoCode) {
    if (codes_.size() >= kMaxKnownCodes) {
      codes_.Clear();
    }
    id = codes_.Read(code.value);
  }
  if (id == kNoCode) {
    return std::nullopt;
  }
  const CodeInfo& info = codes_.info(id);
  Frame frame;
  frame.function = info.function;
  frame.file = info.file;
  frame.line = frame.first_line = std::max(info.first_line, 0);
  return frame;
}

std::optional<Frame> TargetObjects::Freed(const FreedCode& freed) {
  if (freed.name.empty()) {
    return std::nullopt;
  }
  if (freed.is_type) {
    return NotPython(freed.name, FrameKind::kC);
  }
  Frame frame;
  frame.function = freed.name;
  frame.file = freed.file;
  frame.line = frame.first_line = std::max(freed.first_line, 0);
  return frame;
}

void TargetObjects::Changed(const std::vector<RemoteAddr>& codes, std::vector<RemoteAddr>* changed) {
  std::vector<CodeId> known;
  for (const RemoteAddr code : codes) {
    if (const CodeId id = codes_.Find(code.value); id != kNoCode) {
      known.push_back(id);
    } else {
      changed->push_back(code);  // it was dropped, or could never be read
    }
  }
  std::vector<CodeId> stale;
  if (codes_.Revalidate(known, &stale) != ReadStatus::kOk) {
    return;
  }
  for (const CodeId id : stale) {
    changed->push_back(codes_.info(id).address);
  }
}

std::optional<Frame> TargetObjects::Type(RemoteAddr type) {
  const std::optional<std::string> name = IsType(type) ? reader_.ReadNameOfType(type) : std::nullopt;
  return name && !name->empty() ? std::optional(NotPython(*name, FrameKind::kC)) : std::nullopt;
}

std::optional<std::string> TargetObjects::Method(RemoteAddr method) {
  RemoteAddr text;
  return memory_.ReadValue(method, &text.value) == ReadStatus::kOk ? reader_.ReadCText(text, kMaxObjectName)
                                                                   : std::nullopt;
}

std::optional<Frame> TargetObjects::Callable(RemoteAddr callable, RemoteAddr method) {
  const std::optional<std::string> name = Method(method);
  if (!name) {
    return NotPython("[C function that is gone]", FrameKind::kMarker);
  }
  const std::string module = ModuleOf(callable, method);
  return NotPython(module.empty() ? *name : module + "." + *name, FrameKind::kC);
}

// The module of a C function, if the object that refers to it still exists.
std::string TargetObjects::ModuleOf(RemoteAddr callable, RemoteAddr method) {
  if (Field(callable, kMethodOfFunction) != method) {
    return "";
  }
  const auto module = Field(callable, kModuleOfFunction);
  const std::string name =
      module && !module->IsNull() ? reader_.ReadString(*module, kMaxObjectName).value_or("") : std::string();
  return name == "builtins" ? "" : name;
}

bool TargetObjects::IsType(RemoteAddr object) {
  constexpr uint64_t kTypeSubclass = uint64_t{1} << 31;  // Py_TPFLAGS_TYPE_SUBCLASS
  RemoteAddr type;
  uint64_t flags = 0;
  return memory_.ReadValue(object + layout_.object_type, &type.value) == ReadStatus::kOk &&
         memory_.ReadValue(type + layout_.type_flags, &flags) == ReadStatus::kOk && (flags & kTypeSubclass) != 0;
}

std::optional<Frame> TargetObjects::Module(RemoteAddr, RemoteAddr self) {
  const std::optional<std::string> type = reader_.ReadTypeName(self);
  if (!type) {
    return std::nullopt;
  }
  if (!modules_.contains(self)) {
    WalkModules(self);
  }
  KnownModule& module = modules_[self];
  if (!module.number) {
    module.number = modules_of_class_[*type]++;
  }
  return NotPython(fmt::format("nn.Module: {}_{}{}", *type, *module.number,
                               module.place.empty() ? "" : fmt::format(" ({})", module.place)),
                   FrameKind::kModule);
}

// Sets the places of all modules that `root` holds, directly or not. A module that was called before its holder gets
// another name.
void TargetObjects::WalkModules(RemoteAddr root) {
  std::unordered_set<RemoteAddr> seen = {root};
  std::vector<RemoteAddr> open = {root};
  for (; !open.empty() && walked_ < kMaxModules; ++walked_) {
    const RemoteAddr module = open.back();
    open.pop_back();
    const std::optional<RemoteAddr> children = FindAttribute(reader_, module, "_modules");
    if (!children) {
      continue;
    }
    const std::string prefix = modules_[module].place.empty() ? "" : modules_[module].place + ".";
    reader_.VisitDict(*children, kMaxChildren, [&](RemoteAddr key, RemoteAddr child) {
      const std::string name = reader_.ReadString(key, kMaxObjectName).value_or("?");
      if (prefix.size() + name.size() <= kMaxPlace && seen.insert(child).second) {
        KnownModule& known = modules_[child];
        modules_moved_ = modules_moved_ || known.number.has_value();
        known.place = prefix + name;
        open.push_back(child);
      }
      return seen.size() < kMaxModules;
    });
  }
}

}  // namespace ptrace_prof
