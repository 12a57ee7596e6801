// RUN: %xyntra-opt %s --form-stages --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not %xyntra-opt %s --form-stages=device=sm_91 --split-input-file 2>&1 | FileCheck %s --check-prefix=DEVICE

#i = affine_map<(i) -> (i)>

// There is no such GPU.
// DEVICE: there is no GPU 'sm_91'
// An element that a stage writes would be read by the processor, before the GPU has written it.
// expected-error @unknown {{a kernel reads one element between two of its loops, which a GPU cannot}}
func.func @reads_between(%x: memref<64xf32>, %y: memref<64xf32>) {
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  %c0 = arith.constant 0 : index
  %p = memref.load %y[%c0] : memref<64xf32>
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : memref<64xf32>) outs(%x : memref<64xf32>) {
  ^bb0(%q: f32, %o: f32):
    %s = arith.addf %q, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#i = affine_map<(i) -> (i)>

// Likewise through a view of the memory.
// expected-error @unknown {{a kernel reads one element between two of its loops, which a GPU cannot}}
func.func @reads_a_view(%x: memref<64xf32>, %y: memref<64xf32>) {
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  %c0 = arith.constant 0 : index
  %half = memref.subview %y[32] [32] [1] : memref<64xf32> to memref<32xf32, strided<[1], offset: 32>>
  %p = memref.load %half[%c0] : memref<32xf32, strided<[1], offset: 32>>
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : memref<64xf32>) outs(%x : memref<64xf32>) {
  ^bb0(%q: f32, %o: f32):
    %s = arith.addf %q, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#i = affine_map<(i) -> (i)>

// Likewise where loops of any kind write it.
// expected-error @unknown {{a kernel reads one element between two of its loops, which a GPU cannot}}
func.func @loops_write(%x: memref<64xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %v = memref.load %x[%i] : memref<64xf32>
    memref.store %v, %y[%i] : memref<64xf32>
  }
  %p = memref.load %y[%c0] : memref<64xf32>
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : memref<64xf32>) outs(%x : memref<64xf32>) {
  ^bb0(%q: f32, %o: f32):
    %s = arith.addf %q, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#i = affine_map<(i) -> (i)>

// What no stage writes may be read; the load stays outside of them.
// CHECK-LABEL: func.func @reads_an_input(
// CHECK: memref.load
// CHECK-NEXT: "xyntra.stage"() ({
// CHECK-NEXT: linalg.generic
// CHECK-NOT: "xyntra.stage"
// CHECK: return
func.func @reads_an_input(%x: memref<64xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %p = memref.load %x[%c0] : memref<64xf32>
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%q: f32, %o: f32):
    %s = arith.addf %q, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#mn = affine_map<(m, n) -> (m, n)>
#m = affine_map<(m, n) -> (m)>
#i = affine_map<(i) -> (i)>

// A long row for each of a few blocks would leave most of the GPU idle: operations on such rows stay
// apart.
// CHECK-LABEL: func.func @few_long_rows(
// CHECK: "xyntra.stage"() ({
// CHECK: "xyntra.yield"()
// CHECK: "xyntra.stage"() ({
// CHECK: arith.divf
// CHECK: return
func.func @few_long_rows(%x: memref<4x1048576xf32>, %y: memref<4x1048576xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<4xf32>
  linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]}
      outs(%t : memref<4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#mn, #m], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x1048576xf32>) outs(%t : memref<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#mn, #m, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t : memref<4x1048576xf32>, memref<4xf32>) outs(%y : memref<4x1048576xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.divf %p, %q : f32
    linalg.yield %s : f32
  }
  return
}
