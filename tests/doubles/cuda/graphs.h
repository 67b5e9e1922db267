// Graphs of the double of libcudart: a launch on a stream that is being captured becomes a node instead. Any thread.
#ifndef TESTS_DOUBLES_CUDA_GRAPHS_H
#define TESTS_DOUBLES_CUDA_GRAPHS_H

#include "tests/doubles/cuda/seam.h"

struct double_graph;

// 0, or an error number of CUDA's. A stream is its number.
int32_t graph_begin_capture(const struct double_driver* driver, uint32_t stream);
int32_t graph_end_capture(const struct double_driver* driver, uint32_t stream, struct double_graph** out);
// 1: the stream is being captured, and the node was added; 0: it is not being captured.
int graph_captures(uint32_t stream, const struct double_op* op, uint64_t duration);
// 1 while `stream` (0: any) is being captured. Ends the capture, as a synchronisation does.
int graph_invalidate(const struct double_driver* driver, uint32_t stream);
uint32_t graph_id(const struct double_graph* graph);
struct double_graph* graph_instantiate(const struct double_graph* graph);
void graph_submit(const struct double_driver* driver, const struct double_call* call, const struct double_graph* graph,
                  uint32_t stream);

#endif
