// RUN: %xyntra-opt %s --lower-to-gpu=device=webgpu | FileCheck %s

// Rows of 1023 elements have no vectors. A thread computes eight elements in the order of memory, some of which may be in the
// next row, and stores 16 bytes.
// CHECK-LABEL: gpu.func @k_0(
// CHECK: [[FIRST:%.+]] = arith.muli {{%.+}}, %c8_i32
// CHECK: [[ROW:%.+]] = arith.divui [[FIRST]], %c1023_i32
// CHECK: [[START:%.+]] = arith.remui [[FIRST]], %c1023_i32
// CHECK: [[NEXT:%.+]] = arith.addi [[ROW]], %c1_i32
// CHECK: arith.cmpi ult, {{%.+}}, %c1023_i32
// CHECK-COUNT-8: memref.load
// CHECK: [[EIGHT:%.+]] = vector.from_elements {{.*}} : vector<8xf16>
// CHECK: vector.store [[EIGHT]], {{%.+}}[{{%.+}}] {alignment = 16 : i64} : memref<1047552xf16>, vector<8xf16>
// CHECK: gpu.return
func.func @k(%x: tensor<1024x1030xf16>) -> tensor<1024x1023xf16> {
  %0 = tensor.empty() : tensor<1024x1023xf16>
  %1 = tensor.extract_slice %x[0, 3] [1024, 1023] [1, 1] : tensor<1024x1030xf16> to tensor<1024x1023xf16>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<1024x1023xf16>) outs(%0 : tensor<1024x1023xf16>) {
  ^bb0(%a: f16, %o: f16):
    %3 = arith.negf %a : f16
    linalg.yield %3 : f16
  } -> tensor<1024x1023xf16>
  return %2 : tensor<1024x1023xf16>
}
