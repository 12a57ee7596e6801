// RUN: %xyntra-opt %s --verify-kernels | %xyntra-opt --verify-kernels | FileCheck %s

// CHECK: func.func private @kernel() attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>,
// CHECK-SAME: xyntra.schedule = #xyntra.schedule<{parallel_loops = 1 : i64, register_tile = [4, 0], tile_sizes = [128, 32]}>}
func.func private @kernel() attributes {
  xyntra.kernel = #xyntra.kernel<{kind = "row"}>,
  xyntra.schedule = #xyntra.schedule<{tile_sizes = [128, 32], register_tile = [4, 0], parallel_loops = 1}>
}

// CHECK: func.func private @main()
func.func private @main()
