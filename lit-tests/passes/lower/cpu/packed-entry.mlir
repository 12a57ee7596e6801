// RUN: %xyntra-opt %s --packed-entry --split-input-file | FileCheck %s

// Only inputs that are not written are read-only.
// CHECK-LABEL: llvm.func internal @kernel.body(
// CHECK-SAME: {{%[a-z0-9]+}}: !llvm.ptr {llvm.noalias, llvm.noundef, llvm.readonly},
// CHECK-SAME: {{%[a-z0-9]+}}: !llvm.ptr {llvm.noalias, llvm.noundef},
// CHECK-SAME: {{%[a-z0-9]+}}: !llvm.ptr {llvm.noalias, llvm.noundef})
// CHECK-SAME: no_inline
// CHECK-LABEL: llvm.func @kernel(
// CHECK-SAME: [[ARGS:%.+]]: !llvm.ptr {llvm.noundef})
// CHECK: llvm.getelementptr [[ARGS]][0]
// CHECK-NEXT: [[FIRST:%.+]] = llvm.load
// CHECK: llvm.getelementptr [[ARGS]][1]
// CHECK-NEXT: [[SECOND:%.+]] = llvm.load
// CHECK: llvm.getelementptr [[ARGS]][2]
// CHECK-NEXT: [[THIRD:%.+]] = llvm.load
// CHECK-NOT: llvm.load
// CHECK: llvm.call @kernel.body([[FIRST]], [[SECOND]], [[THIRD]])
// CHECK-NEXT: llvm.return
llvm.func @kernel(%x: !llvm.ptr, %y: !llvm.ptr, %out: !llvm.ptr)
    attributes {xyntra.inputs = 2 : i64, xyntra.inplace = [[1, 1]], xyntra.scratch = array<i64>} {
  llvm.return
}

// -----

// The scratch slots lie one after the other behind the last pointer, aligned.
// CHECK-LABEL: llvm.func internal @scratch.body(
// CHECK-SAME: {{%[a-z0-9]+}}: !llvm.ptr {llvm.noalias, llvm.noundef, llvm.readonly},
// CHECK-SAME: {{%[a-z0-9]+}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.noundef},
// CHECK-SAME: {{%[a-z0-9]+}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.noundef})
// CHECK-LABEL: llvm.func @scratch(
// CHECK-SAME: [[ARGS:%.+]]: !llvm.ptr
// CHECK: llvm.getelementptr [[ARGS]][0]
// CHECK-NEXT: [[X:%.+]] = llvm.load
// CHECK: llvm.getelementptr [[ARGS]][1]
// CHECK-NEXT: [[MEMORY:%.+]] = llvm.load
// CHECK: [[START:%.+]] = llvm.mlir.constant(0 : i64)
// CHECK: [[FIRST:%.+]] = llvm.getelementptr [[MEMORY]][[[START]]]
// CHECK: [[BEHIND:%.+]] = llvm.mlir.constant(192 : i64)
// CHECK: [[SECOND:%.+]] = llvm.getelementptr [[MEMORY]][[[BEHIND]]]
// CHECK: llvm.call @scratch.body([[X]], [[FIRST]], [[SECOND]])
llvm.func @scratch(%x: !llvm.ptr, %s: !llvm.ptr, %t: !llvm.ptr)
    attributes {xyntra.inputs = 1 : i64, xyntra.scratch = array<i64: 192, 64>} {
  llvm.return
}

// -----

// Prepared constants lie behind the other pointers, before the scratch; what prepares them writes them.
// CHECK-LABEL: llvm.func internal @with.prepare.body(
// CHECK-SAME: {{%[a-z0-9]+}}: !llvm.ptr {llvm.noalias, llvm.noundef, llvm.readonly},
// CHECK-SAME: {{%[a-z0-9]+}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.noundef})
llvm.func @with.prepare(%w: !llvm.ptr, %copy: !llvm.ptr)
    attributes {xyntra.prepare, xyntra.prepared = array<i64: 128>} {
  llvm.return
}
// CHECK-LABEL: llvm.func internal @with.body(
// CHECK-SAME: {{%[a-z0-9]+}}: !llvm.ptr {llvm.noalias, llvm.noundef, llvm.readonly},
// CHECK-SAME: {{%[a-z0-9]+}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.noundef, llvm.readonly},
// CHECK-SAME: {{%[a-z0-9]+}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.noundef})
// CHECK-LABEL: llvm.func @with(
// CHECK: llvm.call @with.body(
// CHECK-LABEL: llvm.func @with.prepare(
// CHECK: llvm.call @with.prepare.body(
llvm.func @with(%w: !llvm.ptr, %copy: !llvm.ptr, %s: !llvm.ptr)
    attributes {xyntra.inputs = 1 : i64, xyntra.prepared = array<i64: 128>, xyntra.scratch = array<i64: 64>} {
  llvm.return
}
