// RUN: %xyntra-opt %s --narrow-floats | FileCheck %s

// Processors convert these, and LLVM widens f16 itself.
// CHECK-LABEL: func.func @native(
// CHECK-NEXT: arith.extf {{%.+}} : f16 to f32
// CHECK-NEXT: arith.extf {{%.+}} : f32 to f64
// CHECK-NEXT: arith.truncf {{%.+}} : f64 to f32
// CHECK-NEXT: arith.truncf {{%.+}} : f32 to f16
// CHECK-NEXT: return
func.func @native(%x: f16) -> f16 {
  %0 = arith.extf %x : f16 to f32
  %1 = arith.extf %0 : f32 to f64
  %2 = arith.truncf %1 : f64 to f32
  %3 = arith.truncf %2 : f32 to f16
  return %3 : f16
}

// Only scalars are rewritten; arithmetic on bf16 is not a conversion.
// CHECK-LABEL: func.func @not_scalar(
// CHECK-NEXT: arith.extf {{%.+}} : vector<4xbf16> to vector<4xf32>
// CHECK-NEXT: arith.addf {{%.+}}, {{%.+}} : bf16
// CHECK-NEXT: return
func.func @not_scalar(%x: vector<4xbf16>, %y: bf16) -> (vector<4xf32>, bf16) {
  %0 = arith.extf %x : vector<4xbf16> to vector<4xf32>
  %1 = arith.addf %y, %y : bf16
  return %0, %1 : vector<4xf32>, bf16
}
