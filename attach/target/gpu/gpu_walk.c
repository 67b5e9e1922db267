#include "attach/target/gpu/gpu_walk.h"

#include PP_ARCHITECTURE /* arch_x86_64.h, arch_aarch64.h */

// Counts frames of Python code, frames between them that are not, and some that have just returned.
enum { PP_MOST_STEPS = 2 * PP_GPU_STACK_FRAMES + 16 };

static uint64_t word_at(uint64_t base, uint32_t offset) { return *(const uint64_t*)(base + offset); }
static int has(uint32_t field) { return field != PP_GPU_NO_FIELD; }

static int may_be_address(uint64_t address) {
  return (address & 7) == 0 && address >= PP_PAGE && address >> PP_ADDRESS_BITS == 0;
}

static uint64_t innermost(const pp_gpu_python* python, uint64_t thread) {
  if (has(python->thread_frame)) return word_at(thread, python->thread_frame);
  const uint64_t cframe = word_at(thread, python->thread_cframe);
  return may_be_address(cframe) ? word_at(cframe, python->cframe_frame) : 0;
}

static int is_python(const pp_gpu_python* python, uint64_t frame) {
  return !has(python->frame_owner) || *(const uint8_t*)(frame + python->frame_owner) < python->no_python;
}

static uint64_t instruction_of(const pp_gpu_python* python, uint64_t frame) {
  if (!python->instruction_is_index) return word_at(frame, python->frame_instruction);
  return (uint64_t)(int64_t) * (const int32_t*)(frame + python->frame_instruction);
}

static uint64_t identity_of(const pp_gpu_python* python, uint64_t code) {
  const uint64_t qualname = has(python->code_qualname) ? word_at(code, python->code_qualname) : 0;
  const uint64_t other = PP_GPU_CODE_OTHER(qualname, word_at(code, python->code_line_table));
  return PP_GPU_CODE_IDENTITY(word_at(code, python->code_filename), word_at(code, python->code_name), other,
                              *(const int32_t*)(code + python->code_first_line));
}

// The products of a frame do not depend on those of the frame before, so they can run in parallel.
static uint64_t mixed(uint64_t hash, const pp_gpu_frame* frame) {
  const uint64_t one = frame->code * 0xbf58476d1ce4e5b9ull;
  hash ^= (one >> 29 | one << 35) ^ frame->instruction * 0x94d049bb133111ebull ^ frame->identity;
  hash *= 0x9e3779b97f4a7c15ull;
  return hash ^ hash >> 32;
}

static pp_gpu_chain broken(void) { return (pp_gpu_chain){0, 0, PP_GPU_WALK_BROKEN}; }

// Whether it can be a frame.
static int add_frame(const pp_gpu_python* python, uint64_t at, uint64_t code, pp_gpu_chain* chain, pp_gpu_frame* to) {
  if (!may_be_address(code)) return 0;
  const pp_gpu_frame frame = {code, instruction_of(python, at), identity_of(python, code)};
  if (to) to[chain->count] = frame;
  chain->hash = mixed(chain->hash, &frame);
  ++chain->count;
  return 1;
}

pp_gpu_chain pp_gpu_walk(const pp_gpu_python* python, uint64_t thread, pp_gpu_frame* frames, uint32_t room) {
  pp_gpu_chain chain = {0x70747261636570ull, 0, PP_GPU_WALK_WHOLE};
  if (pp_gpu_is_ending(python) || !may_be_address(thread)) return broken();
  uint64_t at = innermost(python, thread);
  for (unsigned steps = 0; at; ++steps) {
    if (steps == PP_MOST_STEPS || !may_be_address(at) || pp_gpu_is_ending(python)) return broken();
    if (is_python(python, at)) {
      if (chain.count == PP_GPU_STACK_FRAMES) {
        chain.end = PP_GPU_WALK_DEEPER;
        break;
      }
      if (frames && chain.count == room) return broken();
      const uint64_t code = word_at(at, python->frame_code) & ~(uint64_t)python->frame_tag_mask;
      const int has_returned = code == 0 && chain.count == 0;  // its caller is the innermost frame
      if (!has_returned && !add_frame(python, at, code, &chain, frames)) return broken();
    }
    at = word_at(at, python->frame_previous);
  }
  chain.hash += chain.end;
  return chain;
}
