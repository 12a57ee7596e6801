# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules on comparisons, selections and casts."""

from __future__ import annotations

from xyntra.passes.recognize.egraph.rules.rule import Rule

__all__ = ["CHOICE_RULES"]

_SELECTIONS = (
    Rule("select-equal", "(select p a a)", "a"),
    Rule("select-true", "(select true a b)", "a"),
    Rule("select-false", "(select false a b)", "b"),
    Rule("select-complement", "(select (xori p -1) a b)", "(select p b a)"),
    Rule("select-same-then", "(select p (select p a b) c)", "(select p a c)"),
    Rule("select-same-else", "(select p a (select p b c))", "(select p a c)"),
    Rule("select-both-then", "(select p (select q a b) b)", "(select (andi p q) a b)"),
    Rule("select-either", "(select p a (select q a b))", "(select (ori p q) a b)"),
)

_CONDITIONS = (
    Rule("select-of-booleans", "(select p true false)", "p", ("equal t i1",)),
    Rule("select-of-booleans-swapped", "(select p false true)", "(xori p -1)", ("equal t i1",)),
    Rule("select-and", "(select p a false)", "(andi p a)", ("equal t i1",)),
    Rule("select-or", "(select p true a)", "(ori p a)", ("equal t i1",)),
)

_COMPARISONS = (
    Rule(
        "cmpf-complement", "(xori (cmpf.?p a b) -1)", "(cmpf.?q a b)", ("complement p q",),
        note="ordered predicates become unordered ones: NaN keeps its answer",
    ),
    Rule("cmpi-complement", "(xori (cmpi.?p a b) -1)", "(cmpi.?q a b)", ("complement p q",)),
    Rule(
        "cmpf-never", "(cmpf.?p a a)", "false", ("never-equal p",),
        note="olt, ogt, one; `oeq` is not among them: it is false for NaN alone",
    ),
    Rule("cmpf-always", "(cmpf.?p a a)", "true", ("always-equal p",), note="ueq, uge, ule"),
    Rule("cmpi-never", "(cmpi.?p a a)", "false", ("never-equal p",)),
    Rule("cmpi-always", "(cmpi.?p a a)", "true", ("always-equal p",)),
    Rule("cmpf-negated", "(cmpf.?p (negf a) (negf b))", "(cmpf.?q a b)", ("swapped p q",)),
    Rule("truth-of-extended", "(cmpi.ne (extui<i1,s> a) 0)", "a"),
    Rule("truth-of-sign-extended", "(cmpi.ne (extsi<i1,s> a) 0)", "a"),
    Rule("falsehood-of-extended", "(cmpi.eq (extui<i1,s> a) 0)", "(xori a -1)"),
    Rule("truth-of-float", "(cmpf.une (uitofp<i1,s> a) 0)", "a"),
    Rule("truth-is-truth", "(cmpi.ne<i1> a false)", "a"),
    Rule("truth-is-not-false", "(cmpi.eq<i1> a true)", "a"),
    Rule("falsehood", "(cmpi.eq<i1> a false)", "(xori a -1)"),
)  # fmt: skip

_CASTS = (
    Rule(
        "truncf-of-extf", "(truncf<s,t> (extf<t,s> a))", "a",
        note="widening first; `extf (truncf a)` has lost bits",
    ),
    Rule("trunci-of-extsi", "(trunci<s,t> (extsi<t,s> a))", "a"),
    Rule("trunci-of-extui", "(trunci<s,t> (extui<t,s> a))", "a"),
    Rule("trunci-of-wider-extsi", "(trunci<s,t> (extsi<r,s> a))", "(extsi<r,t> a)",
         ("narrower r t",)),
    Rule("trunci-of-wider-extui", "(trunci<s,t> (extui<r,s> a))", "(extui<r,t> a)",
         ("narrower r t",)),
    Rule("trunci-of-narrower", "(trunci<s,t> (extsi<r,s> a))", "(trunci<r,t> a)",
         ("narrower t r",)),
    Rule("trunci-of-narrower-unsigned", "(trunci<s,t> (extui<r,s> a))", "(trunci<r,t> a)",
         ("narrower t r",)),
    Rule("trunci-twice", "(trunci<s,t> (trunci<r,s> a))", "(trunci<r,t> a)"),
    Rule("extsi-twice", "(extsi<s,t> (extsi<r,s> a))", "(extsi<r,t> a)"),
    Rule("extui-twice", "(extui<s,t> (extui<r,s> a))", "(extui<r,t> a)"),
    Rule("extsi-of-extui", "(extsi<s,t> (extui<r,s> a))", "(extui<r,t> a)",
         note="a zero-extended number is not negative"),
    Rule("sitofp-of-extsi", "(sitofp<s,t> (extsi<r,s> a))", "(sitofp<r,t> a)",
         ("not-boolean r",), note="both convert the same integer"),
    Rule("uitofp-of-extui", "(uitofp<s,t> (extui<r,s> a))", "(uitofp<r,t> a)"),
    Rule("sitofp-of-extui", "(sitofp<s,t> (extui<r,s> a))", "(uitofp<r,t> a)"),
    Rule("fptosi-of-sitofp", "(fptosi<s,t> (sitofp<t,s> a))", "a", ("holds s t",),
         note="the float holds every integer of the type: i8 in f16, i16 in f32, i32 in f64"),
    Rule("truncf-of-sitofp", "(truncf<f64,t> (sitofp<r,f64> a))", "(sitofp<r,t> a)",
         ("holds f64 r", "equal t f32"), note="f64 holds every value, so there is one rounding"),
    Rule("absf-of-extf", "(truncf<s,t> (absf (extf<t,s> a)))", "(absf a)"),
    Rule("negf-of-extf", "(truncf<s,t> (negf (extf<t,s> a)))", "(negf a)"),
    Rule("root-in-double", "(truncf<f64,f32> (sqrt (extf<f32,f64> a)))", "(sqrt a)",
         note="f64 has more than twice the bits of f32 and two: the second rounding is harmless"),
)  # fmt: skip

_IN_DOUBLE = tuple(
    Rule(
        f"{op}-in-double",
        f"(truncf<f64,f32> ({op} (extf<f32,f64> a) (extf<f32,f64> b)))",
        f"({op} a b)",
        note="as `root-in-double`",
    )
    for op in ("addf", "subf", "mulf", "divf")
)

CHOICE_RULES = _SELECTIONS + _CONDITIONS + _COMPARISONS + _CASTS + _IN_DOUBLE
