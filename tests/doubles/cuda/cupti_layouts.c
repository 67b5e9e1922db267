// Records of which the fields were chosen: where each is, in the order in which they were chosen, aligned to its
// length.
#include <stdlib.h>
#include <string.h>

#include "tests/doubles/cuda/cupti_state.h"
#include "tests/doubles/cuda/cupti_tables.h"
#include "tests/doubles/cuda/options.h"

enum { kMostFields = 64, kRecordAlignment = 8 };

// As the interface has them.
struct place {
  size_t size;
  int field;
  size_t offset, bytes, alignment;
};
struct told {
  size_t size;
  struct place* places;
  size_t count, bytes;
};
struct complete_info {
  size_t size;
  uint64_t thread;
  struct told** layouts;
  size_t count;
};

struct layout {
  struct told told;
  struct place places[kMostFields];
  const struct field_row* rows[kMostFields];
};

static const struct field_row* row_of(uint32_t kind, int field) {
  uint32_t same = kind == kDriver ? kRuntime : kind;
  for (const struct field_row* row = fields; row < fields + field_rows; row++) {
    if (row->kind == same && row->id == field) return row;
  }
  return NULL;
}

static size_t align(size_t at, size_t to) { return (at + to - 1) / to * to; }

struct layout* layout_of(uint32_t kind, const int* chosen, size_t count) {
  if (!count || count > kMostFields || chosen[0] != 0) return NULL;
  struct layout* layout = calloc(1, sizeof *layout);
  size_t end = 0;
  for (size_t i = 0; i < count; i++) {
    const struct field_row* row = row_of(kind, chosen[i]);
    if (!row) {
      free(layout);
      return NULL;
    }
    size_t bytes = row->bytes == kCorrelation ? sizeof(uint64_t) : row->bytes;
    size_t alignment = bytes < kRecordAlignment ? bytes : kRecordAlignment;
    layout->rows[i] = row;
    layout->places[i] = (struct place){sizeof(struct place), chosen[i], align(end, alignment), bytes, alignment};
    end = layout->places[i].offset + bytes;
  }
  layout->told = (struct told){sizeof layout->told, layout->places, count, align(end, kRecordAlignment)};
  return layout;
}

int layout_is_of(const struct layout* layout, const int* chosen, size_t count) {
  int same = layout->told.count == count;
  for (size_t i = 0; same && i < count; i++) same = layout->places[i].field == chosen[i];
  return same;
}

size_t layout_bytes(const struct layout* layout) { return layout->told.bytes; }

size_t layout_place(const struct layout* layout, size_t predefined) {
  if (!layout) return predefined;
  for (size_t i = 0; i < layout->told.count; i++) {
    if (layout->rows[i]->from == predefined) return layout->places[i].offset;
  }
  return SIZE_MAX;
}

void layout_fill(const struct layout* layout, const uint8_t* predefined, uint64_t correlation, uint8_t* record) {
  for (size_t i = 0; i < layout->told.count; i++) {
    const struct field_row* row = layout->rows[i];
    uint8_t* to = record + layout->places[i].offset;
    if (row->bytes == kCorrelation) {
      memcpy(to, &correlation, sizeof correlation);
    } else {
      memcpy(to, predefined + row->from, row->predefined);  // little-endian: a longer field's lower bytes
    }
  }
}

// Told wrongly from some buffer on, where a test wants that.
static void move(struct layout* layout) {
  static uint64_t told;
  if (!cupti_fault_is_due(double_option("layouts_move_after", -1), told++)) return;
  layout->places[layout->told.count - 1].offset = 0;
}

struct complete_info* layouts_told(const struct cupti_client* client) {
  struct complete_info* info = calloc(1, sizeof *info);
  if (!double_option("layouts", 1)) {  // as 13.2
    info->size = sizeof *info;
    return info;
  }
  *info = (struct complete_info){sizeof *info, 0, calloc(kKinds, sizeof *info->layouts), kKinds};
  for (uint32_t kind = 0; kind < kKinds; kind++) {
    if (!client->layouts[kind] || !client->kinds[kind]) continue;
    struct layout* copy = malloc(sizeof *copy);
    *copy = *client->layouts[kind];
    copy->told.places = copy->places;
    move(copy);
    info->layouts[kind] = &copy->told;
  }
  return info;
}

void layouts_forget(struct complete_info* info) {
  if (!info) return;
  for (uint32_t kind = 0; info->layouts && kind < kKinds; kind++) {
    if (!info->layouts[kind]) continue;
    memset(info->layouts[kind], 0xff, sizeof(struct layout));
    free(info->layouts[kind]);
  }
  free(info->layouts);
  free(info);
}
