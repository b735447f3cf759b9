// `import` keeps other clients' servers live: a layer below the user's own, and in projects as untrusted as any project's.
import { describe, expect, it } from "vitest";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import { readyServers } from "../effective.js";
import { problemText } from "../layers/read-layer.js";
import { type EffectiveConfig, loadConfig } from "../load-config.js";
import { TrustStore } from "../trust/store.js";
import { watchConfig } from "../watch-config.js";

const USER = "/home/me/.config/tenon/config.json";
const CURSOR = "/home/me/.cursor/mcp.json";
const DESKTOP = "/home/me/.config/Claude/claude_desktop_config.json";
const ENV = { HOME: "/home/me", PATH: "/usr/bin" };

function worldWith(files: Readonly<Record<string, unknown>>): FakeWorld {
  const texts = Object.entries(files).map(([path, value]) => [
    path,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return fakeWorld({ env: ENV, files: { "/usr/bin/run": "", ...Object.fromEntries(texts) } });
}

function servers(...names: readonly string[]): { mcpServers: Record<string, unknown> } {
  return { mcpServers: Object.fromEntries(names.map((name) => [name, { command: "run", args: [name] }])) };
}

async function load(world: FakeWorld): Promise<EffectiveConfig> {
  return await loadConfig({ world, cwd: "/project" });
}

function standing(config: EffectiveConfig): string[] {
  return config.servers.map(({ name, status, place }) => `${name} ${status} ${place.client ?? place.layer}`);
}

describe("imported servers", () => {
  it("join only where the user says so, below the user's own and without a word about those", async () => {
    const files = { [CURSOR]: servers("a", "b"), [DESKTOP]: servers("c") };
    expect(standing(await load(worldWith({ ...files, [USER]: servers("b") })))).toEqual(["b ready user"]);
    const config = await load(worldWith({ ...files, [USER]: { ...servers("b"), import: ["cursor"] } }));
    expect(standing(config)).toEqual(["b ready user", "b shadowed cursor", "a ready cursor"]);
    expect(config.notices).toEqual([]);
    expect(config.problems).toEqual([]);
    const [, a] = readyServers(config);
    expect(a?.settings.origin).toBe("user");
    expect(a?.place).toEqual({ layer: "user", file: CURSOR, client: "cursor" });
  });

  it("of two clients come from the one named first; another entry of that name is told of, the same one is not", async () => {
    const other = { mcpServers: { a: { command: "run", args: ["other"] }, b: { command: "run", args: ["b"] } } };
    const files = { [USER]: { import: ["claude-desktop", "cursor"] }, [CURSOR]: servers("a", "b"), [DESKTOP]: other };
    const config = await load(worldWith(files));
    expect(standing(config)).toEqual([
      "a ready claude-desktop",
      "a shadowed cursor",
      "b ready claude-desktop",
      "b shadowed cursor",
    ]);
    expect(config.notices).toMatchObject([{ server: "a" }]);
  });

  it("that cannot be used are told of with their place, unless the user has written them out", async () => {
    const cursor = {
      mcpServers: { bad: { command: "run", args: ["${config:x}"] }, fixed: 1, good: { command: "run" } },
    };
    const config = await load(worldWith({ [USER]: { ...servers("fixed"), import: ["cursor"] }, [CURSOR]: cursor }));
    expect(standing(config)).toEqual(["fixed ready user", "good ready cursor", "bad invalid cursor"]);
    expect(config.problems.map(problemText)).toEqual([
      `${CURSOR}:1:16: server "bad": args[0]: \${config:x} is filled in by that client only`,
    ]);
  });

  it("of a project's files wait for approval, bound to exactly their words", async () => {
    const file = "/project/.vscode/mcp.json";
    const entry = (args: readonly string[]) => ({ servers: { it: { command: "run", args } } });
    const world = worldWith({ [USER]: { import: ["vscode"] }, [file]: entry(["${workspaceFolder}"]) });
    const first = await load(world);
    expect(standing(first)).toEqual(["it untrusted vscode"]);
    expect(first.questions).toMatchObject([{ server: "it", written: { command: "run", args: ["."] } }]);
    const store = new TrustStore(world, "/home/me/.local/state/tenon/trust");
    for (const question of first.questions) await store.approve(question);
    const approved = await load(world);
    expect(standing(approved)).toEqual(["it ready vscode"]);
    expect(readyServers(approved)[0]?.settings.origin).toBe("project");
    world.files.write(file, JSON.stringify(entry(["${workspaceFolder}", "more"])));
    expect(standing(await load(world))).toEqual(["it untrusted vscode"]);
  });

  it("of a project are weaker than its own files, and not read at all where projects are ignored", async () => {
    const files = { "/project/.cursor/mcp.json": servers("it"), "/project/.mcp.json": servers("it") };
    const config = await load(worldWith({ ...files, [USER]: { import: ["cursor"] } }));
    expect(standing(config)).toEqual(["it shadowed cursor", "it untrusted project"]);
    const ignored = { import: ["cursor"], trust: { projects: "ignore" } };
    expect(standing(await load(worldWith({ ...files, [USER]: ignored })))).toEqual([]);
  });

  it("of a link that leads out of the project are not read", async () => {
    const world = worldWith({ [USER]: { import: ["cursor"] }, "/elsewhere/mcp.json": servers("it") });
    world.files.link("/project/.cursor/mcp.json", "/elsewhere/mcp.json");
    const { servers: found, problems } = await load(world);
    expect(found).toEqual([]);
    expect(problems).toMatchObject([{ message: expect.stringContaining("leads out of the project") }]);
  });

  it("of the home are the user's own, also where the home is the project", async () => {
    const world = worldWith({ [USER]: { import: ["cursor"] }, [CURSOR]: servers("it") });
    const config = await loadConfig({ world, cwd: "/home/me" });
    expect(standing(config)).toEqual(["it ready cursor"]);
  });

  it("cannot be asked for by a project", async () => {
    const world = worldWith({ "/project/.tenon/config.json": { import: ["cursor"] }, [CURSOR]: servers("it") });
    const config = await load(world);
    expect(config.servers).toEqual([]);
    expect(config.problems).toHaveLength(1);
  });

  it("do not change with what their client writes beside them", async () => {
    const world = worldWith({ [USER]: { import: ["claude-code"] } });
    const write = (count: number) =>
      world.files.write("/home/me/.claude.json", `${"\n".repeat(count)}${JSON.stringify({ count, ...servers("it") })}`);
    write(1);
    const before = JSON.stringify(await load(world));
    write(20);
    expect(JSON.stringify(await load(world))).toBe(before);
  });

  it("follow their file while a session runs", async () => {
    const world = worldWith({ [USER]: { import: ["cursor"] } });
    await using watch = await watchConfig({ world, cwd: "/project" });
    expect(watch.config.value.watched).toContain(CURSOR);
    const changed = watch.config.until(({ servers: found }) => found.length > 0, new AbortController().signal);
    world.files.write(CURSOR, JSON.stringify(servers("late")));
    await world.advance(1_000);
    expect(standing(await changed)).toEqual(["late ready cursor"]);
  });
});
