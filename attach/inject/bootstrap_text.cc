#include "attach/inject/bootstrap_text.h"

#include <fmt/format.h>

#include <cstring>

namespace ptrace_prof {
namespace {

// A signal handler of the job may have raised an exception in our text. n is then the signal; 0: the exception came
// from elsewhere. Handlers are functions, methods, functools.partial, or callable objects. In an interpreter that is
// about to end the modules are gone; n is then 0.
constexpr std::string_view kWhose =
    "n=0\\n"
    "try:\\n"
    " from sys import modules as m,exc_info as x;k,_,t=x();s=m['_signal'];c={};h='__code__'\\n"
    " for i in range(1,65):\\n"
    "  f=s.getsignal(i)\\n"
    "  for a in'func','__call__':f=f if hasattr(f,h)else getattr(f,a,f)\\n"
    "  c[id(getattr(f,h,0))]=i\\n"
    " n=2*(k is KeyboardInterrupt)\\n"
    " while t:n=c.get(id(t.tb_frame.f_code),n);t=t.tb_next\\n"
    "except Exception:0\\n";
// If exceptions may not propagate, the signal is sent again, by a new thread that does nothing else and runs after our
// text.
constexpr std::string_view kAgain = "if n:t=m['_thread'];t.start_new_thread(";
constexpr std::string_view kByKernel = "s.raise_signal,(n,))";
constexpr std::string_view kByInterpreter = "t.interrupt_main,(n,))";
constexpr std::string_view kEnd = "\",{})\n";
constexpr std::string_view kPass = "if n:raise";
constexpr std::string_view kCatch = "except BaseException:";
// Code near its recursion or memory limit may fail because of our text. The text has then not run, and the job sees no
// error.
constexpr std::string_view kOurs = "except(RecursionError,MemoryError):0\n";

std::string Escaped(std::string_view body) {
  std::string text;
  for (const char c : body) {
    c == '\n' ? text += "\\n" : text += c;
  }
  return text;
}

// The text begins with `try`, because up to 3.10 no signal handler runs before it. From 3.11 on, a signal that came
// during compilation (about ten microseconds) is handled before it. The text checks that exec is the builtin, because a
// job may define its own.
std::string Guarded(std::string_view body, SignalAgain again) {
  std::string text(kTextBegin);
  text += Escaped(body);
  text += kEnd;
  text += kCatch;
  text += "exec(\"";
  text += kWhose;
  text += kAgain;
  text += again == SignalAgain::kByInterpreter ? kByInterpreter : kByKernel;
  text += kEnd;
  return text;
}

// The text before the N of "/proc/self/fd/N" for one of 2^32 spellings. With 2^16 spellings, one in 340 processes that
// were entered twenty times by scripts, each of which loads a stub, would repeat one and be given an earlier stub.
std::string Spelling(uint32_t salt) {
  std::string spelling;
  for (int bit = 0; bit < 32; ++bit) {
    spelling += (salt >> bit & 1) != 0 ? "./" : "/";
  }
  return spelling;
}

// The content of a tuple's parentheses.
std::string Sequence(std::span<const int32_t> numbers) {
  return fmt::format("{}{}", fmt::join(numbers, ","), numbers.size() == 1 ? "," : "");
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
  // 11: MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL; 3: the same for kernels before 6.3.
  return Guarded(fmt::format("if p.getpid()=={}:\n"
                             " for f in 11,3:\n"
                             "  try:d=p.memfd_create('{}',f)\n"
                             "  except OSError:continue\n"
                             "{}"
                             "  break\n",
                             request.own_pid.value, request.file_name, otherwise),
                 request.again);
}

std::string LoadText(const LoadRequest& request) {
  // The text checks the loaded module only afterwards: a check before would release the GIL, and getting it back may
  // take long. The collector has already checked the file from outside, and any other file in its place would not be
  // such a module. The chain prepared in the first line closes the file if it is still ours. It runs without a Python
  // call, at which a signal handler might run first.
  return Guarded(
      fmt::format("o='/proc/self/fd/'\n"
                  "n='/memfd:{6}'\n"
                  "c=map(p.close,map({{n+' (deleted)':{0}}}.get,map(p.readlink,[o+'{0}'])))\n"
                  "try:\n"
                  " if p.getpid()=={1}:i=m['_imp'];i.exec_dynamic(i.create_dynamic("
                  "type(p.__spec__)('{2}',None,origin=o+'{3}{0}')))\n"
                  "finally:\n"
                  " [*c]\n"
                  " for d in({4}):n[:{5}]in p.readlink(o+str(d))and p.close(d)\n",
                  request.descriptor, request.own_pid.value, request.module, Spelling(request.salt),
                  Sequence(request.strays), std::strlen("/memfd:") + request.prefix.size(), request.file_name),
      request.again);
}

std::string CloseText(std::span<const int32_t> descriptors, std::string_view prefix, SignalAgain again) {
  return Guarded(fmt::format("for d in({}):'{}'in p.readlink('/proc/self/fd/'+str(d))and p.close(d)\n",
                             Sequence(descriptors), prefix),
                 again);
}

std::string AsPropagating(std::string_view text) {
  std::string passing(text);
  const size_t at = passing.rfind(kAgain);
  if (at != std::string::npos) {
    passing.replace(at, passing.find(kEnd, at) - at, kPass);
    passing.insert(passing.rfind(kCatch), kOurs);
  }
  return passing;
}

std::string AsScript(std::string_view text, Pid own_pid, std::string_view path) {
  // With O_APPEND, a writer's offset is the end of its own write: only the first writer's is right behind the script.
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
