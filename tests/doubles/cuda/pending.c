#include "tests/doubles/cuda/pending.h"

#include <stdlib.h>

// A heap, ordered by end.
static struct pending* items;
static size_t count, room;

static void swap(size_t one, size_t other) {
  struct pending kept = items[one];
  items[one] = items[other];
  items[other] = kept;
}

void pending_add(const struct pending* one) {
  if (count == room) {
    room = room ? 2 * room : 1024;
    items = realloc(items, room * sizeof *items);
    if (!items) abort();
  }
  items[count] = *one;
  for (size_t at = count++; at && items[(at - 1) / 2].ends > items[at].ends; at = (at - 1) / 2) swap(at, (at - 1) / 2);
}

int pending_take_due(uint64_t now, struct pending* out) {
  if (!count || items[0].ends > now) return 0;
  *out = items[0];
  items[0] = items[--count];
  for (size_t at = 0, child = 1; child < count; at = child, child = 2 * at + 1) {
    if (child + 1 < count && items[child + 1].ends < items[child].ends) child++;
    if (items[at].ends <= items[child].ends) break;
    swap(at, child);
  }
  return 1;
}

int pending_any(void) { return count != 0; }

void pending_clear(void) { count = 0; }
