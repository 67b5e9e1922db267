#include "tests/doubles/cuda/truth.h"

#include <pthread.h>
#include <stdlib.h>

#include "tests/doubles/cuda/options.h"

struct list {
  void* items;
  uint64_t count, room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list calls, ops;
static __thread uint32_t made;  // calls of this thread, the current one included

// NULL when there is no more room. The count shows that, because it goes on.
static void* add(struct list* list, size_t size) {
  if (list->count == list->room) {
    uint64_t room = list->room ? 2 * list->room : 4096;
    void* more = room <= (uint64_t)double_option("truth_max", 1 << 23) ? realloc(list->items, room * size) : NULL;
    if (!more) return NULL;
    list->items = more;
    list->room = room;
  }
  return (char*)list->items + size * list->count++;
}

void truth_begin(const struct double_call* call) {
  (void)call;
  made++;
}

void truth_end(const struct double_call* call) {
  pthread_mutex_lock(&lock);
  struct truth_call* one = add(&calls, sizeof *one);
  if (one) {
    *one = (struct truth_call){call->start,  call->end,  call->function,    call->tid,   made - 1,
                               call->domain, call->cbid, call->correlation, call->result};
  }
  pthread_mutex_unlock(&lock);
}

void truth_op(const struct double_call* call, const struct double_op* op, uint64_t start, uint64_t end) {
  pthread_mutex_lock(&lock);
  struct truth_op* one = add(&ops, sizeof *one);
  if (one) {
    *one = (struct truth_op){start,    end,      op->name,   op->bytes,         op->node,  call->tid,
                             made - 1, op->kind, op->stream, call->correlation, op->graph, op->device};
  }
  pthread_mutex_unlock(&lock);
}

DOUBLE_EXPORT const struct truth_call* double_truth_calls(uint64_t* count) {
  pthread_mutex_lock(&lock);
  *count = calls.count;
  const struct truth_call* items = calls.items;
  pthread_mutex_unlock(&lock);
  return items;
}

DOUBLE_EXPORT const struct truth_op* double_truth_ops(uint64_t* count) {
  pthread_mutex_lock(&lock);
  *count = ops.count;
  const struct truth_op* items = ops.items;
  pthread_mutex_unlock(&lock);
  return items;
}
