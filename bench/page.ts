// `npm run bench -- page`: how long a browser takes until the page shows its sessions, against a static page in the same browser.
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import type { CDPSession, Page } from "playwright-core";
import { ROOT } from "../scripts/lib/run.js";
import { closeListener, listenOnLoopback } from "../src/testing/index.js";
import { DESK, PageStage } from "../test/scenarios/page/stage.js";
import { type CommonOptions, readCommon, runBench } from "./lib/command.js";
import { contest } from "./lib/contest.js";
import { printResult, printTable, say } from "./lib/report.js";
import type { Figures } from "./lib/sample.js";

const USAGE = "usage: npm run bench -- page [--samples N] [--assert]";
const DEFAULT_SAMPLES = 15;
const SESSIONS = 20;
const PROMISES = { firstViewMs: 300, firstViewBytes: 120_000 } as const;
const FOLDER = join(ROOT, "dist/page");

/** The same style and the same rows, as HTML without any script. */
function staticPage(): string {
  const row = '<li><a class="row" href="#"><span class="row-main">a session</span></a></li>';
  const head = '<!doctype html><link rel="stylesheet" href="/style.css"><body><ul class="rows">';
  return `${head}${row.repeat(SESSIONS)}</ul>`;
}

/** Until the rows are painted, with nothing kept from the visit before. */
async function visit(page: Page, wire: CDPSession, address: string, when: string): Promise<Figures> {
  let bytes = 0;
  const onLoaded = ({ encodedDataLength }: { readonly encodedDataLength: number }) => (bytes += encodedDataLength);
  wire.on("Network.loadingFinished", onLoaded);
  await page.goto("about:blank");
  await page.goto(address);
  await page
    .locator(".row")
    .nth(SESSIONS - 1)
    .waitFor();
  const ms = Number(await page.evaluate(when));
  wire.off("Network.loadingFinished", onLoaded);
  return { ms, bytes };
}

const PAINTED = 'performance.getEntriesByName("first-contentful-paint")[0].startTime';
const FIRST_VIEW = 'performance.getEntriesByName("first-view")[0].startTime';

async function main({ samples, isAsserted }: CommonOptions): Promise<void> {
  await using stage = await PageStage.start([]);
  for (let count = 0; count < SESSIONS; count++) await stage.prompt(await stage.newSession(`work-${count}`), "hello");
  const style = readFileSync(join(FOLDER, readdirSync(FOLDER).find((name) => name.endsWith(".css")) ?? ""));
  const server = createServer((request, response) => {
    const isStyle = request.url === "/style.css";
    response.setHeader("content-type", isStyle ? "text/css" : "text/html");
    response.end(isStyle ? style : staticPage());
  });
  const origin = await listenOnLoopback(server);
  try {
    const page = await stage.open(DESK, { name: "bench" });
    const wire = await page.context().newCDPSession(page);
    await wire.send("Network.enable");
    await wire.send("Network.setCacheDisabled", { cacheDisabled: true });
    const results = await contest(
      [
        { name: "static page", sample: () => visit(page, wire, String(origin), PAINTED) },
        { name: "the page", sample: () => visit(page, wire, stage.address, FIRST_VIEW) },
      ],
      samples,
    );
    printTable(
      ["first view", "ms", "x static", "bytes"],
      results.map(({ name, median, ratio }) => {
        return [
          name,
          (median["ms"] ?? 0).toFixed(0),
          (ratio?.["ms"] ?? 1).toFixed(2),
          (median["bytes"] ?? 0).toFixed(0),
        ];
      }),
    );
    const ours = results.find(({ name }) => name === "the page")?.median ?? {};
    const broken = [
      ...((ours["ms"] ?? 0) > PROMISES.firstViewMs ? [`the first view takes ${ours["ms"]} ms`] : []),
      ...((ours["bytes"] ?? 0) > PROMISES.firstViewBytes ? [`the first view takes ${ours["bytes"]} bytes`] : []),
    ];
    for (const line of broken) say(`promise broken: ${line}`);
    printResult({ bench: "page", node: process.version, samples, results, broken });
    if (isAsserted && broken.length > 0) process.exitCode = 1;
  } finally {
    await closeListener(server);
  }
}

await runBench(USAGE, (words) => readCommon(words, DEFAULT_SAMPLES), main);
