// The base of every structure shared with a target: the version of the ABI, and the limits that both sides check.
//
// C11 and C++20. attach/abi is plain bytes: no functions and no pointer types (addresses are u64 of the target). Static
// assertions fix the offset of every field. Raise PP_ABI_VERSION with any change of a field: a target may still have a
// stub of another version from an earlier capture, and the collector does not talk to that stub.
#ifndef PTRACE_PROF_ATTACH_ABI_ABI_H_
#define PTRACE_PROF_ATTACH_ABI_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define PP_STATIC_ASSERT(condition, words) static_assert(condition, words)
#else
#define PP_STATIC_ASSERT(condition, words) _Static_assert(condition, words)
#endif

#define PP_ABI_VERSION 13u
#define PP_CACHE_LINE 64u
#define PP_PAGE 4096u

#define PP_MAX_RINGS 1024u
#define PP_MIN_RING_RECORDS 256u /* one page */
#define PP_MAX_RING_RECORDS (1u << 26)

#endif  // PTRACE_PROF_ATTACH_ABI_ABI_H_
