# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random elementwise graphs as MLIR text, with a bias to what rules look for."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

TYPES = ("f32", "f64", "i32", "i1")
_FLOAT = "addf subf mulf divf negf maximumf minimumf absf sqrt copy".split()
_INTEGER = "addi subi muli andi ori xori maxsi minsi maxui minui shli shrui divui remui".split()
_FLOAT_CONSTANTS = ("0.0", "-0.0", "1.0", "-1.0", "2.0", "0.5", "3.0", "4.0", "1.5", "-0.25")
_SPECIAL_CONSTANTS = {
    "f32": ("0x7F800000", "0x7FC00000", "0x7F7FFFFF", "0x00000001"),
    "f64": ("0x7FF0000000000000", "0x7FF8000000000000", "0x0000000000000001"),
}
_INTEGER_CONSTANTS = ("0", "1", "-1", "2", "4", "5", "8", "31", "-2147483648", "2147483647")
_CASTS = (
    ("extf", "f32", "f64"), ("truncf", "f64", "f32"), ("extui", "i1", "i32"),
    ("extsi", "i1", "i32"), ("sitofp", "i32", "f64"), ("sitofp", "i32", "f32"),
    ("uitofp", "i1", "f32"), ("trunci", "i32", "i1"),
)  # fmt: skip
_CMPF = "oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno".split()
_CMPI = "eq ne slt sle sgt sge ult ule ugt uge".split()


@dataclass
class Graph:
    """A function under construction; `values` are names of tensors by element type."""

    values: dict[str, list[str]] = field(
        default_factory=lambda: {t: [f"%{t}_{i}" for i in range(2)] for t in TYPES}
    )
    lines: list[str] = field(default_factory=list)
    constants: dict[str, str] = field(default_factory=dict)
    made: list[tuple[str, str]] = field(default_factory=list)

    def constant(self, text: str, type_: str) -> str:
        name = f"%c{len(self.constants)}"
        return self.constants.setdefault(f"{text} : {type_}", name)

    def loop(self, body: list[str], inputs: list[tuple[str, str]], type_: str) -> str:
        """Add a generic whose body reads `%a0`, `%a1` … and defines `%r`."""
        name = f"%t{len(self.lines)}"
        arguments = [f"%a{i}: {t}" for i, (_, t) in enumerate(inputs)] + [f"%o: {type_}"]
        names = ", ".join(value for value, _ in inputs)
        types = ", ".join(f"tensor<8x{t}>" for _, t in inputs)
        maps = ", ".join(["#id"] * (len(inputs) + 1))
        self.lines.append(
            f"{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = "
            f'["parallel"]}} ins({names} : {types}) outs(%e_{type_} : tensor<8x{type_}>) {{\n'
            f"^bb0({', '.join(arguments)}):\n" + "\n".join(body) + f"\nlinalg.yield %r : {type_}\n"
            f"}} -> tensor<8x{type_}>"
        )
        self.values[type_].append(name)
        self.made.append((name, type_))
        return name

    def text(self, results: list[tuple[str, str]]) -> str:
        """The module; the arguments are two tensors of every type."""
        arguments = ", ".join(f"%{t}_{i}: tensor<8x{t}>" for t in TYPES for i in range(2))
        types = ", ".join(f"tensor<8x{t}>" for _, t in results)
        constants = [f"{name} = arith.constant {text}" for text, name in self.constants.items()]
        empties = [f"%e_{t} = tensor.empty() : tensor<8x{t}>" for t in TYPES]
        names = ", ".join(name for name, _ in results)
        return "\n".join(
            [
                "#id = affine_map<(d0) -> (d0)>",
                f"func.func @main({arguments}) -> ({types}) {{",
                *constants,
                *empties,
                *self.lines,
                f"return {names} : {types}\n}}",
            ]
        )


@dataclass(frozen=True)
class Profile:
    """Which operations and constants a graph is made of."""

    kinds: tuple[str, ...] = ("float", "float", "integer", "boolean", "compare", "select", "cast")
    float_operations: tuple[str, ...] = tuple(_FLOAT)
    float_constants: tuple[str, ...] = _FLOAT_CONSTANTS
    special: bool = True
    float_types: tuple[str, ...] = ("f32", "f64")


@st.composite
def modules(draw: st.DrawFn, profile: Profile) -> str:
    """The text of a module."""
    graph = Graph()
    for _ in range(draw(st.integers(2, 14))):
        _Step(draw, graph, profile).add(draw(st.sampled_from(profile.kinds)))
    made = list(reversed(graph.made))
    results = [made[0], *draw(st.lists(st.sampled_from(made), max_size=2, unique=True))]
    return graph.text(list(dict.fromkeys(results)))


@dataclass
class _Step:
    draw: st.DrawFn
    graph: Graph
    profile: Profile

    def add(self, kind: str) -> None:
        getattr(self, kind)()

    def pick(self, type_: str) -> str:
        """A tensor; the latest ones come up most."""
        values = self.graph.values[type_]
        return values[-1 - min(self.draw(st.integers(0, 4)), len(values) - 1)]

    def operand(self, type_: str) -> tuple[str, str] | None:
        """A tensor and its type, or None for a constant."""
        return None if self.draw(st.integers(0, 2)) == 0 else (self.pick(type_), type_)

    def number(self, type_: str) -> str:
        if type_ == "i1":
            choices: tuple[str, ...] = ("true", "false")
        elif type_[0] == "i":
            choices = _INTEGER_CONSTANTS
        else:
            choices = self.profile.float_constants
            if self.profile.special:
                choices += _SPECIAL_CONSTANTS[type_]
        text = self.draw(st.sampled_from(choices))
        return self.graph.constant(text, type_) if type_ != "i1" else self.boolean_constant(text)

    def boolean_constant(self, text: str) -> str:
        return self.graph.constant("1" if text == "true" else "0", "i1")

    def emit(self, operation: str, types: list[str], result: str, suffix: str) -> None:
        """A loop with one operation, whose operands are tensors or constants."""
        inputs: list[tuple[str, str]] = []
        names = []
        for position, type_ in enumerate(types):
            operand = (
                self.operand(type_) if position or len(types) > 1 else (self.pick(type_), type_)
            )
            if operand is None and len(inputs) + len(types) - position > 1:
                names.append(self.number(type_))
                continue
            names.append(f"%a{len(inputs)}")
            inputs.append(operand or (self.pick(type_), type_))
        self.graph.loop([f"%r = {operation} {', '.join(names)} : {suffix}"], inputs, result)

    def float(self) -> None:
        type_ = self.draw(st.sampled_from(self.profile.float_types))
        name = self.draw(st.sampled_from(self.profile.float_operations))
        if name == "copy":
            return self._square(type_)
        if name in ("negf", "absf", "sqrt", "exp", "log"):
            dialect = "arith" if name == "negf" else "math"
            return self.emit(f"{dialect}.{name}", [type_], type_, type_)
        return self.emit(f"arith.{name}", [type_, type_], type_, type_)

    def _square(self, type_: str) -> None:
        """A body of two operations."""
        body = [f"%s = arith.mulf %a0, %a0 : {type_}", f"%r = arith.addf %s, %a1 : {type_}"]
        self.graph.loop(body, [(self.pick(type_), type_), (self.pick(type_), type_)], type_)

    def integer(self) -> None:
        name = self.draw(st.sampled_from(_INTEGER))
        self.emit(f"arith.{name}", ["i32", "i32"], "i32", "i32")

    def boolean(self) -> None:
        name = self.draw(st.sampled_from(("andi", "ori", "xori")))
        self.emit(f"arith.{name}", ["i1", "i1"], "i1", "i1")

    def compare(self) -> None:
        type_ = self.draw(st.sampled_from((*self.profile.float_types, "i32")))
        name, table = ("cmpi", _CMPI) if type_ == "i32" else ("cmpf", _CMPF)
        predicate = self.draw(st.sampled_from(table))
        self.emit(f"arith.{name} {predicate},", [type_, type_], "i1", type_)

    def select(self) -> None:
        type_ = self.draw(st.sampled_from((*self.profile.float_types, "i32", "i1")))
        self.emit("arith.select", ["i1", type_, type_], type_, type_)

    def cast(self) -> None:
        name, source, result = self.draw(st.sampled_from(_CASTS))
        self.emit(f"arith.{name}", [source], result, f"{source} to {result}")
