// SPDX-License-Identifier: MIT OR Apache-2.0
// Built from web/src by web/build.mjs; sources 4acf9329e302baf3f0ea227a56c4425c7b44b5a7576d08a0aedd749649c244d1
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
