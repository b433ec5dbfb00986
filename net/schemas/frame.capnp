# The header of a frame on a data connection. PROTOCOL.md, beside this folder, has what surrounds it.
@0xb66c1be0ad1c2f4d;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weir::wire");

struct Frame {
  union {
    hello @0 :Hello;
    welcome @1 :Void;
    refused @2 :Text;       # why; for people
    element @3 :Element;    # its encoded batch is the frame's payload
    credit @4 :Credit;
    goodbye @5 :Void;
  }
}

struct Hello {
  job @0 :UInt64;
  attempt @1 :UInt32;
  fromHost @2 :UInt32;
  toHost @3 :UInt32;
}

struct Element {
  enum Kind {
    batch @0;
    watermark @1;
    watermarkStatus @2;
    endOfInput @3;
    barrier @4;
    loopMarker @5;
  }
  kind @0 :Kind;
  vertex @1 :UInt32;        # with subtask: the consuming task
  subtask @2 :UInt32;
  channel @3 :UInt32;       # among the inputs of that task
  timeMs @4 :Int64;         # of a watermark
  idle @5 :Bool;            # of a watermark status
  chargedBytes @6 :UInt64;  # given back in Credit when the element has been consumed
  checkpoint @7 :UInt64;    # of a barrier or a loop marker
  active @8 :Bool;          # of a loop marker
}

struct Credit {
  vertex @0 :UInt32;        # with subtask: the producing task
  subtask @1 :UInt32;
  exchange @2 :UInt32;      # among the outputs of that task
  lane @3 :UInt32;          # among the channels of that exchange
  bytes @4 :UInt64;
}
