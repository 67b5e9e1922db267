#include "tests/doubles/cuda/graphs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { kNodes = 256, kCaptures = 16, kIllegalState = 901 };

struct node {
  struct double_op op;
  uint64_t duration;
};

struct double_graph {
  uint32_t id, nodes;
  struct node node[kNodes];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  uint32_t stream, syncs;
  struct double_graph* graph;
} captures[kCaptures];
static uint32_t graphs;
static uint64_t nodes_made;

static int find(uint32_t stream) {
  for (int i = 0; i < kCaptures; i++) {
    if (captures[i].stream == stream) return i;
  }
  return -1;
}

int32_t graph_begin_capture(const struct double_driver* driver, uint32_t stream) {
  pthread_mutex_lock(&lock);
  int at = find(stream) < 0 ? find(0) : -1;
  if (at >= 0) {
    captures[at].stream = stream;
    captures[at].syncs = driver->context_syncs(0);
    captures[at].graph = calloc(1, sizeof *captures[at].graph);
    captures[at].graph->id = ++graphs;
    driver->capturing(+1);
  }
  pthread_mutex_unlock(&lock);
  return at < 0 ? kIllegalState : 0;
}

int32_t graph_end_capture(const struct double_driver* driver, uint32_t stream, struct double_graph** out) {
  pthread_mutex_lock(&lock);
  int at = stream ? find(stream) : -1;
  *out = NULL;
  if (at >= 0) {
    if (captures[at].syncs == driver->context_syncs(0)) *out = captures[at].graph;
    captures[at].stream = 0;
    driver->capturing(-1);
  }
  pthread_mutex_unlock(&lock);
  return at < 0 || !*out ? kIllegalState : 0;
}

int graph_captures(uint32_t stream, const struct double_op* op, uint64_t duration) {
  pthread_mutex_lock(&lock);
  int at = find(stream);
  if (at >= 0 && captures[at].graph->nodes < kNodes) {
    struct double_graph* graph = captures[at].graph;
    struct node* node = &graph->node[graph->nodes++];
    node->op = *op;
    node->op.graph = graph->id;
    node->op.node = ((uint64_t)graph->id << 32) | ++nodes_made;
    node->duration = duration;
  }
  pthread_mutex_unlock(&lock);
  return at >= 0;
}

int graph_invalidate(const struct double_driver* driver, uint32_t stream) {
  int found = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < kCaptures; i++) {
    if (!captures[i].stream || (stream && captures[i].stream != stream)) continue;
    free(captures[i].graph);
    captures[i].stream = 0;
    driver->capturing(-1);
    found = 1;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

uint32_t graph_id(const struct double_graph* graph) { return graph->id; }

struct double_graph* graph_instantiate(const struct double_graph* graph) {
  struct double_graph* made = malloc(sizeof *made);
  if (!made) return NULL;
  memcpy(made, graph, sizeof *made);
  pthread_mutex_lock(&lock);
  made->id = ++graphs;
  pthread_mutex_unlock(&lock);
  for (uint32_t i = 0; i < made->nodes; i++) {
    made->node[i].op.graph = made->id;
    made->node[i].op.node = ((uint64_t)made->id << 32) | (uint32_t)made->node[i].op.node;
  }
  return made;
}

void graph_submit(const struct double_driver* driver, const struct double_call* call, const struct double_graph* graph,
                  uint32_t stream) {
  for (uint32_t i = 0; i < graph->nodes; i++) {
    struct double_op op = graph->node[i].op;
    op.stream = stream;
    op.node_index = i;
    op.nodes = graph->nodes;
    driver->submit(call, &op, graph->node[i].duration);
  }
}
