#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"

enum { kBuckets = 1 << 14 };

struct Stack {
  struct Stack *next;
  long times;
  pid_t tid;
  int depth;
  int functions[];
};
static struct Stack *buckets[kBuckets];

void CountStack(pid_t tid, const int *functions, int depth, long times) {
  uint64_t hash = (uint64_t)tid;
  for (int index = 0; index < depth; ++index) hash = (hash ^ (uint64_t)functions[index]) * 0x100000001B3u;
  struct Stack **place = &buckets[(hash >> 8) % kBuckets];
  for (; *place; place = &(*place)->next) {
    struct Stack *stack = *place;
    if (stack->tid == tid && stack->depth == depth &&
        memcmp(stack->functions, functions, sizeof *functions * (size_t)depth) == 0) {
      stack->times += times;
      return;
    }
  }
  struct Stack *stack = malloc(sizeof *stack + sizeof *functions * (size_t)depth);
  if (!stack) abort();
  stack->next = NULL;
  stack->times = times;
  stack->tid = tid;
  stack->depth = depth;
  memcpy(stack->functions, functions, sizeof *functions * (size_t)depth);
  *place = stack;
}

void PrintCounts(void) {
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    for (struct Stack *stack = buckets[bucket]; stack; stack = stack->next) {
      printf("stack %ld %d", stack->times, stack->tid);
      for (int index = stack->depth; index-- > 0;) printf(" %d", stack->functions[index]);
      printf("\n");
    }
  }
}
