// The project's lock as part of the configuration: read, watched, told of when it is broken, written without harm to the rest.
import { describe, expect, it } from "vitest";
import { fakeWorld } from "../testing/index.js";
import { lockTools, type ToolDefinition } from "../tools/index.js";
import { writeToolsLock } from "./collect-layers.js";
import { problemText } from "./layers/read-layer.js";
import { loadConfig } from "./load-config.js";

const LOCK = "/project/.tenon/tools.lock";
const USER = "/home/me/.config/tenon/config.json";
const READ: ToolDefinition = { name: "read", description: "Reads", inputSchema: { type: "object" } };

function worldWith(files: Readonly<Record<string, string>>): ReturnType<typeof fakeWorld> {
  return fakeWorld({ env: { HOME: "/home/me" }, files: { "/project/readme": "", ...files } });
}

describe("the lock of tool definitions", () => {
  it("is written, read and watched, the servers of others staying in it", async () => {
    const world = worldWith({});
    expect((await loadConfig({ world, cwd: "/project" })).toolsLock).toBeUndefined();
    expect(await writeToolsLock(world, "/project", { a: lockTools([READ]) })).toBe(LOCK);
    await writeToolsLock(world, "/project", { b: lockTools([]) });
    const config = await loadConfig({ world, cwd: "/project" });
    expect(Object.keys(config.toolsLock?.servers ?? {})).toEqual(["a", "b"]);
    expect(config.toolsLock?.servers["a"]?.["read"]?.hash).toMatch(/^[0-9a-f]{64}$/u);
    expect(config.watched).toContain(LOCK);
    expect(config.problems).toEqual([]);
  });

  it("changes the configuration with its text, since the session follows that", async () => {
    const world = worldWith({});
    await writeToolsLock(world, "/project", { a: lockTools([READ]) });
    const before = JSON.stringify(await loadConfig({ world, cwd: "/project" }));
    await writeToolsLock(world, "/project", { a: lockTools([{ ...READ, title: "Read" }]) });
    expect(JSON.stringify(await loadConfig({ world, cwd: "/project" }))).not.toBe(before);
  });

  it("that cannot be read is told of with what follows, and written anew", async () => {
    const world = worldWith({ [LOCK]: '{"version":1,"servers":{"a":1}}' });
    const spoilt = await loadConfig({ world, cwd: "/project" });
    expect(spoilt.problems.map(problemText)).toEqual([
      `${LOCK}: server "a": what it says cannot be read: none of its tools is used; tenon mcp lock a writes it anew`,
    ]);
    world.files.write(LOCK, "<<<<<<< HEAD");
    const broken = await loadConfig({ world, cwd: "/project" });
    expect(broken.toolsLock?.problem).toContain("no JSON");
    expect(broken.problems).toMatchObject([
      { severity: "error", message: expect.stringContaining("no tool of an MCP") },
    ]);
    await writeToolsLock(world, "/project", { a: lockTools([READ]) });
    expect((await loadConfig({ world, cwd: "/project" })).problems).toEqual([]);
  });

  it("outside the project is neither read as a lock nor written", async () => {
    const world = worldWith({ "/elsewhere/tools.lock": "{}" });
    world.files.link(LOCK, "/elsewhere/tools.lock");
    expect((await loadConfig({ world, cwd: "/project" })).toolsLock?.problem).toContain("leads out of the project");
    await expect(writeToolsLock(world, "/project", {})).rejects.toThrow("leads out of the project");
    expect(await world.files.readText("/elsewhere/tools.lock")).toBe("{}");
  });

  it("is not looked at where projects' files are ignored", async () => {
    const world = worldWith({ [LOCK]: "x", [USER]: JSON.stringify({ trust: { projects: "ignore" } }) });
    const config = await loadConfig({ world, cwd: "/project" });
    expect(config.toolsLock).toBeUndefined();
    expect(config.watched).not.toContain(LOCK);
  });
});
