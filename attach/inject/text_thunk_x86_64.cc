#include <cstddef>

#include "attach/inject/text_thunk.h"

namespace ptrace_prof {
namespace {

constexpr uint8_t kTextThunk[] = {
    0xf3, 0x0f, 0x1e, 0xfa,                    // endbr64
    0x53,                                      // push  %rbx: also aligns the stack
    0x48, 0x89, 0xfb,                          // mov   %rdi,%rbx
    0xc7, 0x43, 0x28, 0x01, 0x00, 0x00, 0x00,  // movl  $1,state(%rbx)
    0x48, 0x8d, 0x7b, 0x30,                    // lea   module(%rbx),%rdi
    0xff, 0x13,                                // call  *add_module(%rbx)
    0x48, 0x85, 0xc0,                          // test  %rax,%rax
    0x74, 0x28,                                // je    failed
    0x48, 0x89, 0xc7,                          // mov   %rax,%rdi
    0xff, 0x53, 0x08,                          // call  *get_dictionary(%rbx)
    0x48, 0x89, 0xc2,                          // mov   %rax,%rdx
    0x48, 0x89, 0xc1,                          // mov   %rax,%rcx
    0x48, 0x8b, 0x7b, 0x20,                    // mov   text(%rbx),%rdi
    0x8b, 0x73, 0x2c,                          // mov   start(%rbx),%esi
    0x45, 0x31, 0xc0,                          // xor   %r8d,%r8d
    0xff, 0x53, 0x10,                          // call  *run_string(%rbx)
    0x48, 0x85, 0xc0,                          // test  %rax,%rax
    0x74, 0x0a,                                // je    failed
    0x48, 0x89, 0xc7,                          // mov   %rax,%rdi
    0xff, 0x53, 0x18,                          // call  *release(%rbx)
    0x31, 0xc0,                                // xor   %eax,%eax
    0xeb, 0x05,                                // jmp   done
    0xb8, 0xff, 0xff, 0xff, 0xff,              // failed: mov $-1,%eax
    0xc7, 0x43, 0x28, 0x02, 0x00, 0x00, 0x00,  // done: movl $2,state(%rbx)
    0x5b,                                      // pop   %rbx
    0xc3,                                      // ret
};

static_assert(offsetof(TextThunkContext, get_dictionary) == 0x08 && offsetof(TextThunkContext, run_string) == 0x10 &&
              offsetof(TextThunkContext, release) == 0x18 && offsetof(TextThunkContext, text) == 0x20 &&
              offsetof(TextThunkContext, state) == 0x28 && offsetof(TextThunkContext, start) == 0x2c &&
              offsetof(TextThunkContext, module) == 0x30);

}  // namespace

std::span<const uint8_t> TextThunk() { return kTextThunk; }

}  // namespace ptrace_prof
