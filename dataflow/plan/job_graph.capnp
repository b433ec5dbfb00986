# A job as the cluster's roles see it: what a submission carries, and what a master keeps. See job_graph.h.
@0xc3ac2ff8b6b1d0f5;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weir::wire");

struct JobGraph {
  jobName @0 :Text;
  nodes @1 :List(Node);         # by id
  vertices @2 :List(Vertex);    # by id
  edges @3 :List(Edge);

  struct Node {
    name @0 :Text;
    kind @1 :Text;
    role @2 :UInt8;             # StageRole
    commits @3 :Bool;
    alignmentGroup @4 :Text;    # empty: none
  }

  struct Vertex {
    name @0 :Text;
    stages @1 :List(UInt32);    # node ids, head first
    parallelism @2 :UInt32;
    maxParallelism @3 :UInt32;
    slotGroup @4 :Text;
    blocking @5 :Bool;
  }

  struct Edge {
    from @0 :UInt32;            # vertex ids
    exchange @1 :UInt32;
    to @2 :UInt32;
    port @3 :UInt16;
    partitioning @4 :UInt8;     # Partitioning
  }
}
