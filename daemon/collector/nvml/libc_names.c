/* Names that the helper finds in the C library of the machine that it runs on, without the versions that they have on
 * the machine that it was built on: linked against these, it starts with any glibc. Never loaded, never called. */
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
