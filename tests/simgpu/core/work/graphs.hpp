// SPDX-License-Identifier: Apache-2.0
//
// Stream capture and executable graphs.
//
// Context:  application threads
// Owns:     graphs and their nodes until the process ends
// Promises: every launch gives each node its own operation with the launch's correlation id and a
//           distinct node id
// Not here: single operations (timeline.hpp)
#pragma once

#include "core/objects.hpp"

namespace gpusim {

/// Starts capture on `stream`. Caller must not hold the device mutex. @return CUresult value.
int begin_capture(Stream* stream);
/// Ends capture on its origin stream; `*graph` is null on error. @return CUresult value.
int end_capture(Stream* stream, Graph** graph);
/// Adds `op` to the capture of `stream`, with what each launch of the graph does to memory or
/// calls. Caller holds the device mutex.
void capture_op(Stream* stream, const DeviceOp& op, const Effect& effect,
                const HostFunction& function = {});
/// Lets `stream` join the capture that `event` belongs to. Caller holds the device mutex. @return
/// CUresult value.
int join_capture(Stream* stream, const Event* event);

/// Makes an empty graph.
Graph* create_graph();
/// Adds a node depending on the given node indices.
GraphNode* add_node(Graph* graph, const DeviceOp& op,
                    const std::vector<std::uint32_t>& dependencies);
/// Makes an executable copy.
GraphExec* instantiate(Graph* graph);
/// Places every node on the timeline of `stream` when its turn comes. @return CUresult value.
int launch_graph(GraphExec* exec, Stream* stream);

void destroy_graph(Graph* graph);
void destroy_graph_exec(GraphExec* exec);

/// Node type value as in CUgraphNodeType.
int node_type(const GraphNode& node);

}  // namespace gpusim
