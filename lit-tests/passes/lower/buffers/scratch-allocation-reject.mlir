// RUN: %xyntra-opt %s --scratch-allocation --split-input-file --verify-diagnostics

// expected-error @unknown {{cannot allocate memref<?xf32>}}
func.func @dynamic(%x: memref<4xindex>) {
  %c0 = arith.constant 0 : index
  %n = memref.load %x[%c0] : memref<4xindex>
  %0 = memref.alloc(%n) : memref<?xf32>
  return
}

// -----

// expected-error @unknown {{a kernel does not free memory, which belongs to the caller}}
func.func @frees(%x: memref<4xf32>) {
  %0 = memref.alloc() : memref<4xf32>
  memref.dealloc %0 : memref<4xf32>
  return
}

// -----

// expected-error @unknown {{a kernel on buffers returns nothing, but writes its results into arguments}}
func.func @returns() -> memref<4xf32> {
  %0 = memref.alloc() : memref<4xf32>
  return %0 : memref<4xf32>
}

// -----

// expected-error @unknown {{a kernel has exactly one block}}
func.func @blocks(%x: memref<4xf32>) {
  cf.br ^next
^next:
  %0 = memref.alloc() : memref<4xf32>
  return
}

// -----

// expected-error @unknown {{a kernel module holds one func.func, not 0}}
func.func private @declared(memref<4xf32>)
