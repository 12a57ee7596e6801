// SPDX-License-Identifier: MIT OR Apache-2.0
// Built from web/src by web/build.mjs; sources 50e063fe6684d4b25cc366e00dbcf304ffb24dd77eb5c88e7c58e651d1302033
"use strict";
(() => {
  // src/page/check.ts
  var notice = (title, hint) => {
    const panel = document.getElementById("notice");
    if (!panel) return;
    const [head, text] = [document.createElement("h2"), document.createElement("p")];
    head.textContent = title;
    text.textContent = hint;
    panel.replaceChildren(head, text);
    panel.hidden = false;
    for (const each of document.querySelectorAll("[data-needs-model]")) {
      each.hidden = true;
    }
  };
  document.addEventListener("DOMContentLoaded", () => {
    if (location.protocol === "file:") {
      notice(
        "This page was opened as a file",
        "Browsers do not let such a page fetch the model that lies beside it. Serve the folder and open the address that is printed: python -m http.server --directory FOLDER"
      );
    }
  });
  addEventListener("error", (event) => {
    const script = event.target;
    if (script?.tagName !== "SCRIPT" || location.protocol === "file:") return;
    notice(
      "A part of this page could not be loaded",
      `Copy the whole exported folder to the server: ${script.src} is missing, or the network is.`
    );
  }, true);
})();
