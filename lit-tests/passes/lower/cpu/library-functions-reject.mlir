// RUN: %xyntra-opt %s --library-functions --split-input-file --verify-diagnostics | FileCheck %s

// Other types have no function in the C library, and other functions an expansion of our own.
// CHECK-NOT: private
// CHECK-LABEL: func.func @unchanged(
// CHECK-NEXT: math.log1p {{%.+}} : f16
// CHECK-NEXT: math.expm1 {{%.+}} : vector<4xf32>
// CHECK-NEXT: math.exp {{%.+}} : f32
// CHECK-NEXT: return
func.func @unchanged(%x: f16, %y: vector<4xf32>, %z: f32) -> (f16, vector<4xf32>, f32) {
  %0 = math.log1p %x : f16
  %1 = math.expm1 %y : vector<4xf32>
  %2 = math.exp %z : f32
  return %0, %1, %2 : f16, vector<4xf32>, f32
}

// -----

// expected-error @unknown {{function 'log1pf' has the name of a function of the C library}}
func.func @log1pf(%x: f32) -> f32 {
  %0 = math.log1p %x : f32
  return %0 : f32
}
