// What every structure shared with a target begins from: the version, and the limits that both sides check.
//
// C11 and C++20. attach/abi is plain bytes: no function, no pointer type (addresses are u64 of the target), every
// field at a fixed offset, held by static assertions. A change of any of them raises PP_ABI_VERSION: a stub of
// another version may still be resident in a target from an earlier capture, and is then not spoken to.
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
#define PP_MIN_RING_RECORDS 256u /* a page of them */
#define PP_MAX_RING_RECORDS (1u << 26)

#endif  // PTRACE_PROF_ATTACH_ABI_ABI_H_
