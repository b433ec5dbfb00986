# The body of _metadata, the manifest of a checkpoint. FORMAT.md, beside this folder, has what surrounds it.
@0xd3f1a6c07be52a91;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weir::manifest_wire");

struct Manifest {
  checkpoint @0 :UInt64;
  job @1 :UInt64;
  jobName @2 :Text;
  triggeredMs @3 :Int64;       # since 1970, UTC
  files @4 :List(StateFile);
  operators @5 :List(Operator);
}

struct StateFile {
  name @0 :Text;               # in the checkpoint's directory; empty: the bytes are here
  size @1 :UInt64;
  inlineBytes @2 :Data;
}

struct Operator {
  name @0 :Text;
  parallelism @1 :UInt32;
  maxParallelism @2 :UInt32;
  subtasks @3 :List(Subtask);  # as many as the parallelism
  coordinator @4 :Data;        # the snapshot of its coordinator, if it has one
  committables @5 :List(Data);
  hasCoordinator @6 :Bool;
}

struct Subtask {
  finished @0 :Bool;
  file @1 :UInt32;             # position in the manifest's files
  keyed @2 :List(KeyedState);
  items @3 :List(OperatorState);
}

struct Descriptor {
  name @0 :Text;
  kind @1 :UInt8;              # StateKind in state/snapshot.h
  schema @2 :Text;
}

struct Chunk {
  offset @0 :UInt64;           # in the file
  size @1 :UInt64;
  checksum @2 :UInt64;
}

struct KeyedState {
  descriptor @0 :Descriptor;
  groups @1 :List(Group);      # ascending; those without entries are left out

  struct Group {
    group @0 :UInt32;
    chunk @1 :Chunk;
  }
}

struct OperatorState {
  descriptor @0 :Descriptor;
  items @1 :UInt32;
  chunk @2 :Chunk;
}
