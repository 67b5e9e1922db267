// 3.8–3.11: a profile function on every thread of the interpreter.
//
// New threads are covered from their first call on. Every new thread state is put at the head of the interpreter's
// list, and each event of any thread checks whether the head has our function, which costs two loads. Threads that
// Python code starts get their thread state in the starting thread. Its next event (the return of start_new_thread,
// which happens before the GIL is released) sets the function. A thread that C code made and that calls Python while
// all others are blocked is covered from the next event of any other thread.
//
// A profile function of the job is never replaced: if any thread has one, we do not begin, and at the end ours is
// removed only from threads that still have it. C_CALL and its ends always come, even if they are not wanted.
#include "attach/target/python/call_event.h"

enum {
  PP_WHAT_CALL = 0,
  PP_WHAT_RETURN = 3,
  PP_WHAT_C_CALL = 4,
  PP_WHAT_C_EXCEPTION = 5,
  PP_WHAT_C_RETURN = 6,
  PP_RETURN_VALUE = 83,  // in all of 3.8–3.11
  PP_YIELD_VALUE = 86,   // the same
  PP_RESUME_AFTER_YIELD = 1,
  PP_MAX_THREADS = 100000  // bound of walks
};

static struct {
  pp_address interpreter;
  pp_address refused;  // a head that could not get our function: not tried again at every event
} covered;

static pp_address head_thread(void) {
  return PP_FUNCTION(pp_address(*)(pp_address), PyInterpreterState_ThreadHead)(covered.interpreter);
}
static pp_address next_thread(pp_address thread) {
  return PP_FUNCTION(pp_address(*)(pp_address), PyThreadState_Next)(thread);
}

static int on_event(pp_object* self, pp_object* frame_object, int what, pp_object* argument);

static pp_profile_function* function_of(pp_address thread) {
  return &PP_FIELD(pp_profile_function, thread, thread_profile_function);
}

// Sets the profile function of any thread; 3.8 can set it only for the current one. Returns whether it is set now: an
// audit hook of the job may have refused.
static int set_function(pp_address thread, pp_profile_function function) {
  if (PP_HAS_FUNCTION(_PyEval_SetProfile)) {
    PP_FUNCTION(int (*)(pp_address, pp_profile_function, pp_object*), _PyEval_SetProfile)(thread, function, 0);
  } else {
    pp_address (*swap)(pp_address) = PP_FUNCTION(pp_address(*)(pp_address), PyThreadState_Swap);
    const pp_address current = swap(thread);
    PP_FUNCTION(void (*)(pp_profile_function, pp_object*), PyEval_SetProfile)(function, 0);
    swap(current);
  }
  if (*function_of(thread) == function) return 1;
  py_forget_error();
  return 0;
}

// Sets `function` on every thread that has `before`; returns 0 if one could not be set. Starts over after each: an
// audit hook may have let other threads run, and thread states come and go. If removing ours is refused, it is cleared
// directly.
static int replace_everywhere(pp_profile_function before, pp_profile_function function) {
  for (unsigned set = 0; set < PP_MAX_THREADS; ++set) {
    pp_address thread = head_thread();
    for (unsigned i = 0; thread && *function_of(thread) != before && i < PP_MAX_THREADS; ++i) {
      thread = next_thread(thread);
    }
    if (!thread) return 1;
    if (function) pp_forget_thread(thread);
    if (set_function(thread, function)) continue;
    if (function) return 0;
    *function_of(thread) = 0;
  }
  return 0;
}

// Counts threads whose function is neither of the two.
static uint32_t count_others(pp_profile_function one, pp_profile_function other) {
  uint32_t others = 0;
  pp_address thread = head_thread();
  for (unsigned i = 0; thread && i < PP_MAX_THREADS; ++i, thread = next_thread(thread)) {
    others += *function_of(thread) != one && *function_of(thread) != other;
  }
  return others;
}

static PP_COLD void cover_new_threads(pp_address head) {
  if (pp_self.private_page->magic != PP_PRIVATE_MAGIC) return;  // a forked child is about to leave
  covered.refused = 0;
  const pp_preserved kept = py_preserve();
  if (!replace_everywhere(0, on_event) || *function_of(head) != on_event) covered.refused = head;
  py_restore(kept);
}

// The current instruction of a frame: operation and argument.
static unsigned instruction_at(pp_address frame, pp_address code) {
  if (!py_is(PP_PYTHON_INSTRUCTION_INDEX)) return *PP_FIELD(const uint16_t*, frame, frame_instruction);
  int32_t last = PP_FIELD(int32_t, frame, frame_instruction);
  if (last < 0) return 0;
  if (py_is(PP_PYTHON_INDEX_OF_UNITS)) last *= 2;
  const pp_address bytes = PP_FIELD(pp_address, code, code_bytes);
  return *(const uint16_t*)(bytes + pp_boot_block.offsets[PP_OFF_bytes_data] + (uint32_t)last);
}

// Whether it is RESUME, whose argument is 0 at the beginning of a function, or its specialised form.
static int is_resume(unsigned instruction) {
  const unsigned operation = instruction & 0xff;
  return operation == PP_NUMBER(resume_operation) || operation == PP_NUMBER(resume_quick);
}

static unsigned tag_of_call(pp_address frame, pp_address code) {
  if (pp_likely(!py_may_suspend(code))) return PP_TAG_START;
  if (py_is(PP_PYTHON_INSTRUCTION_INDEX)) {
    return PP_FIELD(int32_t, frame, frame_instruction) < 0 ? PP_TAG_START : PP_TAG_RESUME;
  }
  const unsigned instruction = instruction_at(frame, code);
  if (!is_resume(instruction)) return PP_TAG_THROW;
  return instruction >> 8 ? PP_TAG_RESUME : PP_TAG_START;
}

// `result`: null if an exception ends the frame. A frame that is not at a return is suspended: meanwhile `yield from`
// is before its instruction.
static unsigned tag_of_return(pp_address frame, pp_address code, const pp_object* result) {
  if (!result) return PP_TAG_UNWIND;
  if (pp_likely(!py_may_suspend(code))) return PP_TAG_RETURN;
  return (instruction_at(frame, code) & 0xff) == PP_RETURN_VALUE ? PP_TAG_RETURN : PP_TAG_YIELD;
}

// 3.11 runs signal handlers before the call event of a frame. An exception that they raise there ends a frame that was
// not recorded. Such a frame is at its RESUME, at the beginning or after a yield.
static int is_call_unreported(pp_address frame, pp_address code) {
  if (!PP_HAS_FIELD(resume_operation)) return 0;
  const unsigned instruction = instruction_at(frame, code);
  return is_resume(instruction) && instruction >> 8 <= PP_RESUME_AFTER_YIELD;
}

// 3.11: an exception thrown into a generator that waits for another one goes straight to the other. If the other then
// returns, the first continues after the instruction that would report this. Until then it is at its yield, as no
// running frame is.
static void report_unreported_resume(pp_address thread, pp_address frame) {
  if (!PP_HAS_FIELD(resume_operation)) return;
  const pp_address waiting = PP_FIELD(pp_address, frame, frame_previous);
  if (!waiting) return;
  const pp_address code = PP_FIELD(pp_address, waiting, frame_code);
  if (!py_may_suspend(code) || (instruction_at(waiting, code) & 0xff) != PP_YIELD_VALUE) return;
  uint64_t now;
  const pp_slot* slot = pp_begin_event(thread, PP_TAG_RESUME, &now);
  if (!slot) return;
  const uint64_t head = slot->ring->head;
  pp_write(slot, head, now, PP_TAG_RESUME, code);
  pp_write(slot, head + 1, now, PP_TAG_FRAME, waiting);
  pp_publish(slot->ring, head + 2);
}

static __attribute__((noinline)) void report_frame(pp_address thread, int what, const pp_object* argument,
                                                 pp_address frame, pp_address code) {
  const unsigned tag = what == PP_WHAT_CALL ? tag_of_call(frame, code) : tag_of_return(frame, code, argument);
  if (!pp_is_recording(thread, tag)) return;
  if (tag == PP_TAG_UNWIND && pp_unlikely(is_call_unreported(frame, code))) {
    pp_frame_event(thread, tag_of_call(frame, code), code);
  }
  pp_frame_event(thread, tag, code);
  if (tag == PP_TAG_RETURN && py_may_suspend(code)) report_unreported_resume(thread, frame);
}

static inline __attribute__((always_inline)) void on_frame(pp_address thread, int what, const pp_object* argument) {
  const pp_address frame = py_current_frame(thread);
  const pp_address code = PP_FIELD(pp_address, frame, frame_code);
  if (what == PP_WHAT_CALL && pp_likely(pp_frame_quickly(thread, PP_TAG_START, code))) return;
  if (what == PP_WHAT_RETURN && argument && pp_likely(pp_frame_quickly(thread, PP_TAG_RETURN, code))) return;
  report_frame(thread, what, argument, frame, code);
}

static __attribute__((noinline)) void on_call(pp_address thread, int what, const pp_object* argument) {
  const unsigned tag = what == PP_WHAT_C_CALL     ? PP_TAG_C_CALL
                       : what == PP_WHAT_C_RETURN ? PP_TAG_C_RETURN
                                                  : PP_TAG_C_RAISE;
  const uint64_t method = tag == PP_TAG_C_CALL ? pp_method_of(argument) : 0;
  if (pp_likely(pp_record_quickly(thread, tag, (uint64_t)argument, method))) return;
  if (pp_is_recording(thread, tag)) pp_call_event(thread, tag, argument, 0);
}

static int on_event(pp_object* self, pp_object* frame_object, int what, pp_object* argument) {
  (void)self;
  (void)frame_object;
  if (pp_unlikely(!pp_self.private_page)) return 0;
  const pp_address head = PP_FIELD(pp_address, covered.interpreter, interp_threads_head);
  if (pp_unlikely(*function_of(head) != on_event && head != covered.refused)) cover_new_threads(head);
  const pp_address thread = py_thread_state();
  if (what == PP_WHAT_CALL || what == PP_WHAT_RETURN) {
    on_frame(thread, what, argument);
  } else if (pp_self.c_calls && what >= PP_WHAT_C_CALL && what <= PP_WHAT_C_RETURN) {
    on_call(thread, what, argument);
  }
  return 0;
}

static void remove_hooks(void) {
  pp_self.hooks_displaced = count_others(on_event, on_event);
  replace_everywhere(on_event, 0);
  pp_unwatch_code();
}

static pp_error_report install(void) {
  const pp_error_report fine = {PP_ERROR_NONE, PP_STEP_NONE, 0};
  covered.interpreter = PP_FIELD(pp_address, py_thread_state(), thread_interp);
  covered.refused = 0;
  if (count_others(0, on_event)) return (pp_error_report){PP_ERROR_PROFILER_PRESENT, PP_STEP_SET_PROFILE, 0};
  pp_watch_code();
  if (replace_everywhere(0, on_event)) return fine;
  remove_hooks();
  return (pp_error_report){PP_ERROR_PYTHON_CALL, PP_STEP_SET_PROFILE, 0};
}

const pp_hooks pp_profile_hooks = {install, remove_hooks};
