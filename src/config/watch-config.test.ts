// A watched configuration follows its files, approvals and secrets: once per change, and not at all for what changes nothing.
import { beforeAll, describe, expect, it } from "vitest";
import { type FakeWorld, fakeWorld } from "../testing/index.js";
import { readyServers } from "./effective.js";
import { CONFIG_LIMITS } from "./limits.js";
import type { EffectiveConfig } from "./load-config.js";
import { TrustStore } from "./trust/store.js";
import { type ConfigWatch, SharedConfigs, watchConfig } from "./watch-config.js";

const USER = "/home/me/.config/tenon/config.json";
const SHARED = "/project/.mcp.json";
const TRUST = "/home/me/.local/state/tenon/trust";

/** The schema is loaded with the first file, which takes real time; no fake clock waits for that. */
beforeAll(async () => {
  await import("./layers/schema.js");
});

function worldWith(files: Readonly<Record<string, string>> = {}): FakeWorld {
  return fakeWorld({ env: { HOME: "/home/me", PATH: "/usr/bin" }, files: { "/usr/bin/run": "", ...files } });
}

function servers(...names: readonly string[]): string {
  return JSON.stringify({ mcpServers: Object.fromEntries(names.map((name) => [name, { command: "run" }])) });
}

/** The watch with every configuration it told of. */
async function watching(world: FakeWorld, more: object = {}) {
  const watch = await watchConfig({ world, cwd: "/project", ...more });
  const told: EffectiveConfig[] = [];
  watch.config.subscribe((config) => told.push(config));
  await world.advance(CONFIG_LIMITS.configQuietMs);
  return { watch, told };
}

function names(watch: ConfigWatch): string[] {
  return readyServers(watch.config.value).map(({ name }) => name);
}

/** Lets time pass until something is so; loading takes real turns of the event loop, which no fake clock counts. */
async function passUntil(world: FakeWorld, test: () => boolean): Promise<void> {
  for (let step = 0; step < 500 && !test(); step++) await world.advance(CONFIG_LIMITS.configQuietMs);
}

/** Waits until exactly these servers are ready. */
async function expectNames(world: FakeWorld, watch: ConfigWatch, expected: readonly string[]): Promise<void> {
  await passUntil(world, () => names(watch).join() === expected.join());
  expect(names(watch)).toEqual(expected);
}

async function closed(world: FakeWorld, watch: ConfigWatch): Promise<void> {
  await watch.close();
  expect(world.files.watchCount).toBe(0);
  expect(world.clock.pendingTimers).toBe(0);
}

describe("SharedConfigs", () => {
  it("forgets a load that failed unexpectedly: the next session of the directory loads, and nothing stays open", async () => {
    const world = worldWith({ [USER]: servers("a") });
    const shared = new SharedConfigs();
    let isBroken = true;
    const broken = new Proxy(world, {
      get: (target, key) => {
        if (isBroken && key === "deadline") throw new Error("a bug");
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    await expect(watchConfig({ world: broken, cwd: "/project", shared })).rejects.toThrow("a bug");
    isBroken = false;
    const watch = await watchConfig({ world: broken, cwd: "/project", shared });
    expect(names(watch)).toEqual(["a"]);
    await closed(world, watch);
  });

  it("fetches a refused secret again for every session that has it", async () => {
    const world = worldWith({
      [USER]: JSON.stringify({ mcpServers: { a: { command: "run", env: { K: "!secret" } } } }),
    });
    let value = "old";
    const request = { world, cwd: "/project", shared: new SharedConfigs(), resolveSecret: async () => value };
    const [one, other] = [await watchConfig(request), await watchConfig(request)];
    value = "new";
    await one.refetch(["old"]);
    for (const watch of [one, other]) {
      expect(readyServers(watch.config.value)).toMatchObject([{ spec: { env: { K: "new" } } }]);
    }
    await one.close();
    await closed(world, other);
  });

  it("asks again for a secret that failed when a session is opened, also while a load that has the failure is under way", async () => {
    const env = { BAD: "!bad", SLOW: "!slow" };
    const world = worldWith({ [USER]: JSON.stringify({ mcpServers: { a: { command: "run", env } } }) });
    const asked: string[] = [];
    const slow: (() => void)[] = [];
    const resolveSecret = async (wanted: object) => {
      const text = JSON.stringify(wanted);
      asked.push(text);
      if (text.includes("bad")) throw new Error("no such secret");
      await new Promise<void>((resolve) => slow.push(resolve));
      return "value";
    };
    const request = { world, cwd: "/project", shared: new SharedConfigs(), resolveSecret };
    const first = watchConfig(request);
    await expect.poll(() => asked).toHaveLength(2);
    const second = watchConfig(request); // time stands still, so the load that it could join waits for the slow one
    await expect.poll(() => asked.slice(2)).toEqual([expect.stringContaining("bad")]);
    for (const go of slow) go();
    for (const watch of [await first, await second]) await watch.close();
  });

  it("reads, watches and fetches secrets once for all sessions of a directory", async () => {
    const world = worldWith({
      [USER]: JSON.stringify({ mcpServers: { a: { command: "run", env: { K: "!secret" } } } }),
    });
    const shared = new SharedConfigs();
    const commands: string[] = [];
    const resolveSecret = async () => {
      commands.push("secret");
      return await Promise.resolve("value");
    };
    const reads: string[] = [];
    const { readText } = world.files;
    world.files.readText = async (path) => {
      reads.push(path);
      return await readText.call(world.files, path);
    };
    const request = { world, cwd: "/project", shared, resolveSecret };
    const clientServers = [{ kind: "stdio", name: "c", command: "run", args: [], env: {} }] as const;
    const one = await watchConfig(request);
    const watched = world.files.watchCount;
    const other = await watchConfig({ ...request, clientServers });
    expect(names(one)).toEqual(["a"]);
    expect(names(other)).toEqual(["c", "a"]);
    expect(reads.filter((path) => path === USER)).toHaveLength(1);
    expect(commands).toHaveLength(1);
    expect(world.files.watchCount).toBe(watched);
    await one.close();
    await world.files.saveText(USER, servers("b"));
    await expectNames(world, other, ["c", "b"]);
    expect(names(one)).toEqual(["a"]);
    await closed(world, other);
  });
});

describe("watchConfig", () => {
  it("has the configuration at once, and follows files that appear, change and vanish", async () => {
    const world = worldWith();
    const { watch, told } = await watching(world);
    expect(names(watch)).toEqual([]);
    world.files.write(USER, servers("a"));
    await expectNames(world, watch, ["a"]);
    world.files.write(USER, servers("a", "b"));
    await expectNames(world, watch, ["a", "b"]);
    await world.files.remove(USER);
    await expectNames(world, watch, []);
    expect(told).toHaveLength(3);
    await closed(world, watch);
  });

  it("loads once for what comes close together, and tells nothing when nothing changed", async () => {
    const world = worldWith({ [USER]: servers("a") });
    const { watch, told } = await watching(world);
    for (const name of ["b", "c", "d"]) {
      world.files.write(USER, servers(name));
      await world.advance(CONFIG_LIMITS.configQuietMs / 2);
    }
    expect(told).toEqual([]);
    await expectNames(world, watch, ["d"]);
    expect(told).toHaveLength(1);
    world.files.write(USER, servers("d"));
    await world.advance(CONFIG_LIMITS.configQuietMs);
    expect(told).toHaveLength(1);
    await closed(world, watch);
  });

  it("applies an approval that was given elsewhere", async () => {
    const world = worldWith({ [SHARED]: servers("it") });
    const { watch } = await watching(world);
    const [question] = watch.config.value.questions;
    if (!question) throw new Error("no question");
    await new TrustStore(world, TRUST).approve(question);
    await expectNames(world, watch, ["it"]);
    await new TrustStore(world, TRUST).revoke("/project");
    await expectNames(world, watch, []);
    await closed(world, watch);
  });

  it("makes an approved entry inert the moment it changes", async () => {
    const world = worldWith({ [SHARED]: servers("it") });
    const { watch } = await watching(world);
    for (const question of watch.config.value.questions) await new TrustStore(world, TRUST).approve(question);
    expect(readyServers(await watch.reload())).toHaveLength(1);
    world.files.write(SHARED, '{"mcpServers": {"it": {"command": "run", "args": ["evil"]}}}');
    await expectNames(world, watch, []);
    expect(watch.config.value).toMatchObject({ servers: [{ status: "untrusted" }], questions: [{ isChanged: true }] });
    await closed(world, watch);
  });

  it("takes other servers of the client", async () => {
    const world = worldWith();
    const { watch } = await watching(world);
    const spec = { kind: "stdio", name: "c", command: "x", args: [], env: {} } as const;
    expect(readyServers(await watch.reload({ clientServers: [spec] }))).toMatchObject([{ name: "c", spec }]);
    world.files.write(USER, servers("a"));
    await expectNames(world, watch, ["c", "a"]);
    await closed(world, watch);
  });

  it("follows a file that is a link by its target too", async () => {
    const world = worldWith({ "/dotfiles/tenon.json": servers("a") });
    world.files.link(USER, "/dotfiles/tenon.json");
    const { watch } = await watching(world);
    world.files.write("/dotfiles/tenon.json", servers("b"));
    await expectNames(world, watch, ["b"]);
    await closed(world, watch);
  });

  it("lets nobody wait for a slow secret, and brings its server when it has come", async () => {
    const slow = '{"mcpServers": {"quick": {"command": "run"}, "slow": {"command": "run", "env": {"T": "!ask"}}}}';
    const world = worldWith({ [USER]: slow });
    let answer: (value: string) => void = () => {};
    let asked = 0;
    const resolveSecret = () => {
      asked++;
      return new Promise<string>((resolve) => (answer = resolve));
    };
    const starting = watchConfig({ world, cwd: "/project", resolveSecret });
    await world.advance(CONFIG_LIMITS.secretPatienceMs);
    const watch = await starting;
    expect(names(watch)).toEqual(["quick"]);
    expect(watch.config.value.servers[1]).toMatchObject({ status: "disabled", isWaiting: true });
    answer("value");
    await expectNames(world, watch, ["quick", "slow"]);
    world.files.write(USER, `${slow}\n`);
    await world.advance(CONFIG_LIMITS.configQuietMs);
    expect(asked).toBe(1);
    await closed(world, watch);
  });

  it("does not ask again and again for a secret that cannot be had", async () => {
    const world = worldWith({ [USER]: '{"mcpServers": {"it": {"command": "run", "env": {"T": "!ask"}}}}' });
    let asked = 0;
    const resolveSecret = (): Promise<string> => {
      asked++;
      return new Promise((_resolve, reject) =>
        world.after(2 * CONFIG_LIMITS.secretPatienceMs, () => reject(new Error("no"))),
      );
    };
    const starting = watchConfig({ world, cwd: "/project", resolveSecret });
    await world.advance(CONFIG_LIMITS.secretPatienceMs);
    const watch = await starting;
    await passUntil(world, () => JSON.stringify(watch.config.value).includes('"isWaiting":false'));
    await world.advance(20 * CONFIG_LIMITS.secretPatienceMs);
    expect(asked).toBe(1);
    expect(watch.config.value.servers).toMatchObject([{ isWaiting: false, reason: expect.stringContaining("no") }]);
    world.files.write(USER, `${world.files.text(USER)}\n`);
    await passUntil(world, () => asked > 1);
    await world.advance(20 * CONFIG_LIMITS.secretPatienceMs);
    expect(asked).toBe(2);
    await closed(world, watch);
  });

  it("does nothing any more once it is closed", async () => {
    const world = worldWith({ [USER]: servers("a") });
    const { watch, told } = await watching(world);
    world.files.write(USER, servers("b"));
    await closed(world, watch);
    world.files.write(USER, servers("c"));
    await world.advance(1_000);
    expect(told).toEqual([]);
    expect(names(watch)).toEqual(["a"]);
  });
});
