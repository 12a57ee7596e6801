// SPDX-License-Identifier: MIT OR Apache-2.0
/** A service worker that answers with the page's files where there is no network. */

const worker = self as unknown as ServiceWorkerGlobalScope;
const NAME = `xyntra page ${worker.registration.scope}`;

worker.addEventListener("install", () => void worker.skipWaiting());
worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));
worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const inside = request.url.startsWith(worker.registration.scope);
  // Files of the model are kept by its runtime, which checks them.
  const own = /\/(plan\.json|kernels-[\w]+\.wgsl|weights\/[\w.]+)$/.test(new URL(request.url).pathname);
  if (request.method === "GET" && inside && !own) event.respondWith(answer(request));
});
worker.addEventListener("message", (event) => {
  const addresses: string[] = event.data?.keep ?? [];
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(addresses)).catch(() => undefined));
});

/** The network first: a page that was exported anew is seen at once. */
async function answer(request: Request): Promise<Response> {
  const cache = await caches.open(NAME);
  try {
    const response = await fetch(request);
    if (response.ok) await cache.put(request, response.clone()).catch(() => undefined);
    return response;
  } catch (error) {
    const kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}
