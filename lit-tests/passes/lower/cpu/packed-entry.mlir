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

// -----

// A call of a task becomes a job: its arguments go into an array, from which the pool's threads
// take them, each with the part of the private memory that its number says.
// CHECK-LABEL: llvm.func internal @job.body(
// CHECK-SAME: [[X:%[a-z0-9]+]]: !llvm.ptr {llvm.noalias, llvm.noundef, llvm.readonly},
// CHECK-SAME: [[OWN:%[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.noundef},
// CHECK-SAME: [[TEAM:%[a-z0-9]+]]: !llvm.ptr
// CHECK: [[N:%.+]] = llvm.mlir.constant(1000 : i64) : i64
// CHECK: [[F:%.+]] = llvm.load [[X]] : !llvm.ptr -> f32
// CHECK: llvm.call @job.parallel0.start([[TEAM]], [[OWN]], [[N]], [[X]], [[F]])
// CHECK-NOT: llvm.call @job.parallel0(
// CHECK-LABEL: llvm.func internal @job.parallel0(
// CHECK-SAME: {{%[a-z0-9]+}}: i64 {llvm.noundef}, {{%[a-z0-9]+}}: i64 {llvm.noundef},
// CHECK-SAME: {{%[a-z0-9]+}}: !llvm.ptr {llvm.noalias, llvm.noundef, llvm.readonly}, {{%[a-z0-9]+}}: f32 {llvm.noundef},
// CHECK-SAME: {{%[a-z0-9]+}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.noundef})
// CHECK-SAME: no_inline
// CHECK-LABEL: llvm.func internal @job.parallel0.start(
// CHECK: llvm.mlir.constant(7 : i64)
// CHECK: llvm.alloca {{%.+}} x !llvm.array<3 x i64>
// CHECK: llvm.mlir.addressof @job.parallel0.run
// CHECK: llvm.call {{%.+}}({{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> ()
// CHECK-LABEL: llvm.func internal @job.parallel0.run(
// CHECK-SAME: {{%[a-z0-9]+}}: !llvm.ptr, [[BEGIN:%[a-z0-9]+]]: i64, [[END:%[a-z0-9]+]]: i64, [[WORKER:%[a-z0-9]+]]: i64)
// CHECK: [[SIZE:%.+]] = llvm.mlir.constant(64 : i64)
// CHECK: llvm.mul [[WORKER]], [[SIZE]]
// CHECK: llvm.call @job.parallel0([[BEGIN]], [[END]],
// CHECK-LABEL: llvm.func @job(
llvm.func @job(%x: !llvm.ptr, %own: !llvm.ptr)
    attributes {xyntra.inputs = 1 : i64, xyntra.scratch = array<i64>, xyntra.private = 64 : i64} {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %n = llvm.mlir.constant(1000 : i64) : i64
  %f = llvm.load %x : !llvm.ptr -> f32
  llvm.call @job.parallel0(%0, %n, %x, %f, %own) : (i64, i64, !llvm.ptr, f32, !llvm.ptr) -> ()
  llvm.return
}
llvm.func @job.parallel0(%begin: i64, %end: i64, %x: !llvm.ptr, %f: f32, %own: !llvm.ptr)
    attributes {xyntra.task = 7 : i64, xyntra.readonly = array<i64: 2>, xyntra.scratch = array<i64: 64>} {
  llvm.return
}
