// Where requests go: what a name was resolved to is what it stays, also for what its server leads on to.
import { expect, test } from "vitest";
import type { HttpPoolOptions } from "../../../base/ports/world.js";
import { FakeWorld } from "../../../testing/index.js";
import { Dialler } from "./dial.js";

const PUBLIC = "93.184.216.34";

/** Its names lead to the internet the first time and into the house from then on. */
class RebindingWorld extends FakeWorld {
  override async lookup(name: string) {
    this.lookups.push(name);
    return [{ address: this.lookups.length === 1 ? PUBLIC : "10.0.0.1", family: 4 as const }];
  }
}

test("a server that had to be public is not resolved anew when it redirects to itself", async () => {
  const world = new RebindingWorld();
  const dialler = new Dialler(world);
  const place = dialler.check("https://rebind.test/mcp", "project");
  const pool = await dialler.resolve(place);
  const next = dialler.check("/moved", "redirect", place);
  expect(next).toMatchObject({ mayBePrivate: false, url: { href: "https://rebind.test/moved" } });
  expect(dialler.known(next)).toBe(pool);
  expect(world.lookups).toEqual(["rebind.test"]);
  dialler.close();
});

test("nor when another server has redirected to it, and it then redirects to itself", async () => {
  const world = new RebindingWorld();
  const dialler = new Dialler(world);
  const typed = dialler.check("https://[2606:4700::1]/mcp", "typed");
  const first = dialler.check("https://rebind.test/a", "redirect", typed);
  await dialler.resolve(first);
  const second = dialler.check("https://rebind.test/b", "redirect", first);
  expect(dialler.known(second)).toBe(dialler.known(first));
  expect(world.lookups).toEqual(["rebind.test"]);
  dialler.close();
});

test("a typed server at a private address may lead back to itself, and a host the user allows may be led to", () => {
  const dialler = new Dialler(new FakeWorld(), ["files.internal"]);
  const typed = dialler.check("https://10.0.0.1/a", "typed");
  expect(dialler.check("/b", "redirect", typed).mayBePrivate).toBe(true);
  const project = dialler.check("https://example.com/", "project");
  expect(dialler.check("http://files.internal/x", "redirect", project).mayBePrivate).toBe(true);
});

test("where nobody is met, the next request asks for the way again, by the same rules and over the same connections", async () => {
  const answers = [["192.0.43.7"], ["192.0.43.8", "10.0.0.1"], ["10.0.0.1"]];
  const pools: HttpPoolOptions[] = [];
  const world = Object.assign(new FakeWorld(), {
    lookup: async () => (answers.shift() ?? []).map((address) => ({ address, family: 4 as const })),
  });
  const { httpPool } = world;
  world.httpPool = (options) => {
    pools.push(options);
    return httpPool.call(world, options);
  };
  const dialler = new Dialler(world);
  const place = dialler.check("https://moving.test/mcp", "project");
  const pool = await dialler.resolve(place);
  dialler.suspect(place);
  expect(dialler.known(place)).toBeUndefined();
  expect(await dialler.resolve(place)).toBe(pool);
  expect(dialler.known(place)).toBe(pool);
  expect(pools).toMatchObject([{ addresses: [{ address: "192.0.43.8" }] }]);
  dialler.suspect(place);
  await expect(dialler.resolve(place)).rejects.toMatchObject({ code: "mcp.url_refused" });
  expect(dialler.known(place)).toBeUndefined();
  dialler.close();
});
