// 3.12 and later: code objects are told as they are freed (pp_freed), so that what runs at their address afterwards is
// not taken for them. Of the interpreter that is traced. Whoever frees code there has its GIL; on a free-threaded build
// several threads may at once, and take turns.
#include "attach/intarget/event.h"

enum { PP_TRIES = 1000 };            // so often another thread is waited for
enum { PP_CODE_IS_FREED = 1 };       // PyCodeEvent (Include/cpython/code.h)
enum { PP_COMPACT_ASCII = 8 | 16 };  // of PyASCIIObject.state, behind its kind (Include/cpython/unicodeobject.h)

// The last characters of a string of ASCII; how many there are in all.
static uint16_t copy_string(uint8_t* to, uint64_t room, const pp_object* string) {
  if (!string || py_type(string) != PP_OBJECT(PyUnicode_Type)) return 0;
  const uint32_t state = PP_FIELD(uint32_t, string, string_state) >> pp_boot_block.offsets[PP_OFF_string_kind_shift];
  if ((state & PP_COMPACT_ASCII) != PP_COMPACT_ASCII) return 0;
  const uint64_t length = PP_FIELD(uint64_t, string, string_length), size = length < room ? length : room;
  const char* characters = (const char*)string + pp_boot_block.offsets[PP_OFF_string_ascii_data];
  __builtin_memcpy(to, characters + (length - size), size);
  return length < UINT16_MAX ? (uint16_t)length : UINT16_MAX;
}

static int take_turn(void) {
  for (unsigned i = 0; i < PP_TRIES; ++i) {
    if (!__atomic_exchange_n(&pp_self.freeing_code, 1, __ATOMIC_ACQUIRE)) return 1;
  }
  return 0;
}

static int on_code(int event, pp_object* code) {
  const pp_private* page = __atomic_load_n(&pp_self.private_page, __ATOMIC_ACQUIRE);
  if (event != PP_CODE_IS_FREED || !page || page->magic != PP_PRIVATE_MAGIC) return 0;  // in a child there is no table
  if (!take_turn()) {  // who has it has lost its CPU: so many are missing that the collector knows of a gap
    __atomic_fetch_add(&pp_self.channel->freed, PP_FREED_ENTRIES + 1, __ATOMIC_RELEASE);
    return 0;
  }
  const uint64_t where = PP_FREED_OFFSET(pp_boot_block.ring_count, (uint64_t)pp_boot_block.ring_records);
  const uint64_t number = __atomic_load_n(&pp_self.channel->freed, __ATOMIC_RELAXED);
  pp_freed* freed = (pp_freed*)((char*)pp_self.channel + where) + number % PP_FREED_ENTRIES;
  freed->when = pp_now();
  freed->code = (uint64_t)code;
  freed->first_line = PP_FIELD(int32_t, code, code_first_line);
  freed->name_length = copy_string(freed->name, PP_FREED_NAME, PP_FIELD(const pp_object*, code, code_qualname));
  freed->file_length = copy_string(freed->file, PP_FREED_FILE, PP_FIELD(const pp_object*, code, code_filename));
  __atomic_fetch_add(&pp_self.channel->freed, 1, __ATOMIC_RELEASE);
  __atomic_store_n(&pp_self.freeing_code, 0, __ATOMIC_RELEASE);
  return 0;
}

static int can_watch(void) {
  return PP_HAS_FUNCTION(PyCode_AddWatcher) && PP_HAS_FUNCTION(PyCode_ClearWatcher) && PP_HAS_FUNCTION(PyUnicode_Type);
}

void pp_watch_code(void) {
  if (!can_watch()) return;
  if (pp_self.code_watcher < 0) {
    pp_self.code_watcher = PP_FUNCTION(int (*)(int (*)(int, pp_object*)), PyCode_AddWatcher)(on_code);
    if (pp_self.code_watcher < 0) py_forget_error();  // all eight are taken
  }
  pp_self.channel->watches_code = pp_self.code_watcher >= 0;
}

// On a free-threaded build it stays: PyCode_ClearWatcher empties its place before it takes back that there is one, and
// a thread that frees code in between would call nothing (Objects/codeobject.c). It does nothing from now on.
void pp_unwatch_code(void) {
  if (py_is_free_threaded()) return;
  const int32_t watcher = pp_self.code_watcher;
  pp_self.code_watcher = -1;
  if (watcher >= 0 && PP_FUNCTION(int (*)(int), PyCode_ClearWatcher)(watcher) < 0) py_forget_error();
}
