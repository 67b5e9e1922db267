/* Unversioned names of the C library's functions for the helper. Linked against these, the helper starts with any
 * glibc, also an older one than that of the build machine. Never loaded, never called. */
#define NAME(name) \
  void name(void); \
  void name(void) {}

#ifdef PP_LIBDL
NAME(dlopen)
NAME(dlsym)
NAME(dlerror)
#else
NAME(__libc_start_main)
NAME(clock_gettime)
NAME(memcpy)
NAME(memset)
NAME(poll)
NAME(prctl)
NAME(write)
#endif
