// SPDX-License-Identifier: Apache-2.0
// Makes dist/page.html, one file with everything in it; with --tests also the tests, as plain JavaScript in dist/tests.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const top = dirname(fileURLToPath(import.meta.url));
const read = (...path) => readFileSync(join(top, ...path), "utf8");
const slot = '<script id="invar-data" type="application/json"></script>';

function notices() {
  return ["three", "uplot"]
    .map((name) => {
      const { version } = JSON.parse(read("node_modules", name, "package.json"));
      return `${name} ${version}\n\n${read("node_modules", name, "LICENSE").trim()}\n`;
    })
    .join("\n\n");
}

async function bundle(options) {
  const made = await esbuild.build({ bundle: true, minify: true, write: false, target: "es2022", legalComments: "none", absWorkingDir: top, ...options });
  return made.outputFiles[0].text.trim();
}

async function page() {
  const script = await bundle({ entryPoints: ["src/main.ts"], format: "iife" });
  const style = await bundle({ entryPoints: ["src/style.css"] });
  if (/<\/script|<!--/i.test(script)) throw new Error("the script contains what would end it");
  const hash = createHash("sha256").update(script).digest("base64");
  // No network but the server that the page came from, and no script but this one.
  const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self' ws://127.0.0.1:* ws://localhost:*; base-uri 'none'; form-action 'none'`;
  const parts = { policy, style, script, notices: notices() };
  const html = read("src", "page.html").replace(/@(policy|style|script|notices)@/g, (_, name) => parts[name]);
  if (html.split(slot).length !== 2) throw new Error("the place for the data is not there exactly once");
  mkdirSync(join(top, "dist"), { recursive: true });
  writeFileSync(join(top, "dist", "page.html"), html);
  console.log(`dist/page.html: ${Math.round(html.length / 1000)} kB`);
}

async function tests() {
  rmSync(join(top, "dist", "tests"), { recursive: true, force: true });
  const files = readdirSync(join(top, "tests")).filter((f) => f.endsWith(".test.ts") || f === "bench.ts");
  await esbuild.build({
    entryPoints: files.map((f) => join(top, "tests", f)),
    outdir: join(top, "dist", "tests"),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node18",
    packages: "external",
    absWorkingDir: top,
  });
}

await page();
if (process.argv.includes("--tests")) await tests();
