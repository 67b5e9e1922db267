// Records code objects, and classes if C calls are traced, when they are freed (pp_freed), so that later objects at
// their address are not mistaken for them. From 3.12 on, a code watcher of the traced interpreter reports code. Earlier
// versions, classes, and interpreters without a free watcher need our function in front of the type's deallocator: one
// word of the type, for the length of the capture. Our function stays resident, because a thread may be on its way to
// it, or a later hook may call it. The thread that frees code of the traced interpreter has its GIL. On a free-threaded
// build several threads may free at once, and take turns.
#include "attach/target/python/clock.h"

enum { PP_TRIES = 1000 };            // how often to check for another thread to finish
enum { PP_CODE_IS_FREED = 1 };       // PyCodeEvent (Include/cpython/code.h)
enum { PP_COMPACT_ASCII = 8 | 16 };  // of PyASCIIObject.state, behind its kind (Include/cpython/unicodeobject.h)

// Copies the last characters of an ASCII string; returns its whole length.
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

// Runs before the memory is freed, like the records themselves.
static void be_unsure(uint64_t until) {
  uint64_t* word = &pp_self.channel->freed_unsure;
  uint64_t before = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (before < until && !__atomic_compare_exchange_n(word, &before, until, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
}

// Up to 3.10 code has no qualified name.
static const pp_object* name_of(const pp_object* code) {
  return PP_HAS_FIELD(code_qualname) ? PP_FIELD(const pp_object*, code, code_qualname)
                                     : PP_FIELD(const pp_object*, code, code_name);
}

// The name of a class is tp_name.
static uint16_t copy_text(uint8_t* to, uint64_t room, const char* text) {
  uint64_t length = 0;
  while (text && text[length] && length < UINT16_MAX) ++length;
  const uint64_t size = length < room ? length : room;
  if (size) __builtin_memcpy(to, text + (length - size), size);
  return (uint16_t)length;
}

static void describe(pp_freed* freed, const pp_object* object, int is_type) {
  freed->code = (uint64_t)object;
  freed->file_length = 0;
  if (is_type) {
    freed->first_line = PP_FREED_TYPE;
    freed->name_length = copy_text(freed->name, PP_FREED_NAME, PP_FIELD(const char*, object, type_name));
    return;
  }
  freed->first_line = PP_FIELD(int32_t, object, code_first_line);
  freed->name_length = copy_string(freed->name, PP_FREED_NAME, name_of(object));
  freed->file_length = copy_string(freed->file, PP_FREED_FILE, PP_FIELD(const pp_object*, object, code_filename));
}

static void report(const pp_object* object, int is_type) {
  const pp_private* page = __atomic_load_n(&pp_self.private_page, __ATOMIC_ACQUIRE);
  if (!page || page->magic != PP_PRIVATE_MAGIC) return;  // a child has no table
  if (pp_self.channel->own_text == (uint64_t)object) __atomic_store_n(&pp_self.channel->own_text, 0, __ATOMIC_RELEASE);
  if (!take_turn()) {
    be_unsure(pp_now());  // the thread whose turn it is has lost its CPU
    return;
  }
  const uint64_t where = PP_FREED_OFFSET(pp_boot_block.ring_count, (uint64_t)pp_boot_block.ring_records);
  const uint64_t number = __atomic_load_n(&pp_self.channel->freed, __ATOMIC_RELAXED);
  pp_freed* freed = (pp_freed*)((char*)pp_self.channel + where) + number % PP_FREED_ENTRIES;
  freed->when = pp_now();
  describe(freed, object, is_type);
  __atomic_fetch_add(&pp_self.channel->freed, 1, __ATOMIC_RELEASE);
  __atomic_store_n(&pp_self.freeing_code, 0, __ATOMIC_RELEASE);
}

static int on_code(int event, pp_object* code) {
  if (event == PP_CODE_IS_FREED) report(code, 0);
  return 0;
}

// PyTypeObject: tp_name, tp_basicsize, tp_itemsize, tp_dealloc.
enum { PP_FREES_BEHIND_NAME = 24 };
typedef void (*pp_frees)(pp_object*);
static pp_address watched_interpreter;
static pp_frees frees_code, frees_type;  // the original functions

// Other interpreters also call this function, and are not traced. From 3.12 on they do so without our GIL, which alone
// protects the memory that `tell` writes to.
static int is_of_ours(void) {
  const pp_address thread = py_thread_state();
  return thread && PP_FIELD(pp_address, thread, thread_interp) == watched_interpreter;
}

static void on_free_code(pp_object* code) {
  if (is_of_ours()) report(code, 0);
  frees_code(code);
}

static void on_free_type(pp_object* type) {
  if (is_of_ours()) report(type, 1);
  frees_type(type);
}

static pp_frees* place_of_frees(const pp_object* type) {
  return (pp_frees*)((char*)type + pp_boot_block.offsets[PP_OFF_type_name] + PP_FREES_BEHIND_NAME);
}

// Not if our function is still called by another tool's hook, or may be.
static int stand_before(const pp_object* type, pp_frees ours, pp_frees* kept) {
  if (!type || !PP_HAS_FIELD(type_name)) return 0;
  pp_frees* place = place_of_frees(type);
  pp_frees before = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  if (before == ours) return 1;
  if (!before || (*kept && *kept != before)) return 0;
  *kept = before;
  return __atomic_compare_exchange_n(place, &before, ours, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void stand_back(const pp_object* type, pp_frees ours, pp_frees before) {
  if (before) __atomic_compare_exchange_n(place_of_frees(type), &ours, before, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static int can_watch(void) { return PP_HAS_FUNCTION(PyCode_AddWatcher) && PP_HAS_FUNCTION(PyCode_ClearWatcher); }

void pp_watch_code(void) {
  if (!PP_HAS_FUNCTION(PyUnicode_Type)) return;
  watched_interpreter = PP_FIELD(pp_address, py_thread_state(), thread_interp);
  if (can_watch() && pp_self.code_watcher < 0) {
    pp_self.code_watcher = PP_FUNCTION(int (*)(int (*)(int, pp_object*)), PyCode_AddWatcher)(on_code);
    if (pp_self.code_watcher < 0) py_forget_error();  // all eight are taken
  }
  const int knows_code = pp_self.code_watcher >= 0 || stand_before(PP_OBJECT(PyCode_Type), &on_free_code, &frees_code);
  if (pp_self.c_calls && knows_code) stand_before(PP_OBJECT(PyType_Type), &on_free_type, &frees_type);
  pp_self.channel->watches_code = (uint64_t)knows_code;
}

// On a free-threaded build the watcher stays: PyCode_ClearWatcher empties its place before it clears the active bit,
// and a thread that frees code in between would call null (Objects/codeobject.c). From now on the watcher does nothing.
void pp_unwatch_code(void) {
  stand_back(PP_OBJECT(PyCode_Type), &on_free_code, frees_code);
  stand_back(PP_OBJECT(PyType_Type), &on_free_type, frees_type);
  if (py_is_free_threaded()) return;
  const int32_t watcher = pp_self.code_watcher;
  pp_self.code_watcher = -1;
  if (watcher >= 0 && PP_FUNCTION(int (*)(int), PyCode_ClearWatcher)(watcher) < 0) py_forget_error();
}
