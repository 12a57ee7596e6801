# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the base of layers: its arrays are parameters, named as PyTorch's `state_dict` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import xyntra.array as xa
from xyntra.array import Array
from xyntra.array.arrays import node_of, write
from xyntra.errors import InputError
from xyntra.suggestions import did_you_mean

__all__ = ["Module", "ModuleList", "Sequential", "value_and_grad"]


class Module:
    """A layer, or a network of layers: attributes that are arrays are its parameters.

    A subclass sets arrays and modules as attributes, and defines `forward`.
    """

    training = True
    _buffers: frozenset[str] = frozenset()
    """Names of arrays that are no parameters, such as statistics."""

    def forward(self, *arguments: Any) -> Any:
        """Return what the layer makes of its input."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return `forward` of the arguments."""
        return self.forward(*arguments, **named)

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """Yield this module and all within it, with their names."""
        yield prefix, self
        for name, child in self._children():
            yield from child.named_modules(f"{prefix}.{name}" if prefix else name)

    def _children(self) -> Iterator[tuple[str, Module]]:
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield name, value

    def _arrays(self, buffers: bool) -> Iterator[tuple[str, Module, str]]:
        """Yield the full name, the owner and the own name of each parameter, or buffer."""
        for prefix, module in self.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, Array) and (name in module._buffers) == buffers:
                    yield f"{prefix}.{name}" if prefix else name, module, name

    def parameters(self) -> dict[str, Array]:
        """Return the arrays to be trained, by name."""
        return {full: getattr(owner, name) for full, owner, name in self._arrays(False)}

    def buffers(self) -> dict[str, Array]:
        """Return the other arrays, such as statistics, by name."""
        return {full: getattr(owner, name) for full, owner, name in self._arrays(True)}

    def state_dict(self) -> dict[str, Array]:
        """Return all arrays by name."""
        return {**self.parameters(), **self.buffers()}

    def load_state_dict(self, state: Mapping[str, Any], *, strict: bool = True) -> None:
        """Take arrays by name: ours, numpy's or PyTorch's.

        Raises:
            InputError: a name is missing or unknown (unless `strict=False`), or a shape differs.
        """
        known = {
            full: (owner, name) for b in (False, True) for full, owner, name in self._arrays(b)
        }
        given = {
            name: value for name, value in state.items() if not name.endswith("num_batches_tracked")
        }
        for name in [*known, *given]:
            if strict and (name not in given or name not in known):
                missing = name in known
                raise InputError(
                    "module-state",
                    f"the state has {'no' if missing else 'a'} '{name}'"
                    + ("" if missing else ", which the module does not"),
                    hint=did_you_mean(name, list(given if missing else known)),
                )
        for full, (owner, name) in known.items():
            if full not in given:
                continue
            own = getattr(owner, name)
            new = _array(given[full])
            if new.shape != own.shape:
                raise InputError(
                    "module-state",
                    f"'{full}' has the shape {list(new.shape)}, not {list(own.shape)}",
                )
            setattr(owner, name, new.astype(own.dtype, copy=False))

    def assign(self, arrays: Mapping[str, Array]) -> None:
        """Give parameters and buffers other arrays, by name."""
        known = {
            full: (owner, name) for b in (False, True) for full, owner, name in self._arrays(b)
        }
        for full, array in arrays.items():
            owner, name = known[full]
            setattr(owner, name, array)

    def update(self, arrays: Mapping[str, Array]) -> None:
        """Write new elements into parameters and buffers, by name; who holds those sees them."""
        for buffers in (False, True):
            for full, owner, name in self._arrays(buffers):
                if full in arrays:
                    write(getattr(owner, name), node_of(arrays[full]))

    @contextmanager
    def holding(self, arrays: Mapping[str, Array]) -> Iterator[None]:
        """Hold other arrays for as long as the context lasts."""
        before = self.state_dict()
        self.assign(arrays)
        try:
            yield
        finally:
            self.assign(before)

    def train(self, mode: bool = True) -> Module:
        """Let layers that differ in training behave as they do there."""
        for _, module in self.named_modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Let layers that differ in training behave as they do outside of it."""
        return self.train(False)


def _array(value: Any) -> Array:
    return (
        value if isinstance(value, Array) else xa.asarray(getattr(value, "detach", lambda: value)())
    )


class ModuleList(Module):
    """Modules in order, named by their numbers."""

    def __init__(self, modules: Any = ()) -> None:
        self._modules = list(modules)

    def _children(self) -> Iterator[tuple[str, Module]]:
        for number, module in enumerate(self._modules):
            yield str(number), module

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __getitem__(self, place: int) -> Module:
        found: Module = self._modules[place]
        return found


class Sequential(ModuleList):
    """Modules, and functions, of which each takes what the one before returns."""

    def __init__(self, *modules: Any) -> None:
        super().__init__(modules)

    def _children(self) -> Iterator[tuple[str, Module]]:
        for number, module in enumerate(self._modules):
            if isinstance(module, Module):
                yield str(number), module

    def forward(self, x: Any) -> Any:
        """Return what the last module makes of it."""
        for module in self._modules:
            x = module(x)
        return x


def value_and_grad(model: Module, loss: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that returns a loss and its gradients by the names of parameters.

    Args:
        model: whose parameters the gradients are of.
        loss: takes the arguments of the function and returns an array of one element; it calls the
            model.
    """

    def found(*arguments: Any) -> tuple[Array, dict[str, Array]]:
        parameters = model.parameters()

        def of(values: dict[str, Array]) -> Any:
            before = model.parameters()
            model.assign(values)
            try:
                return loss(*arguments)
            finally:
                model.assign(before)

        value, slopes = xa.value_and_grad(of)(parameters)
        return value, slopes

    return found
