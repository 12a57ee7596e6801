// SPDX-License-Identifier: MIT OR Apache-2.0
// Built from web/src by web/build.mjs; sources 50e063fe6684d4b25cc366e00dbcf304ffb24dd77eb5c88e7c58e651d1302033
"use strict";
(() => {
  // src/page/offline.ts
  var worker = self;
  var NAME = `xyntra page ${worker.registration.scope}`;
  worker.addEventListener("install", () => void worker.skipWaiting());
  worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));
  worker.addEventListener("fetch", (event) => {
    const { request } = event;
    const inside = request.url.startsWith(worker.registration.scope);
    const own = /\/(plan\.json|kernels-[\w]+\.wgsl|weights\/[\w.]+)$/.test(new URL(request.url).pathname);
    if (request.method === "GET" && inside && !own) event.respondWith(answer(request));
  });
  worker.addEventListener("message", (event) => {
    const addresses = event.data?.keep ?? [];
    event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(addresses)).catch(() => void 0));
  });
  async function answer(request) {
    const cache = await caches.open(NAME);
    try {
      const response = await fetch(request);
      if (response.ok) await cache.put(request, response.clone()).catch(() => void 0);
      return response;
    } catch (error) {
      const kept = await cache.match(request, { ignoreSearch: true });
      if (kept) return kept;
      throw error;
    }
  }
})();
