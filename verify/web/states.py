# SPDX-License-Identifier: MIT OR Apache-2.0
"""Uses an exported page as a person would: waits, clicks, chooses files, and reads what it says.

Each function is one story. It raises an AssertionError, or playwright's timeout, where the page
shows something else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from verify.web.browser import FLAGS
from verify.web.running import load_model, run_model
from verify.web.server import Site

__all__ = ["STORIES", "Story", "Visit"]

READY, DONE = "body[data-state=ready]", "body[data-state=done]"
NOTICE = "#notice:not([hidden])"


@dataclass(frozen=True)
class Visit:
    """A page that is visited.

    Attributes:
        context: of the browser, fresh for each story.
        page: in it.
        site: that serves the model.
        folder: that is served.
        shot: takes a picture of the page under a name.
    """

    context: Any
    page: Any
    site: Site
    folder: Path
    shot: Callable[[str], None]

    def says(self, *texts: str) -> None:
        """Wait for a notice, and look for texts in it."""
        self.page.wait_for_selector(NOTICE)
        found = self.page.inner_text("#notice")
        for text in texts:
            assert text in found, f"the page says {found!r}, without {text!r}"

    def works(self) -> None:
        """Wait until the model is loaded, and run it by a click."""
        self.page.wait_for_selector(READY)
        self.page.click("#run")
        self.page.wait_for_selector(DONE)
        assert "float32 [2, 4]" in self.page.inner_text("#outputs")


def progress_result_and_timeline(visit: Visit) -> None:
    """Weights that take their time, a run, and a run with a timeline."""
    visit.site.faults["weights"] = "slow"
    visit.page.goto(visit.site.address)
    visit.page.wait_for_selector("#loading progress")
    visit.page.wait_for_selector("text=compiled")
    visit.shot("loading")
    visit.site.released.set()
    visit.works()
    visit.shot("result")
    visit.page.check("#timed")
    visit.page.click("#run")
    visit.page.wait_for_selector("#timeline .step")
    visit.shot("timeline")


def files_of_ones_own(visit: Visit) -> None:
    """A file of the wrong shape, no array at all, and then the right one."""
    visit.page.goto(visit.site.address)
    visit.page.wait_for_selector(READY)
    visit.page.select_option("select", "a .npy file")
    visit.page.click("#run")
    visit.says("Choose a file for 'x'")
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    for name, content, text in (
        ("wrong.npy", given.T.copy(), "The shape was fixed"),
        ("double.npy", given.astype(np.float64), "Float64Array"),
        ("text.npy", None, "this is no .npy file"),
    ):
        path = visit.folder / name
        path.write_text("hello, world") if content is None else np.save(path, content)
        visit.page.set_input_files("input[type=file]", path)
        visit.page.click("#run")
        visit.page.wait_for_selector(f"#notice >> text={text}")
    visit.shot("wrong-input")
    np.save(visit.folder / "right.npy", given)
    visit.page.set_input_files("input[type=file]", visit.folder / "right.npy")
    visit.page.click("#notice button")
    visit.page.wait_for_selector(DONE)
    with visit.page.expect_download() as download:
        visit.page.click("text=Save .npy")
    found = np.load(download.value.path())
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_allclose(found, given @ weight, rtol=1e-6)


def _spoilt(fault: str, title: str, hint: str) -> Callable[[Visit], None]:
    def story(visit: Visit) -> None:
        visit.site.faults["weights"] = fault  # type: ignore[assignment]
        visit.page.goto(visit.site.address)
        visit.says(title, hint)
        visit.shot(f"weights-{fault}")
        visit.site.faults.clear()
        visit.page.click("#notice button")
        visit.works()

    story.__name__, story.__doc__ = f"weights_{fault}", f"Weights that are {fault}, then mended."
    return story


def a_server_that_stalls(visit: Visit) -> None:
    """Nothing comes any more: loading ends with an error, and works the next time."""
    visit.page.goto(f"{visit.site.address}style.css")
    visit.site.faults["weights"] = "stalled"
    answer = load_model(visit.page, patience=0.5)
    assert answer["error"]["code"] == "fetch-stalled", answer
    visit.site.faults.clear()
    assert "error" not in load_model(visit.page)


def a_part_of_the_page_is_missing(visit: Visit) -> None:
    """The runtime was not copied to the server."""
    visit.site.faults["page.js"] = "missing"
    visit.page.goto(visit.site.address)
    visit.says("A part of this page could not be loaded", "whole exported folder")


def no_plan(visit: Visit) -> None:
    """The plan was not copied to the server."""
    visit.site.faults["plan.json"] = "missing"
    visit.page.goto(visit.site.address)
    visit.says("The server does not have a file", "plan.json", "404")


def opened_as_a_file(visit: Visit) -> None:
    """A double click on index.html."""
    visit.page.goto((visit.folder / "index.html").as_uri())
    visit.says("opened as a file", "python -m http.server")
    visit.shot("file")


def by_http_from_another_machine(visit: Visit) -> None:
    """Browsers have no WebGPU there."""
    port = visit.site.address.rsplit(":", 1)[1]
    visit.page.goto(f"http://elsewhere.test:{port}")
    visit.says("not loaded safely", "https://")
    visit.shot("insecure")


def without_webgpu(visit: Visit) -> None:
    """A browser that has no WebGPU at all."""
    visit.page.add_init_script("delete Navigator.prototype.gpu")
    visit.page.goto(visit.site.address)
    visit.says("This browser has no WebGPU", "Chrome")
    visit.shot("no-webgpu")


def without_an_adapter(visit: Visit) -> None:
    """A browser with WebGPU, and no GPU that it would use."""
    visit.page.goto(visit.site.address)
    visit.says("There is no GPU that WebGPU could use", "hardware acceleration")
    visit.shot("no-adapter")


def without_a_network(visit: Visit) -> None:
    """Loaded once, the page works where there is no network."""
    visit.page.goto(visit.site.address)
    visit.works()
    visit.page.evaluate("() => navigator.serviceWorker.ready.then(() => undefined)")
    visit.page.wait_for_timeout(500)
    visit.context.set_offline(True)
    visit.page.reload()
    visit.works()
    visit.shot("offline")


def the_gpu_is_lost(visit: Visit) -> None:
    """The browser's GPU process dies in the middle of a call; a click loads the model again."""
    visit.page.goto(visit.site.address)
    visit.works()
    crash_gpu(visit)
    visit.page.click("#run")
    visit.says("GPU was lost", "Load the model again")
    visit.shot("lost")
    visit.page.click("#notice button")
    visit.works()


def crash_gpu(visit: Visit) -> None:
    """Kill the browser's GPU process, as a driver that fails does."""
    visit.context.browser.new_browser_cdp_session().send("Browser.crashGpuProcess")


def a_crash_in_the_middle_of_calls(visit: Visit) -> None:
    """Every call that is on its way ends: with its result, or with an error."""
    visit.page.goto(f"{visit.site.address}style.css")
    assert "error" not in load_model(visit.page)
    visit.page.evaluate(
        """() => {
          const calls = Array.from({ length: 3000 }, () => model.run({ x: new Float32Array(6) }));
          window.ends = Promise.allSettled(calls);
        }"""
    )
    crash_gpu(visit)
    ends = visit.page.evaluate(
        "async () => (await window.ends).map((each) => each.reason?.code ?? each.status)"
    )
    assert set(ends) == {"fulfilled", "webgpu-lost"}, set(ends)
    assert "error" not in load_model(visit.page)


def calls_on_a_closed_model(visit: Visit) -> None:
    """Calls that are on their way when the GPU goes end with an error, as do those after them."""
    visit.page.goto(f"{visit.site.address}style.css")
    assert "error" not in load_model(visit.page)
    codes = visit.page.evaluate(
        """async () => {
          const x = new Float32Array(6);
          const calls = [model.run({ x }), model.profile({ x }), model.run({ x })];
          model.device.destroy();
          calls.push(model.run({ x }));
          return (await Promise.allSettled(calls)).map((each) => each.reason?.code);
        }"""
    )
    assert codes[1:] == ["webgpu-lost"] * 3, codes
    assert "error" not in load_model(visit.page)
    x = np.ones((2, 3), np.float32)
    assert run_model(visit.page, {"x": x})[0]["y"].shape == (2, 4)


@dataclass(frozen=True)
class Story:
    """A story, and the browser that it needs."""

    act: Callable[[Visit], None]
    flags: tuple[str, ...] = FLAGS

    @property
    def name(self) -> str:
        """Return what it is called."""
        return self.act.__name__.replace("_", "-")


STORIES = (
    Story(progress_result_and_timeline),
    Story(files_of_ones_own),
    Story(_spoilt("damaged", "A file of the model is damaged", "Copy the exported folder")),
    Story(_spoilt("truncated", "A file of the model", "folder")),
    Story(_spoilt("longer", "A file of the model is damaged", "more than")),
    Story(_spoilt("missing", "The server does not have a file", "whole exported folder")),
    Story(a_server_that_stalls),
    Story(a_part_of_the_page_is_missing),
    Story(no_plan),
    Story(opened_as_a_file),
    Story(without_a_network),
    Story(without_webgpu),
    Story(the_gpu_is_lost),
    Story(a_crash_in_the_middle_of_calls),
    Story(calls_on_a_closed_model),
    Story(
        by_http_from_another_machine,
        (*FLAGS, "--host-resolver-rules=MAP elsewhere.test 127.0.0.1"),
    ),
    Story(without_an_adapter, ("--no-sandbox", "--disable-gpu", "--disable-software-rasterizer")),
)
