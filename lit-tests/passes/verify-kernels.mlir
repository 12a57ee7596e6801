// RUN: %xyntra-opt %s --verify-kernels | %xyntra-opt --verify-kernels | FileCheck %s

// CHECK: func.func private @kernel() attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>}
func.func private @kernel() attributes {xyntra.kernel = #xyntra.kernel<{kind = "row"}>}

// CHECK: func.func private @main()
func.func private @main()
