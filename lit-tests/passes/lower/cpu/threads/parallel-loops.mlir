// RUN: %xyntra-opt %s --parallel-loops --split-input-file | FileCheck %s

// The loop becomes a function over a range; the buffer that only it uses is allocated there, and
// what the kernel reads but does not write is read-only.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: [[X:%[a-z0-9]+]]: memref<1024x256xf32>, [[Y:%[a-z0-9]+]]: memref<1024x256xf32>)
// CHECK-NOT: memref.alloc
// CHECK: [[COUNT:%.+]] = arith.constant 1024 : index
// CHECK: call @rows.parallel0({{%.+}}, [[COUNT]]{{.*}}, [[X]], [[Y]]) : (index, index, memref<1024x256xf32>, memref<1024x256xf32>) -> ()
// CHECK-NOT: scf.for
// CHECK: return
// CHECK-LABEL: func.func private @rows.parallel0(
// CHECK-SAME: [[BEGIN:%[a-z0-9]+]]: index, [[END:%[a-z0-9]+]]: index
// CHECK-SAME: attributes {xyntra.readonly = array<i64: 2>, xyntra.schedule = #xyntra.schedule<{emitter = "parallel-loops", grain = [[GRAIN:[0-9]+]] : i64, loops = 1 : i64}>, xyntra.task = [[GRAIN]] : i64}
// CHECK: memref.alloc() : memref<256xf32>
// CHECK: scf.for {{%.+}} = [[BEGIN]] to [[END]]
// CHECK: scf.for
// CHECK: math.exp
// CHECK: scf.for
// CHECK: return
func.func @rows(%x: memref<1024x256xf32>, %y: memref<1024x256xf32>) attributes {xyntra.inputs = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1024 : index
  %m = arith.constant 256 : index
  %row = memref.alloc() : memref<256xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %a = memref.load %x[%i, %j] : memref<1024x256xf32>
      %b = math.exp %a : f32
      memref.store %b, %row[%j] : memref<256xf32>
    }
    scf.for %j = %c0 to %m step %c1 {
      %a = memref.load %row[%j] : memref<256xf32>
      memref.store %a, %y[%i, %j] : memref<1024x256xf32>
    }
  } {xyntra.parallel}
  return
}

// -----

// Three iterations are too few for most numbers of threads: they are taken as one loop with those
// inside, whose numbers come by division.
// CHECK-LABEL: func.func @nested(
// CHECK: arith.constant 192 : index
// CHECK: call @nested.parallel0(
// CHECK-LABEL: func.func private @nested.parallel0(
// CHECK: scf.for [[I:%.+]] = {{%.+}} to
// CHECK: arith.divui [[I]]
// CHECK: arith.remui [[I]]
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: return
func.func @nested(%x: memref<3x64x512xf32>, %y: memref<3x64x512xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c64 step %c1 {
      scf.for %k = %c0 to %c512 step %c1 {
        %a = memref.load %x[%i, %j, %k] : memref<3x64x512xf32>
        %b = math.exp %a : f32
        memref.store %b, %y[%i, %j, %k] : memref<3x64x512xf32>
      }
    } {xyntra.parallel}
  } {xyntra.parallel}
  return
}

// -----

// Inside a loop that is not marked, the inner one is shared every time; the number of the outer
// iteration is handed over.
// CHECK-LABEL: func.func @inner(
// CHECK: scf.for [[I:%.+]] =
// CHECK: call @inner.parallel0({{.*}}[[I]]{{.*}}) : (index, index, memref<4x4096x64xf32>, memref<64xf32>, index) -> ()
func.func @inner(%x: memref<4x4096x64xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 4096 : index
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %k = %c0 to %c64 step %c1 {
      scf.for %j = %c0 to %n step %c1 {
        %a = memref.load %x[%i, %j, %k] : memref<4x4096x64xf32>
        %b = math.exp %a : f32
        %c = memref.load %y[%k] : memref<64xf32>
        %d = arith.addf %b, %c : f32
        memref.store %d, %y[%k] : memref<64xf32>
      }
    } {xyntra.parallel}
  }
  return
}

// -----

// Elements alone: a thread gets whole lines of memory.
// CHECK-LABEL: func.func private @elements.parallel0(
// CHECK-SAME: xyntra.task = {{[0-9]*(64|28|92|56|20|84|48|12|76|40|04|68|32|96|60|24|88|52|16|80|44|08|72|36|00)}} : i64
func.func @elements(%x: memref<1048576xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1048576 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<1048576xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%i] : memref<1048576xf32>
  } {xyntra.parallel}
  return
}

// -----

// A value that stands for any is made again.
// CHECK-LABEL: func.func private @any.parallel0(
// CHECK: ub.poison
// CHECK: scf.for
// CHECK: vector.shuffle
func.func @any(%x: memref<1048576xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = arith.constant 131072 : index
  %any = ub.poison : vector<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    %j = arith.muli %i, %c8 : index
    %a = vector.load %x[%j] : memref<1048576xf32>, vector<8xf32>
    %b = vector.shuffle %a, %any [7, 6, 5, 4, 3, 2, 1, 0] : vector<8xf32>, vector<8xf32>
    vector.store %b, %x[%j] : memref<1048576xf32>, vector<8xf32>
  } {xyntra.parallel}
  return
}

// -----

// A schedule is followed, also where there is too little work.
// CHECK-LABEL: func.func @told(
// CHECK: call @told.parallel0(
// CHECK: func.func private @told.parallel0(
// CHECK-SAME: xyntra.task = 16 : i64
func.func @told(%x: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<64xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%i] : memref<64xf32>
  } {xyntra.parallel, xyntra.schedule = #xyntra.schedule<{emitter = "parallel-loops", loops = 1, grain = 16}>}
  return
}

// -----

// Either branch has a loop to share.
// CHECK-LABEL: func.func @branches(
// CHECK: scf.if
// CHECK: call @branches.parallel0(
// CHECK: else
// CHECK: call @branches.parallel1(
// CHECK-LABEL: func.func private @branches.parallel0(
// CHECK: math.exp
// CHECK-LABEL: func.func private @branches.parallel1(
// CHECK: math.sin
func.func @branches(%x: memref<64x512xf32>, %y: memref<64x512xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  %m = arith.constant 512 : index
  %first = memref.load %x[%c0, %c0] : memref<64x512xf32>
  %zero = arith.constant 0.0 : f32
  %is_positive = arith.cmpf ogt, %first, %zero : f32
  scf.if %is_positive {
    scf.for %i = %c0 to %n step %c1 {
      scf.for %j = %c0 to %m step %c1 {
        %a = memref.load %x[%i, %j] : memref<64x512xf32>
        %b = math.exp %a : f32
        memref.store %b, %y[%i, %j] : memref<64x512xf32>
      }
    } {xyntra.parallel}
  } else {
    scf.for %i = %c0 to %n step %c1 {
      scf.for %j = %c0 to %m step %c1 {
        %a = memref.load %x[%i, %j] : memref<64x512xf32>
        %b = math.sin %a : f32
        memref.store %b, %y[%i, %j] : memref<64x512xf32>
      }
    } {xyntra.parallel}
  }
  return
}
