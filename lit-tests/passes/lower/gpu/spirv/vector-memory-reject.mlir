// RUN: %xyntra-opt %s --vector-memory | FileCheck %s

// What is accessed in any other way stays an array of words: word by word, at places of which
// nothing is known, in other vectors, atomically, or of a length that is no multiple of four.
// CHECK: gpu.func @f({{%.+}}: memref<128xf32>, {{%.+}}: memref<128xf32>, {{%.+}}: memref<128xf32>, {{%.+}}: memref<126xf32>, {{%.+}}: memref<128xf16>)
gpu.module @device {
  gpu.func @f(%a: memref<128xf32>, %b: memref<128xf32>, %c: memref<128xf32>, %d: memref<126xf32>, %e: memref<128xf16>) kernel {
    %i = gpu.thread_id x
    %0 = vector.load %a[%i] {alignment = 16 : i64} : memref<128xf32>, vector<4xf32>
    %1 = vector.extract %0[0] : f32 from vector<4xf32>
    memref.store %1, %a[%i] : memref<128xf32>
    %2 = vector.load %b[%i] : memref<128xf32>, vector<4xf32>
    %3 = vector.load %c[%i] {alignment = 8 : i64} : memref<128xf32>, vector<2xf32>
    %4 = vector.load %d[%i] {alignment = 16 : i64} : memref<126xf32>, vector<4xf32>
    %5 = vector.load %e[%i] {alignment = 8 : i64} : memref<128xf16>, vector<4xf16>
    gpu.return
  }
}
