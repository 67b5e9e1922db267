#include "attach/inject/bootstrap_text.h"

#include <fmt/format.h>

namespace ptrace_prof {
namespace {

// What a signal handler of the job has raised in our text was meant for the job: the signal is raised again, by a
// thread of its own that has no more to do and runs once we are through.
constexpr std::string_view kHandOn =
    "from sys import modules as m,exc_info as x\\n"
    "s=m['_signal']\\n"
    "c=[2]if x()[0]is KeyboardInterrupt else[]\\n"
    "t=x()[2]\\n"
    "while t:\\n"
    " c+=[n for n in range(1,65)if getattr(s.getsignal(n),'__code__',0)is t.tb_frame.f_code]\\n"
    " t=t.tb_next\\n"
    "for n in c[:1]:m['_thread'].start_new_thread(s.raise_signal,(n,))";

std::string Escaped(std::string_view body) {
  std::string text;
  for (const char c : body) {
    c == '\n' ? text += "\\n" : text += c;
  }
  return text;
}

// The first thing is a `try`, which up to 3.10 no signal handler can come before; from 3.11 on one that came while the
// text was being compiled does, some ten microseconds' worth. Only the builtin exec will do: a job may have one of its
// own.
std::string Guarded(std::string_view body) {
  std::string text(kTextBegin);
  text += Escaped(body);
  text += "\",{})\nexcept BaseException:exec(\"";
  text += kHandOn;
  return text + "\",{})\n";
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
        "  except AttributeError:\n"
        "   import _ctypes as c\n"
        "   d=c.call_function({},(b'{}',f))\n"
        "   if d<0:continue\n",
        request.memfd_create.value, request.file_name);
  }
  std::string sized;
  if (request.size > 0) {
    sized = fmt::format(
        "  try:p.ftruncate(d,{})\n"
        "  except OSError:p.close(d)\n",
        request.size);
  }
  // 11: MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL; 3: the same for kernels before 6.3.
  return Guarded(
      fmt::format("if p.getpid()=={}:\n"
                  " for f in 11,3:\n"
                  "  try:d=p.memfd_create('{}',f)\n"
                  "  except OSError:continue\n"
                  "{}"
                  "{}"
                  "  break\n",
                  request.own_pid.value, request.file_name, otherwise, sized));
}

std::string LoadText(const LoadRequest& request) {
  std::string to_close;
  for (const int32_t stray : request.strays) {
    to_close += fmt::format("{},", stray);
  }
  // What is loaded is looked at only afterwards: looking would let go of the interpreter's lock, and it may take long
  // to get it back. We have looked from outside, and anything else in its place would not be such a module.
  return Guarded(
      fmt::format("o='/proc/self/fd/'\n"
                  "try:\n"
                  " if p.getpid()=={1}:i=m['_imp'];i.exec_dynamic(i.create_dynamic("
                  "m['_frozen_importlib'].ModuleSpec('{2}',None,origin='{3}')))\n"
                  "finally:\n"
                  " for d in({0},{4}):'{5}'in p.readlink(o+str(d))and p.close(d)\n",
                  request.descriptor, request.own_pid.value, request.module,
                  DescriptorPath(request.descriptor, request.salt), to_close, request.prefix));
}

std::string AsScript(std::string_view text, Pid own_pid, std::string_view path) {
  // With O_APPEND, the end of what one has written is where one is: one only is right behind the script.
  const auto claim = [&](size_t size) {
    return Escaped(
        fmt::format("1//(p.getpid()=={})\n"
                    "d=p.open('{}',p.O_WRONLY|p.O_APPEND|p.O_CLOEXEC|p.O_NOFOLLOW)\n"
                    "try:f=p.write(d,b'#')and p.lseek(d,0,1)\n"
                    "finally:p.close(d)\n"
                    "1//(f=={:#010x})\n",
                    own_pid.value, path, size));
  };
  std::string script(text);
  script.insert(kTextBegin.size(), claim(text.size() + claim(0).size() + 1));
  return script;
}

}  // namespace ptrace_prof
