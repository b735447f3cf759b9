// How much the page loads before its first view, and how long that takes on loopback.
import { expect } from "vitest";
import { echoTool } from "../../src/testing/index.js";
import { DESK, PageStage } from "./page/stage.js";
import { scenario } from "./scenario.js";

const MAX_BYTES = 120_000;
const MAX_MS = 300;
const VISITS = 5;

scenario(
  ["G699"],
  "the first view takes at most 120 KB compressed and 300 ms on loopback, with nothing kept from an earlier visit",
  async () => {
    await using stage = await PageStage.start([echoTool()]);
    for (const folder of ["one", "two", "three"]) await stage.prompt(await stage.newSession(folder), "hello");
    const page = await stage.open(DESK, { name: "laptop" });
    const wire = await page.context().newCDPSession(page);
    await wire.send("Network.enable");
    await wire.send("Network.setCacheDisabled", { cacheDisabled: true });
    let bytes = 0;
    wire.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
    const visits: { readonly ms: number; readonly bytes: number }[] = [];
    for (let visit = 0; visit < VISITS; visit++) {
      bytes = 0;
      await page.goto("about:blank");
      await page.goto(stage.address);
      await page.locator(".row").nth(2).waitFor();
      const ms = Number(await page.evaluate('performance.getEntriesByName("first-view")[0].startTime'));
      visits.push({ ms, bytes });
    }
    const [best] = visits.toSorted((a, b) => a.ms - b.ms);
    console.log(`first view: ${visits.map(({ ms }) => Math.round(ms)).join(", ")} ms, ${best?.bytes} bytes`);
    expect(Math.max(...visits.map((one) => one.bytes))).toBeLessThanOrEqual(MAX_BYTES);
    expect(best?.bytes).toBeGreaterThan(10_000);
    expect(best?.ms).toBeLessThanOrEqual(MAX_MS); // what else the machine does can only add to it
    expect(stage.faults).toEqual([]);
  },
  { needs: ["chromium"], timeoutMs: 60_000 },
);
