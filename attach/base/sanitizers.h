// Whether this program is built with a sanitizer. A sanitizer delays the release of memory, needs more address space
// and system calls than our limits allow, and does not start inside a program that was built without it.
#pragma once

namespace ptrace_prof {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif
#else
inline constexpr bool kIsSanitized = false;
#endif

}  // namespace ptrace_prof
