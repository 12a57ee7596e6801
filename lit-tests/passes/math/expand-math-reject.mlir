// RUN: %xyntra-opt %s --expand-math=keep=math.sqrt --verify-diagnostics

// expected-error @unknown {{expand-math has no expansion of 'math.sqrt' to keep}}
func.func @only_functions_with_an_expansion_can_be_kept(%x: f32) -> f32 {
  %0 = math.sqrt %x : f32
  return %0 : f32
}
