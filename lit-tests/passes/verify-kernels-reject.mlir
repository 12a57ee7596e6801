// RUN: %xyntra-opt %s --verify-kernels --split-input-file --verify-diagnostics

// expected-error @below {{the kind of a kernel is one of elementwise, row, contraction, conv, attention, data, generic, got 'reduction'}}
func.func private @unknown_kind() attributes {xyntra.kernel = #xyntra.kernel<{kind = "reduction"}>}

// -----

// expected-error @below {{the kind of a kernel is one of elementwise, row, contraction, conv, attention, data, generic, got ''}}
func.func private @no_kind() attributes {xyntra.kernel = #xyntra.kernel<{}>}

// -----

// expected-error @below {{kind is a text, got 3 : i64}}
func.func private @kind_type() attributes {xyntra.kernel = #xyntra.kernel<{kind = 3}>}

// -----

// expected-error @below {{'knd' is unknown; did you mean 'kind'?}}
func.func private @unknown_entry() attributes {xyntra.kernel = #xyntra.kernel<{knd = "row"}>}

// -----

// expected-error @below {{a #xyntra.kernel was expected, got "row"}}
func.func private @another_attribute() attributes {xyntra.kernel = "row"}
