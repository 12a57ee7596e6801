// RUN: %xyntra-opt %s --expand-math | FileCheck %s
// RUN: %xyntra-opt %s --expand-math=keep=math.exp,math.tanh | FileCheck %s --check-prefix=KEEP

// RUN: %xyntra-opt %s --expand-math=f64=true | FileCheck %s --check-prefix=DOUBLE

// CHECK-LABEL: func.func @scalar
// CHECK-SAME: ([[X:%.+]]: f32)
// CHECK-NOT: math.exp
// CHECK: [[SHIFTED:%.+]] = math.fma {{%.+}}, {{%.+}}, {{%.+}} : f32
// CHECK: [[N:%.+]] = arith.subf [[SHIFTED]], {{%.+}} : f32
// CHECK: math.fma [[N]]
// CHECK: arith.bitcast [[SHIFTED]] : f32 to i32
// CHECK-NOT: fastmath
// The factor 2**n comes in two parts, for denormal results.
// CHECK: [[FIRST:%.+]] = arith.bitcast {{%.+}} : i32 to f32
// CHECK-NEXT: [[PART:%.+]] = arith.mulf {{%.+}}, [[FIRST]] : f32
// CHECK: [[SECOND:%.+]] = arith.bitcast {{%.+}} : i32 to f32
// CHECK-NEXT: [[RESULT:%.+]] = arith.mulf [[PART]], [[SECOND]] : f32
// CHECK-NEXT: return [[RESULT]] : f32
// KEEP-LABEL: func.func @scalar
// KEEP-NEXT: math.exp
func.func @scalar(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// One factor is enough where results are at most 1.
// CHECK-LABEL: func.func @at_most_zero
// CHECK-COUNT-1: arith.shli
// CHECK-NOT: arith.shli
// CHECK: return
func.func @at_most_zero(%x: f32) -> f32 {
  %0 = math.exp %x {xyntra.at_most_zero} : f32
  return %0 : f32
}

// A vector keeps its shape; constants become splats.
// CHECK-LABEL: func.func @vector
// CHECK: arith.constant dense<{{.+}}> : vector<2x8xf32>
// CHECK-NOT: math.tanh
// CHECK: [[RESULT:%.+]] = math.copysign {{%.+}}, {{%.+}} : vector<2x8xf32>
// CHECK-NEXT: return [[RESULT]]
// KEEP-LABEL: func.func @vector
// KEEP-NEXT: math.tanh
func.func @vector(%x: vector<2x8xf32>) -> vector<2x8xf32> {
  %0 = math.tanh %x : vector<2x8xf32>
  return %0 : vector<2x8xf32>
}

// CHECK-LABEL: func.func @scalable_vector
// CHECK-NOT: math.log
// CHECK: arith.sitofp {{%.+}} : vector<[4]xi32> to vector<[4]xf32>
func.func @scalable_vector(%x: vector<[4]xf32>) -> vector<[4]xf32> {
  %0 = math.log %x : vector<[4]xf32>
  return %0 : vector<[4]xf32>
}

// Narrow types are computed in f32 and rounded once.
// CHECK-LABEL: func.func @half
// CHECK-SAME: ([[X:%.+]]: f16)
// CHECK-NEXT: arith.extf [[X]] : f16 to f32
// CHECK-NOT: math.erf
// CHECK: [[RESULT:%.+]] = arith.truncf {{%.+}} : f32 to f16
// CHECK-NEXT: return [[RESULT]] : f16
func.func @half(%x: f16) -> f16 {
  %0 = math.erf %x : f16
  return %0 : f16
}

// CHECK-LABEL: func.func @two_results
// CHECK-NOT: math.sincos
// CHECK: return {{%.+}}, {{%.+}} : bf16, bf16
func.func @two_results(%x: bf16) -> (bf16, bf16) {
  %0, %1 = math.sincos %x : bf16
  return %0, %1 : bf16, bf16
}

// CHECK-LABEL: func.func @square
// CHECK-SAME: ([[X:%.+]]: f32)
// CHECK: [[RESULT:%.+]] = arith.mulf [[X]], [[X]] : f32
// CHECK-NEXT: return [[RESULT]] : f32
func.func @square(%x: f32) -> f32 {
  %two = arith.constant 2.0 : f32
  %0 = math.powf %x, %two : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @square_root
// CHECK: arith.addf
// CHECK-NEXT: math.sqrt
func.func @square_root(%x: vector<4xf32>) -> vector<4xf32> {
  %half = arith.constant dense<0.5> : vector<4xf32>
  %0 = math.powf %x, %half : vector<4xf32>
  return %0 : vector<4xf32>
}

// CHECK-LABEL: func.func @integer_power
// CHECK-SAME: ([[X:%.+]]: i32)
// CHECK-NOT: math.ipowi
// CHECK: arith.muli
// CHECK-NOT: arith.select
// CHECK: return
func.func @integer_power(%x: i32) -> i32 {
  %three = arith.constant 3 : i32
  %0 = math.ipowi %x, %three : i32
  return %0 : i32
}

// An f64 stays for libm, and so do primitives and tensors.
// CHECK-LABEL: func.func @unchanged
// CHECK-NEXT: math.exp {{%.+}} : f64
// Unless there is none.
// DOUBLE-LABEL: func.func @unchanged
// DOUBLE-NOT: math.exp {{%.+}} : f64
// DOUBLE: arith.mulf {{%.+}}, {{%.+}} : f64
// CHECK-NEXT: math.sqrt {{%.+}} : f32
// CHECK-NEXT: math.log {{%.+}} : tensor<4xf32>
// CHECK-NEXT: return
func.func @unchanged(%x: f64, %y: f32, %z: tensor<4xf32>) -> (f64, f32, tensor<4xf32>) {
  %0 = math.exp %x : f64
  %1 = math.sqrt %y : f32
  %2 = math.log %z : tensor<4xf32>
  return %0, %1, %2 : f64, f32, tensor<4xf32>
}

// The one power of f64 that LLVM has no code for becomes libm's pow.
// CHECK-LABEL: func.func @f64_to_an_integer
// CHECK-NOT: math.fpowi
// CHECK: math.powf {{%.+}}, {{%.+}} : f64
// DOUBLE-LABEL: func.func @f64_to_an_integer
// DOUBLE-NOT: math.powf
// DOUBLE: return
func.func @f64_to_an_integer(%x: f64, %n: i32) -> f64 {
  %0 = math.fpowi %x, %n : f64, i32
  return %0 : f64
}
