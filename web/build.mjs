// SPDX-License-Identifier: MIT OR Apache-2.0
/** Builds the files of exported pages into the Python package, or into a folder that is named. */

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "..", "xyntra", "targets", "webgpu", "web");
const sources = join(here, "src");

/** The SHA-256 of all sources: what is built says which it was built from. */
function digest() {
  const hash = createHash("sha256");
  const names = readdirSync(sources, { recursive: true }).map(String).filter((e) => e.endsWith(".ts"));
  for (const name of names.map((each) => each.replaceAll("\\", "/")).sort()) {
    hash.update(`${name}\0`).update(readFileSync(join(sources, name))).update("\0");
  }
  return hash.digest("hex");
}

const entries = {
  "xyntra.js": ["index.ts", "esm"],
  "panels.js": ["page/panels.ts", "esm"],
  "page.js": ["page/main.ts", "esm"],
  "check.js": ["page/check.ts", "iife"],
  "offline.js": ["page/offline.ts", "iife"],
};
const banner = `// SPDX-License-Identifier: MIT OR Apache-2.0
// Built from web/src by web/build.mjs; sources ${digest()}`;

/** Pages import the runtime and each other's parts as files of their own, which are loaded once. */
const shared = {
  name: "shared",
  setup(bundle) {
    const files = { "../index.ts": "./xyntra.js", "./panels.ts": "./panels.js" };
    bundle.onResolve({ filter: /^(\.\.\/index|\.\/panels)\.ts$/ }, ({ path }) => {
      return { path: files[path], external: true };
    });
  },
};

mkdirSync(out, { recursive: true });
for (const [name, [source, format]] of Object.entries(entries)) {
  await build({
    entryPoints: [join(sources, source)],
    outfile: join(out, name),
    bundle: true,
    format,
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    plugins: [shared],
    banner: { js: banner },
    logLevel: "warning",
  });
}
for (const name of readdirSync(join(here, "site"))) copyFileSync(join(here, "site", name), join(out, name));
console.log(`built ${Object.keys(entries).join(", ")} into ${relative(process.cwd(), out) || "."}`);
