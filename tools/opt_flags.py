# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line of `xyntra-opt`: flags with one dash or two, and a flag for every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from xyntra.errors import ConfigError

__all__ = ["FLAGS", "Options", "parse_flags"]


@dataclass
class Options:
    """The options of a command line; `pipeline` holds elements in textual form.

    `before` and `after` name the passes around which the IR is printed; None means all.
    """

    input: str = "-"
    output: str = "-"
    show: str | None = None
    pipeline: list[str] = field(default_factory=list)
    whole_pipeline: str | None = None
    split: bool = False
    verify_diagnostics: bool = False
    verify_each: bool = True
    allow_unregistered: bool = False
    generic: bool = False
    debug_info: bool = False
    timing: bool = False
    before: set[str] | None = field(default_factory=set)
    after: set[str] | None = field(default_factory=set)


@dataclass(frozen=True)
class Flag:
    """`value` names the value that is needed, if any; a switch may be given `=0` or `=1`."""

    summary: str
    apply: Callable[[Options, str], None]
    value: str = ""
    switch: bool = False


def _switch(name: str, summary: str) -> Flag:
    return Flag(
        summary,
        lambda options, value: setattr(options, name, value in ("", "1", "true")),
        switch=True,
    )


def _text(name: str) -> Callable[[Options, str], None]:
    return lambda options, value: setattr(options, name, value)


def _show(topic: str) -> Callable[[Options, str], None]:
    return lambda options, _: setattr(options, "show", topic)


def _print_around(name: str) -> Callable[[Options, str], None]:
    def apply(options: Options, value: str) -> None:
        wanted: set[str] | None = getattr(options, name)
        if wanted is not None:
            wanted.update(value.split(","))

    return apply


def _print_all(name: str) -> Callable[[Options, str], None]:
    return lambda options, _: setattr(options, name, None)


def _named_pipeline(options: Options, value: str) -> None:
    from xyntra.passes.pipelines import expand

    options.pipeline.extend(expand(value))


FLAGS: dict[str, Flag] = {
    "help": Flag("show this text", _show("help")),
    "version": Flag("show the version", _show("version")),
    "list-passes": Flag("list the passes of Xyntra", _show("passes")),
    "o": Flag("write to FILE; - is the standard output", _text("output"), "FILE"),
    "pass-pipeline": Flag("run a textual pipeline", _text("whole_pipeline"), "TEXT"),
    "pipeline": Flag("run a named pipeline", _named_pipeline, "NAME"),
    "split-input-file": _switch("split", "treat parts between '// -----' lines apart"),
    "verify-diagnostics": _switch(
        "verify_diagnostics", "check diagnostics against expected-error and the like"
    ),
    "verify-each": _switch("verify_each", "verify the IR after each pass (the default)"),
    "allow-unregistered-dialect": _switch("allow_unregistered", "accept unknown dialects"),
    "mlir-print-ir-before": Flag("print the IR before PASS,…", _print_around("before"), "PASS"),
    "mlir-print-ir-before-all": Flag("print the IR before each pass", _print_all("before")),
    "mlir-print-ir-after": Flag("print the IR after PASS,…", _print_around("after"), "PASS"),
    "mlir-print-ir-after-all": Flag("print the IR after each pass", _print_all("after")),
    "mlir-print-op-generic": _switch("generic", "print ops in generic form"),
    "mlir-print-debuginfo": _switch("debug_info", "print locations"),
    "mlir-timing": _switch("timing", "print the time that each pass took"),
}


def parse_flags(arguments: Sequence[str]) -> Options:
    """Return what `arguments` ask for.

    A flag that is none of `FLAGS` becomes a pipeline element, to be checked when passes are known.

    Raises:
        ConfigError: a value is missing, superfluous or contradictory, or there are two inputs.
    """
    options, inputs = Options(), []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "-" or not argument.startswith("-"):
            inputs.append(argument)
            continue
        name, equals, value = argument.lstrip("-").partition("=")
        if name in FLAGS:
            _apply(options, name, value if equals else None, waiting)
        elif not name:
            raise _usage(f"'{argument}' is not a flag")
        else:
            options.pipeline.append(f"{name}{{{value}}}" if equals else name)
    if len(inputs) > 1:
        raise _usage(f"one input was expected, got {', '.join(inputs)}")
    if options.whole_pipeline is not None and options.pipeline:
        raise _usage("--pass-pipeline cannot be combined with other passes or pipelines")
    options.input = inputs[0] if inputs else "-"
    return options


def _apply(options: Options, name: str, value: str | None, waiting: Iterator[str]) -> None:
    flag = FLAGS[name]
    if flag.value and value is None:
        value = next(waiting, None)
    if flag.value and not value:
        raise _usage(f"--{name} needs a value: {flag.value}")
    if not flag.value and not flag.switch and value is not None:
        raise _usage(f"--{name} takes no value, got '{value}'")
    if flag.switch and value not in (None, "0", "1", "true", "false"):
        raise _usage(f"--{name} is 0 or 1, got '{value}'")
    flag.apply(options, value or "")


def _usage(message: str) -> ConfigError:
    return ConfigError("wrong-usage", message, hint="xyntra-opt --help")
