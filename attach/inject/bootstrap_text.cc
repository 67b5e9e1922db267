#include "attach/inject/bootstrap_text.h"

#include <fmt/format.h>

namespace ptrace_prof {
namespace {

// Only the builtin of that name will do: a job may have an `exec` of its own.
std::string OneExpression(std::string_view body) {
  std::string text(kTextBegin);
  text += " is [].append.__class__ and exec(\"try:\\n from sys import modules as m\\n p=m['posix']\\n";
  for (const char c : body) {
    c == '\n' ? text += "\\n" : text += c;
  }
  return text + "except BaseException:pass\",{})";
}

// "/proc/self/fd/N" with one of 65536 spellings.
std::string DescriptorPath(int32_t descriptor, uint16_t salt) {
  std::string path = "/proc/self/fd/";
  for (int bit = 0; bit < 16; ++bit) {
    path += (salt >> bit & 1) != 0 ? ".//" : "./";
  }
  return path + std::to_string(descriptor);
}

}  // namespace

std::string MakeFileText(const MakeFileRequest& request) {
  std::string otherwise;
  if (!request.memfd_create.IsNull()) {
    otherwise = fmt::format(
        "   except AttributeError:\n"
        "    import _ctypes as c\n"
        "    d=c.call_function({},(b'{}',f))\n"
        "    if d<0:continue\n",
        request.memfd_create.value, request.file_name);
  }
  std::string sized;
  if (request.size > 0) {
    sized = fmt::format(
        "   try:p.ftruncate(d,{})\n"
        "   except OSError:p.close(d)\n",
        request.size);
  }
  // 11: MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL; 3: the same for kernels before 6.3.
  return OneExpression(
      fmt::format(" if p.getpid()=={}:\n"
                  "  for f in 11,3:\n"
                  "   try:d=p.memfd_create('{}',f)\n"
                  "   except OSError:continue\n"
                  "{}"
                  "{}"
                  "   break\n",
                  request.own_pid.value, request.file_name, otherwise, sized));
}

std::string LoadText(const LoadRequest& request) {
  std::string to_close;
  for (const int32_t stray : request.strays) {
    to_close += fmt::format("{},", stray);
  }
  // What is loaded is looked at only afterwards: looking would let go of the interpreter's lock, and it may take long
  // to get it back. We have looked from outside, and anything else in its place would not be such a module.
  return OneExpression(
      fmt::format(" o='/proc/self/fd/'\n"
                  " try:\n"
                  "  if p.getpid()=={1}:i=m['_imp'];i.exec_dynamic(i.create_dynamic("
                  "m['_frozen_importlib'].ModuleSpec('{2}',None,origin='{3}')))\n"
                  " finally:\n"
                  "  for d in({0},{4}):'{5}'in p.readlink(o+str(d))and p.close(d)\n",
                  request.descriptor, request.own_pid.value, request.module,
                  DescriptorPath(request.descriptor, request.salt), to_close, request.prefix));
}

}  // namespace ptrace_prof
