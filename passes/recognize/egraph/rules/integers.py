# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules on integers, which wrap around, and on booleans, which are integers of one bit."""

from __future__ import annotations

from xyntra.passes.recognize.egraph.rules.rule import Rule

__all__ = ["INTEGER_RULES"]

_SUMS = (
    Rule("addi-zero", "(addi a 0)", "a"),
    Rule("subi-zero", "(subi a 0)", "a"),
    Rule("subi-itself", "(subi a a)", "0"),
    Rule("subi-constant", "(subi a #c)", "(addi a #d)", ("negated t c d",)),
    Rule("negate-integer-twice", "(subi 0 (subi 0 a))", "a"),
    Rule("addi-negated", "(addi a (subi 0 b))", "(subi a b)"),
    Rule("subi-negated", "(subi a (subi 0 b))", "(addi a b)"),
    Rule("negate-integer-difference", "(subi 0 (subi a b))", "(subi b a)"),
    Rule("addi-take-back", "(subi (addi a b) b)", "a"),
    Rule("subi-add-back", "(addi (subi a b) b)", "a"),
    Rule("subi-remainder", "(subi a (subi a b))", "b"),
    Rule("addi-constants", "(addi (addi a #c) #d)", "(addi a (addi #c #d))"),
    Rule("subi-from-constants", "(addi (subi #c a) #d)", "(subi (addi #c #d) a)"),
    Rule("addi-constants-apart", "(addi (addi (addi a #c) b) #d)",
         "(addi (addi a b) (addi #c #d))"),
    Rule("addi-constants-both", "(addi (addi a #c) (addi b #d))", "(addi (addi a b) (addi #c #d))"),
)  # fmt: skip

_PRODUCTS = (
    Rule("muli-one", "(muli a 1)", "a"),
    Rule("muli-zero", "(muli a 0)", "0"),
    Rule("muli-minus-one", "(muli a -1)", "(subi 0 a)"),
    Rule("muli-constants", "(muli (muli a #c) #d)", "(muli a (muli #c #d))"),
    Rule(
        "muli-power-of-two",
        "(muli a #c)",
        "(shli a #k)",
        ("power t c k m",),
        note="c is a power of two, as an unsigned number",
    ),
    Rule("muli-negated", "(muli (subi 0 a) (subi 0 b))", "(muli a b)"),
    Rule("muli-common-factor", "(addi (muli a b) (muli a c))", "(muli a (addi b c))"),
    Rule("muli-common-factor-difference", "(subi (muli a b) (muli a c))", "(muli a (subi b c))"),
    Rule("muli-and-one-more", "(addi a (muli a #c))", "(muli a (addi #c 1))"),
    Rule("divsi-one", "(divsi a 1)", "a"),
    Rule("divui-one", "(divui a 1)", "a"),
    Rule("divui-power-of-two", "(divui a #c)", "(shrui a #k)", ("power t c k m",)),
    Rule("remui-power-of-two", "(remui a #c)", "(andi a #m)", ("power t c k m",)),
    Rule("remui-one", "(remui a 1)", "0"),
    Rule("remsi-one", "(remsi a 1)", "0"),
    Rule("shli-zero", "(shli a 0)", "a"),
    Rule("shrsi-zero", "(shrsi a 0)", "a"),
    Rule("shrui-zero", "(shrui a 0)", "a"),
    Rule("magnitude-of-negated-integer", "(absi (subi 0 a))", "(absi a)"),
    Rule("magnitude-of-integer-twice", "(absi (absi a))", "(absi a)"),
)

_BITS = (
    Rule("andi-itself", "(andi a a)", "a"),
    Rule("andi-ones", "(andi a -1)", "a"),
    Rule("andi-zero", "(andi a 0)", "0"),
    Rule("andi-again", "(andi (andi a b) b)", "(andi a b)"),
    Rule("andi-constants", "(andi (andi a #c) #d)", "(andi a (andi #c #d))"),
    Rule("andi-absorbs", "(andi a (ori a b))", "a"),
    Rule("andi-complement", "(andi a (xori a -1))", "0"),
    Rule("ori-itself", "(ori a a)", "a"),
    Rule("ori-zero", "(ori a 0)", "a"),
    Rule("ori-ones", "(ori a -1)", "-1"),
    Rule("ori-again", "(ori (ori a b) b)", "(ori a b)"),
    Rule("ori-constants", "(ori (ori a #c) #d)", "(ori a (ori #c #d))"),
    Rule("ori-absorbs", "(ori a (andi a b))", "a"),
    Rule("ori-complement", "(ori a (xori a -1))", "-1"),
    Rule("xori-itself", "(xori a a)", "0"),
    Rule("xori-zero", "(xori a 0)", "a"),
    Rule("xori-again", "(xori (xori a b) b)", "a"),
    Rule("xori-constants", "(xori (xori a #c) #d)", "(xori a (xori #c #d))"),
    Rule("and-of-complements", "(andi (xori a -1) (xori b -1))", "(xori (ori a b) -1)"),
    Rule("or-of-complements", "(ori (xori a -1) (xori b -1))", "(xori (andi a b) -1)"),
    Rule("andi-common", "(ori (andi a b) (andi a c))", "(andi a (ori b c))"),
    Rule("ori-common", "(andi (ori a b) (ori a c))", "(ori a (andi b c))"),
)

_EXTREMA = tuple(
    rule
    for high, low in (
        ("maxsi", "minsi"),
        ("minsi", "maxsi"),
        ("maxui", "minui"),
        ("minui", "maxui"),
    )
    for rule in (
        Rule(f"{high}-of-equal", f"({high} a a)", "a"),
        Rule(f"{high}-again", f"({high} ({high} a b) b)", f"({high} a b)"),
        Rule(f"{high}-constants", f"({high} ({high} a #c) #d)", f"({high} a ({high} #c #d))"),
        Rule(f"{high}-absorbs", f"({high} a ({low} a b))", "a"),
    )
)

INTEGER_RULES = _SUMS + _PRODUCTS + _BITS + _EXTREMA
