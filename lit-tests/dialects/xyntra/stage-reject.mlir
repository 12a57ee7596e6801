// RUN: %xyntra-opt %s --split-input-file --verify-diagnostics

func.func @schedule_kind() {
  // expected-error @below {{'xyntra.stage' op has a bad 'schedule': a #xyntra.schedule was expected, got 3 : i64}}
  "xyntra.stage"() ({
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) {schedule = 3} : () -> ()
  return
}

// -----

func.func @schedule_emitter() {
  // expected-error @below {{'xyntra.stage' op has a bad 'schedule': a schedule names its emitter}}
  "xyntra.stage"() ({
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) {schedule = #xyntra.schedule<{tile = [8]}>} : () -> ()
  return
}

// -----

func.func @schedule_emitter_type() {
  // expected-error @below {{'xyntra.stage' op has a bad 'schedule': the emitter of a schedule is a text, got 8}}
  "xyntra.stage"() ({
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) {schedule = #xyntra.schedule<{emitter = 8}>} : () -> ()
  return
}

// -----

func.func @schedule_entry() {
  // expected-error @below {{'xyntra.stage' op has a bad 'schedule': unroll: 1.500000e+00 : f64 is neither a number, a text, a list nor a dictionary}}
  "xyntra.stage"() ({
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) {schedule = #xyntra.schedule<{emitter = "rows", unroll = 1.5}>} : () -> ()
  return
}

// -----

func.func @schedule_list() {
  // expected-error @below {{'xyntra.stage' op has a bad 'schedule': tile is a number, a flag, a text or a list of integers}}
  "xyntra.stage"() ({
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) {schedule = #xyntra.schedule<{emitter = "rows", tile = ["a"]}>} : () -> ()
  return
}

// -----

func.func @schedule_syntax() {
  "xyntra.stage"() ({
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  // expected-error @below {{expected base attribute 'builtin.dictionary' but got 'builtin.array'}}
  }) {schedule = #xyntra.schedule<[8]>} : () -> ()
  return
}

// -----

func.func @arguments() {
  // expected-error @below {{'xyntra.stage' op expects a region of one block without arguments}}
  "xyntra.stage"() ({
  ^bb0(%x: f32):
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  return
}

// -----

func.func @nested() {
  // expected-error @below {{'xyntra.stage' op expects no other stage inside}}
  "xyntra.stage"() ({
    "xyntra.stage"() ({
      "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
    }) : () -> ()
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  return
}

// -----

func.func @values(%x: f32) {
  // expected-error @below {{'xyntra.stage' op yields values, but a stage has no results}}
  "xyntra.stage"() ({
    "xyntra.yield"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (f32) -> ()
  }) : () -> ()
  return
}

// -----

func.func @blocks() {
  // expected-error @below {{'xyntra.stage' op expects a region of one block without arguments}}
  "xyntra.stage"() ({
    cf.br ^bb1
  ^bb1:
    "xyntra.yield"() {operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  }) : () -> ()
  return
}
