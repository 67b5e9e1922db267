// Each allocation of PyTorch: the slots through which its libraries report them lead here, and from here on to the
// function that they led to.
//
// A C++ exception may pass through that function, and nothing can pass through us: so each of these calls ends with a
// jump. A slot is one aligned word, so a thread that calls meanwhile finds either what was there or us. We stay in
// memory for good, and so does a thread that is just here.
#include "attach/target/torch/torch_hook.h"

enum { PP_PROT_WRITE = 2 };

#define PP_ORIGINAL(type, name) ((type)__atomic_load_n(&pp_torch_self.originals[PP_TORCH_FN_##name], __ATOMIC_RELAXED))

static PP_COLD void say(uint64_t kind, uint32_t device, const void* payload, uint64_t units) {
  const uint64_t now = pp_torch_now();
  pp_ring* ring = pp_torch_own_ring();
  if (ring) pp_torch_write(ring, now, PP_EXTENDED(kind, units, device), payload, units);
}

static void on_new(void* reporter, uint64_t address, uint64_t bytes) {
  if (pp_torch_is_recording() && bytes) {
    const pp_torch_block block = {address, (int64_t)bytes};
    say(PP_EXTENDED_ALLOCATED, 0, &block, 1);
  }
  PP_ORIGINAL(void (*)(void*, uint64_t, uint64_t), memory_new)(reporter, address, bytes);
}

static void on_delete(void* reporter, uint64_t address) {
  if (pp_torch_is_recording() && address) {
    const pp_torch_block block = {address, 0};
    say(PP_EXTENDED_FREED, 0, &block, 1);
  }
  PP_ORIGINAL(void (*)(void*, uint64_t), memory_delete)(reporter, address);
}

static void on_report(uint64_t address, int64_t bytes, uint64_t allocated, uint64_t reserved, uint64_t device) {
  if (pp_torch_is_recording()) {
    const pp_torch_reported reported = {{address, bytes}, allocated, reserved};
    say(PP_EXTENDED_MEMORY, (uint16_t)device, &reported, 2);
  }
  PP_ORIGINAL(void (*)(uint64_t, int64_t, uint64_t, uint64_t, uint64_t), memory_report)
  (address, bytes, allocated, reserved, device);
}

static uint64_t ours_for(uint32_t function) {
  switch (function) {
    case PP_TORCH_FN_memory_new: return (uint64_t)&on_new;
    case PP_TORCH_FN_memory_delete: return (uint64_t)&on_delete;
    default: return (uint64_t)&on_report;
  }
}

// Returns whether the slot now holds `value`.
static int set(const pp_torch_slot_of* slot, uint64_t value) {
  const uint64_t page = slot->at & ~(uint64_t)(PP_PAGE - 1);
  const int is_writable = (slot->access & PP_PROT_WRITE) != 0;
  if (!is_writable &&
      pp_system_call(PP_SYS_mprotect, page, PP_PAGE, slot->access | PP_PROT_WRITE, 0, 0, 0) < 0) {
    return 0;
  }
  __atomic_store_n((uint64_t*)slot->at, value, __ATOMIC_SEQ_CST);
  if (!is_writable) pp_system_call(PP_SYS_mprotect, page, PP_PAGE, slot->access, 0, 0, 0);
  return 1;
}

uint64_t pp_torch_take_slots(void) {
  uint64_t taken = 0;
  for (unsigned i = 0; i < PP_TORCH_MEMORY_SLOTS; ++i) {
    const pp_torch_slot_of* slot = &pp_torch_boot_block.memory[i];
    pp_torch_self.slots[i].at = 0;
    if (!slot->at) continue;
    const uint64_t original = pp_torch_boot_block.functions[slot->function];
    const uint64_t ours = ours_for(slot->function);
    __atomic_store_n(&pp_torch_self.originals[slot->function], original, __ATOMIC_SEQ_CST);
    const uint64_t before = __atomic_load_n((uint64_t*)slot->at, __ATOMIC_RELAXED);
    // A forked child inherits a slot that leads to us.
    pp_torch_self.slots_before[i] = before == ours ? original : before;
    if (!set(slot, ours)) continue;
    pp_torch_self.slots[i] = *slot;
    ++taken;
  }
  return taken;
}

// A slot that somebody else has changed since stays as it is: it may lead to us by way of them.
void pp_torch_return_slots(void) {
  for (unsigned i = 0; i < PP_TORCH_MEMORY_SLOTS; ++i) {
    pp_torch_slot_of* slot = &pp_torch_self.slots[i];
    if (slot->at && __atomic_load_n((uint64_t*)slot->at, __ATOMIC_RELAXED) == ours_for(slot->function)) {
      set(slot, pp_torch_self.slots_before[i]);
    }
    slot->at = 0;
  }
}
