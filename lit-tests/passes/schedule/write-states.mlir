// RUN: %xyntra-opt %s --write-states | FileCheck %s
// RUN: %xyntra-opt %s --write-states | %xyntra-opt - --check-fusion --write-states | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#cell = affine_map<(d0, d1) -> ()>

// Loops that update an argument write where it lies, and touch nothing else.
// CHECK-LABEL: func.func private @append_inplace_00(
// CHECK-SAME: xyntra.inplace =
func.func private @append(%old: tensor<64x8xf32>, %new: tensor<8xf32>, %at: tensor<i64>) -> tensor<64x8xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "generic"}>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %0 = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %old) -> (tensor<64x8xf32>) {
    %place = tensor.extract %at[] : tensor<i64>
    %row = arith.index_cast %place : i64 to index
    %x = tensor.extract %new[%i] : tensor<8xf32>
    %u = tensor.insert %x into %t[%row, %i] : tensor<64x8xf32>
    scf.yield %u : tensor<64x8xf32>
  }
  return %0 : tensor<64x8xf32>
}
// CHECK-LABEL: func.func private @double_inplace_00(
func.func private @double(%x: tensor<64x8xf32>) -> tensor<64x8xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %e = tensor.empty() : tensor<64x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x8xf32>) outs(%e : tensor<64x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
func.func private @sum(%x: tensor<64x8xf32>) -> tensor<f32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>} {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %0 = linalg.generic {indexing_maps = [#id, #cell], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<64x8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// The reader of the old value comes first, although it stood behind. What reads the new value reads
// the same memory.
// CHECK-LABEL: func.func @main
// CHECK: %[[OLD:.*]] = call @sum(%arg0)
// CHECK: %[[NEW:.*]] = call @append_inplace_00(%arg0, %arg1, %arg2)
// CHECK: %[[SUM:.*]] = call @sum(%[[NEW]])
// CHECK: %[[TWICE:.*]] = call @double_inplace_00(%arg3)
// CHECK: return %[[NEW]], %[[OLD]], %[[SUM]], %[[TWICE]]
func.func @main(%past: tensor<64x8xf32> {xyntra.input = "past"}, %new: tensor<8xf32> {xyntra.input = "new"}, %at: tensor<i64> {xyntra.input = "at"}, %other: tensor<64x8xf32> {xyntra.input = "other"})
    -> (tensor<64x8xf32> {xyntra.output = "present", xyntra.alias = "past"}, tensor<f32> {xyntra.output = "before"}, tensor<f32> {xyntra.output = "after"}, tensor<64x8xf32> {xyntra.output = "twice", xyntra.alias = "other"}) {
  %present = call @append(%past, %new, %at) : (tensor<64x8xf32>, tensor<8xf32>, tensor<i64>) -> tensor<64x8xf32>
  %before = call @sum(%past) : (tensor<64x8xf32>) -> tensor<f32>
  %after = call @sum(%present) : (tensor<64x8xf32>) -> tensor<f32>
  %twice = call @double(%other) : (tensor<64x8xf32>) -> tensor<64x8xf32>
  return %present, %before, %after, %twice : tensor<64x8xf32>, tensor<f32>, tensor<f32>, tensor<64x8xf32>
}

// Inputs that are given up: what is written element by element is an alias, what reads other elements
// has memory of its own, and nothing is copied.
func.func private @turned(%x: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {xyntra.kernel = #xyntra.kernel<{kind = "elementwise"}>} {
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
// CHECK-LABEL: func.func @donated
// CHECK-SAME: xyntra.apart = "the kernel that computes it reads elements that it has overwritten"
// CHECK-SAME: xyntra.alias = "b"
// CHECK: %[[TURNED:.*]] = call @turned(%arg0)
// CHECK: %[[TWICE:.*]] = call @double_inplace_00(%arg1)
// CHECK-NOT: state_copy
// CHECK: return %[[TURNED]], %[[TWICE]]
func.func @donated(%a: tensor<8x8xf32> {xyntra.input = "a"}, %b: tensor<64x8xf32> {xyntra.input = "b"})
    -> (tensor<8x8xf32> {xyntra.output = "x", xyntra.donated = "a"}, tensor<64x8xf32> {xyntra.output = "y", xyntra.donated = "b"}) {
  %x = call @turned(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = call @double(%b) : (tensor<64x8xf32>) -> tensor<64x8xf32>
  return %x, %y : tensor<8x8xf32>, tensor<64x8xf32>
}
