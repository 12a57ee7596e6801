// RUN: %xyntra-opt %s --expand-float8 | FileCheck %s

// Conversions of other floats, and casts of bits by themselves, stay.
// CHECK-LABEL: func.func @others(
// CHECK-NEXT: arith.extf %{{.+}} : f16 to f32
// CHECK-NEXT: arith.bitcast %{{.+}} : i8 to f8E4M3FN
// CHECK-NEXT: arith.truncf %{{.+}} : f32 to bf16
// CHECK-NEXT: return
func.func @others(%x: f16, %y: i8) -> (f8E4M3FN, bf16) {
  %0 = arith.extf %x : f16 to f32
  %1 = arith.bitcast %y : i8 to f8E4M3FN
  %2 = arith.truncf %0 : f32 to bf16
  return %1, %2 : f8E4M3FN, bf16
}

// Vectors are for code of threads, which has instructions.
// CHECK-LABEL: func.func @vectors(
// CHECK-NEXT: arith.extf %{{.+}} : vector<4xf8E5M2> to vector<4xf32>
// CHECK-NEXT: return
func.func @vectors(%x: vector<4xf8E5M2>) -> vector<4xf32> {
  %0 = arith.extf %x : vector<4xf8E5M2> to vector<4xf32>
  return %0 : vector<4xf32>
}
