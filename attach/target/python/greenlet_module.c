#include "attach/target/python/greenlet_module.h"

enum { PP_KIND = 7, PP_COMPACT = 8, PP_ASCII = 16 };  // of PyASCIIObject.state (Include/cpython/unicodeobject.h)
enum { PP_METHODS_BEHIND_FLAGS = 64, PP_MAX_METHODS = 64 };
enum { PP_TABLE_TYPE = 0, PP_TABLE_THROW = 5, PP_TABLE_SWITCH = 6 };  // greenlet.h, the same since 0.4
enum { PP_FUTEX_WAKE_OP = 5 };

pp_switched pp_switches;
static const char kModuleFile[] = "/greenlet/__init__.py";

static int is_in_modules(pp_object* modules, const char* name) {
  pp_object* contains = py_attribute(modules, "__contains__");
  pp_object* answer = contains ? PP_FUNCTION(pp_object * (*)(pp_object*, const char*, ...), PyObject_CallFunction)(
                                     contains, "s", name)
                               : 0;
  const int result = answer && PP_FUNCTION(long (*)(pp_object*), PyLong_AsLong)(answer) == 1;
  py_release(answer);
  py_release(contains);
  return result;
}

int pp_has_greenlets(void) {
  pp_object* sys = PP_FUNCTION(pp_object * (*)(const char*), PyImport_AddModule)("sys");
  pp_object* modules = sys ? py_attribute(sys, "modules") : 0;
  const int result = modules && is_in_modules(modules, "greenlet");
  py_release(modules);
  py_forget_error();
  return result;
}

// The module's C API table; null: it has none.
static void** find_table(void) {
  if (!PP_HAS_FUNCTION(PyCapsule_GetPointer) || !pp_has_greenlets()) return 0;
  pp_object* module = PP_FUNCTION(pp_object * (*)(const char*), PyImport_AddModule)("greenlet");
  pp_object* capsule = module ? py_attribute(module, "_C_API") : 0;
  void** table = capsule ? PP_FUNCTION(void** (*)(pp_object*, const char*), PyCapsule_GetPointer)(capsule,
                                                                                                  "greenlet._C_API")
                         : 0;
  py_release(capsule);
  py_forget_error();
  return table;
}

static int is_name(const char* one, const char* other) {
  while (*one && *one == *other) ++one, ++other;
  return *one == *other;
}

static pp_switch* find_method(const void* type, const char* name) {
  pp_method* methods = *(pp_method**)((const char*)type + pp_boot_block.offsets[PP_OFF_type_flags] +
                                      PP_METHODS_BEHIND_FLAGS);
  for (unsigned i = 0; methods && i < PP_MAX_METHODS && methods[i].name; ++i) {
    if (is_name(methods[i].name, name)) return (pp_switch*)&methods[i].function;
  }
  return 0;
}

// Checks by a system call that adds nothing to the word.
static int can_write(pp_switch* place) {
  uint32_t nobody = 0;
  return pp_system_call(PP_SYS_futex, (uint64_t)&nobody, PP_FUTEX_WAKE_OP, 0, 0, (uint64_t)place, 1u << 28) >= 0;
}

static void put(unsigned way, pp_switch* place) {
  pp_switch before = place ? __atomic_load_n(place, __ATOMIC_ACQUIRE) : 0;
  if (!before || before == pp_self.switches[way] || !can_write(place)) return;
  pp_switches.places[way] = place;
  pp_switches.before[way] = before;
  __atomic_store_n(place, pp_self.switches[way], __ATOMIC_RELEASE);
}

void pp_watch_switches(void) {
  void** table = PP_HAS_FIELD(type_flags) ? find_table() : 0;
  if (!table) return;
  pp_switches.interpreter = PP_FIELD(pp_address, py_thread_state(), thread_interp);
  put(PP_METHOD_SWITCH, find_method(table[PP_TABLE_TYPE], "switch"));
  put(PP_METHOD_THROW, find_method(table[PP_TABLE_TYPE], "throw"));
  put(PP_C_SWITCH, (pp_switch*)&table[PP_TABLE_SWITCH]);
  put(PP_C_THROW, (pp_switch*)&table[PP_TABLE_THROW]);
}

// If another tool's function is in front of ours by now, both stay.
void pp_unwatch_switches(void) {
  for (unsigned way = 0; way < PP_WAYS; ++way) {
    if (!pp_switches.places[way]) continue;
    pp_switch expected = pp_self.switches[way];
    __atomic_compare_exchange_n(pp_switches.places[way], &expected, pp_switches.before[way], 0, __ATOMIC_ACQ_REL,
                                __ATOMIC_RELAXED);
  }
}

static uint32_t character_at(const char* characters, unsigned width, uint64_t i) {
  return width == 1   ? ((const uint8_t*)characters)[i]
         : width == 2 ? ((const uint16_t*)characters)[i]
                      : ((const uint32_t*)characters)[i];
}

// Also true if the string is all of `end` except its leading slash.
static int ends_with(const pp_object* string, const char* end, uint64_t size) {
  if (!string || py_type(string) != PP_OBJECT(PyUnicode_Type)) return 0;
  const uint32_t state = PP_FIELD(uint32_t, string, string_state) >> pp_boot_block.offsets[PP_OFF_string_kind_shift];
  const uint64_t length = PP_FIELD(uint64_t, string, string_length);
  if (!(state & PP_COMPACT) || length + 1 < size) return 0;
  const char* data = (const char*)string + (state & PP_ASCII ? pp_boot_block.offsets[PP_OFF_string_ascii_data]
                                                             : pp_boot_block.offsets[PP_OFF_string_compact_data]);
  if (length + 1 == size) ++end, --size;
  for (uint64_t i = 0; i < size; ++i) {
    if (character_at(data, state & PP_KIND, length - size + i) != (uint32_t)end[i]) return 0;
  }
  return 1;
}

void pp_note_module(unsigned tag, pp_address code) {
  if (tag == PP_TAG_START && !pp_self.follows && PP_HAS_FIELD(code_filename) &&
      ends_with(PP_FIELD(const pp_object*, code, code_filename), kModuleFile, sizeof(kModuleFile) - 1)) {
    pp_self.greenlet_code = code;
    pp_self.follows = 1;
    pp_self.is_special = 1;
  } else if (tag == PP_TAG_RETURN && code == pp_self.greenlet_code) {
    pp_self.greenlet_code = 0;
    pp_watch_switches();
  }
}
