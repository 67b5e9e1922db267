#include <cstring>

#include "attach/inject/frame_thunk.h"

namespace ptrace_prof {
namespace {

constexpr uint8_t kFrameThunk[] = {
    0x85, 0xd2,                                      // test   %edx,%edx: an exception is active
    0x75, 0x65,                                      // jne    tail
    0x48, 0x83, 0xbe, 0,    0,    0,    0, 0,        // cmpq   $0,generator(%rsi): a frame of a generator
    0x75, 0x5b,                                      // jne    tail
    0x57,                                            // push   %rdi
    0x56,                                            // push   %rsi
    0x52,                                            // push   %rdx: also aligns the stack
    0x49, 0xba, 0,    0,    0,    0,    0, 0, 0, 0,  // movabs $context,%r10
    0x31, 0xc0,                                      // xor    %eax,%eax
    0xb9, 0x01, 0,    0,    0,                       // mov    $1,%ecx
    0xf0, 0x41, 0x0f, 0xb1, 0x4a, 0x28,              // lock cmpxchg %ecx,state(%r10)
    0x75, 0x33,                                      // jne    others
    0x49, 0x8b, 0x02,                                // mov    slot(%r10),%rax
    0x49, 0x8b, 0x4a, 0x20,                          // mov    thunk(%r10),%rcx
    0x48, 0x39, 0x08,                                // cmp    %rcx,(%rax): did another tool replace it?
    0x75, 0x07,                                      // jne    skip
    0x49, 0x8b, 0x4a, 0x08,                          // mov    original(%r10),%rcx
    0x48, 0x89, 0x08,                                // mov    %rcx,(%rax)
    0x49, 0x8b, 0x7a, 0x18,                          // skip: mov argument(%r10),%rdi
    0x41, 0xff, 0x52, 0x10,                          // call   *function(%r10)
    0x49, 0xba, 0,    0,    0,    0,    0, 0, 0, 0,  // movabs $context,%r10
    0x41, 0xc7, 0x42, 0x28, 0x02, 0,    0, 0,        // movl   $2,state(%r10)
    0x41, 0x23, 0x42, 0x2c,                          // and    raises(%r10),%eax
    0xeb, 0x02,                                      // jmp    done
    0x31, 0xc0,                                      // others: xor %eax,%eax
    0x5a,                                            // done: pop %rdx; this and the next two change no flag
    0x5e,                                            // pop    %rsi
    0x5f,                                            // pop    %rdi
    0x74, 0x05,                                      // je     tail
    0xba, 0x01, 0,    0,    0,                       // mov    $1,%edx
    0x48, 0xb8, 0,    0,    0,    0,    0, 0, 0, 0,  // tail: movabs $goes_on,%rax
    0xff, 0xe0,                                      // jmp    *%rax
};
constexpr size_t kGeneratorAt = 4;
constexpr size_t kContextAt[] = {19, 71};
constexpr size_t kThrowAt = 100;
constexpr size_t kGoesOnAt = 107;
constexpr uint8_t kTestSecond = 0xf6;  // %esi
constexpr uint8_t kSetSecond = 0xbe;   // %esi
// The comparison of a byte instead of a pointer: cmpb $1,generator(%rsi); nop; je tail.
constexpr uint8_t kCompareOwner[] = {0x80, 0xbe, 0, 0, 0, 0, 0x01, 0x90, 0x74};
constexpr uint8_t kOfSecond = 0xbe;  // generator(%rsi), in both comparisons
constexpr uint8_t kOfFirst = 0xbf;   // generator(%rdi)

static_assert(sizeof kFrameThunk == 117 && sizeof kFrameThunk <= kMaxThunkBytes);
static_assert(offsetof(ThunkContext, slot) == 0 && offsetof(ThunkContext, original) == 0x08 &&
              offsetof(ThunkContext, function) == 0x10 && offsetof(ThunkContext, argument) == 0x18 &&
              offsetof(ThunkContext, thunk) == 0x20 && offsetof(ThunkContext, state) == 0x28 &&
              offsetof(ThunkContext, raises) == 0x2c);

}  // namespace

std::vector<uint8_t> MakeFrameThunk(RemoteAddr context, RemoteAddr goes_on, const FrameArguments& arguments) {
  const bool is_second = arguments.throw_argument == 1;  // then the frame is the first argument
  if (!is_second && arguments.throw_argument != 2) {
    return {};
  }
  std::vector<uint8_t> code(std::begin(kFrameThunk), std::end(kFrameThunk));
  if (is_second) {
    code[1] = kTestSecond;
    code[kThrowAt] = kSetSecond;
  }
  uint8_t* generator = code.data() + kGeneratorAt;
  if (arguments.generator_is_owner) {
    std::memcpy(generator, kCompareOwner, sizeof kCompareOwner);
  }
  generator[arguments.generator_is_owner ? 1 : 2] = is_second ? kOfFirst : kOfSecond;
  std::memcpy(generator + (arguments.generator_is_owner ? 2 : 3), &arguments.generator, sizeof arguments.generator);
  for (const size_t at : kContextAt) {
    std::memcpy(code.data() + at, &context.value, sizeof context.value);
  }
  std::memcpy(code.data() + kGoesOnAt, &goes_on.value, sizeof goes_on.value);
  return code;
}

}  // namespace ptrace_prof
