// RUN: %xyntra-opt %s --vector-memory | FileCheck %s

// Memory of which all accesses are of four aligned words is an array of vectors: places that are
// multiples of four by how they were computed are divided there, others at the access.
// CHECK-LABEL: func.func @host(
// CHECK: [[X:%.+]] = builtin.unrealized_conversion_cast {{%.+}} : memref<128xf32> to memref<32xvector<4xf32>>
// CHECK: args([[X]] : memref<32xvector<4xf32>>, {{%.+}} : memref<16xvector<4xi32>>, {{%.+}} : memref<128xf32>)
module attributes {gpu.container_module} {
  func.func @host(%x: memref<128xf32>, %y: memref<64xi32>, %z: memref<128xf32>) {
    %1 = arith.constant 1 : index
    gpu.launch_func @device::@f blocks in (%1, %1, %1) threads in (%1, %1, %1) args(%x : memref<128xf32>, %y : memref<64xi32>, %z : memref<128xf32>)
    return
  }
  gpu.module @device {
    // CHECK-LABEL: gpu.func @f(
    // CHECK-SAME: [[X:%[a-z0-9]+]]: memref<32xvector<4xf32>>, [[Y:%[a-z0-9]+]]: memref<16xvector<4xi32>>, [[Z:%[a-z0-9]+]]: memref<128xf32>)
    gpu.func @f(%x: memref<128xf32>, %y: memref<64xi32>, %z: memref<128xf32>) kernel {
      %i = gpu.thread_id x
      %0 = arith.constant 0 : index
      %4 = arith.constant 4 : index
      %8 = arith.constant 8 : index
      // CHECK: [[TWO:%.+]] = arith.constant 2 : index
      // CHECK: [[TWICE:%.+]] = arith.muli [[I:%.+]], [[TWO]] : index
      // CHECK: [[NEXT:%.+]] = arith.addi [[TWICE]], {{%.+}} : index
      // CHECK: [[V:%.+]] = vector.load [[X]]{{\[}}[[NEXT]]] {alignment = 16 : i64} : memref<32xvector<4xf32>>, vector<4xf32>
      %row = arith.muli %i, %8 : index
      %place = arith.addi %row, %4 : index
      %v = vector.load %x[%place] {alignment = 16 : i64} : memref<128xf32>, vector<4xf32>
      // CHECK: memref.store {{%.+}}, [[Z]]
      %e = vector.extract %v[1] : f32 from vector<4xf32>
      memref.store %e, %z[%i] : memref<128xf32>
      scf.for %k = %0 to %8 step %4 {
        // CHECK: [[FOURTH:%.+]] = arith.divui {{%.+}} : index
        // CHECK: [[PLACE:%.+]] = arith.addi [[FOURTH]], {{%.+}} : index
        // CHECK: [[W:%.+]] = vector.load [[Y]]{{\[}}[[PLACE]]]
        %p = arith.addi %k, %row : index
        %w = vector.load %y[%p] {alignment = 16 : i64} : memref<64xi32>, vector<4xi32>
        // CHECK: [[LAST:%.+]] = arith.divui [[I]], {{%.+}} : index
        // CHECK: vector.store [[W]], [[Y]]{{\[}}[[LAST]]]
        vector.store %w, %y[%i] {alignment = 16 : i64} : memref<64xi32>, vector<4xi32>
      }
      gpu.return
    }
  }
}
