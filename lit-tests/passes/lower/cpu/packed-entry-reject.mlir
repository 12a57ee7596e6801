// RUN: %xyntra-opt %s --packed-entry --split-input-file --verify-diagnostics

// expected-error @unknown {{a kernel module holds one llvm.func, not 0}}
func.func @not_lowered(%x: memref<4xf32>) {
  return
}

// -----

// expected-error @unknown {{a kernel lacks xyntra.inputs}}
llvm.func @inputs(%x: !llvm.ptr) attributes {xyntra.scratch = array<i64>} {
  llvm.return
}

// -----

// expected-error @unknown {{a kernel lacks xyntra.scratch}}
llvm.func @slots(%x: !llvm.ptr) attributes {xyntra.inputs = 1 : i64} {
  llvm.return
}

// -----

// expected-error @unknown {{a lowered kernel takes pointers, its scratch slots last, and returns nothing}}
llvm.func @too_many_slots(%x: !llvm.ptr) attributes {xyntra.inputs = 0 : i64, xyntra.scratch = array<i64: 64, 64>} {
  llvm.return
}

// -----

// expected-error @unknown {{a lowered kernel takes pointers, its scratch slots last, and returns nothing}}
llvm.func @scalar(%x: f32) attributes {xyntra.inputs = 1 : i64, xyntra.scratch = array<i64>} {
  llvm.return
}

// -----

// expected-error @unknown {{a lowered kernel takes pointers, its scratch slots last, and returns nothing}}
llvm.func @returns(%x: !llvm.ptr) -> i32 attributes {xyntra.inputs = 1 : i64, xyntra.scratch = array<i64>} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
