// Finding out whether this machine has a sandbox: once where it has, each time where it has not, and never on trust.
import { describe, expect, it } from "vitest";
import { FakeChild, type FakeWorld, fakeWorld, type SpawnScript } from "../../../testing/index.js";
import { bubblewrap } from "./bubblewrap.js";

type Try = { readonly code: number; readonly says?: string };

/** Each start of bwrap ends as the next of these says. */
function ending(...tries: readonly Try[]): SpawnScript {
  let count = 0;
  return (request) => {
    const { code, says = "" } = tries[Math.min(count++, tries.length - 1)] ?? { code: 0 };
    const child = new FakeChild(request);
    process.nextTick(() => {
      child.stderr.write(says);
      child.exit(code);
    });
    return child;
  };
}

function machine(spawn: SpawnScript, { at = "/usr/bin/bwrap", PATH = "/usr/bin" } = {}): FakeWorld {
  const world = fakeWorld({ spawn, env: { PATH } });
  world.files.write(at, "", 0o755);
  return world;
}

describe("bubblewrap", () => {
  it("is tried out once, however many ask, in a sandbox without network", async () => {
    const world = machine(ending({ code: 0 }));
    const found = await Promise.all([bubblewrap(world), bubblewrap(world), bubblewrap(world)]);
    expect(await bubblewrap(world)).toBe(found[0]);
    expect(found[0]).toMatchObject({ path: "/usr/bin/bwrap", hardening: ["--disable-userns"] });
    expect(world.children).toHaveLength(1);
    const { args, env } = world.children[0]?.request ?? { args: [], env: {} };
    expect(args).toEqual(expect.arrayContaining(["--unshare-net", "--unshare-pid", "--proc", "--disable-userns"]));
    expect(env).toEqual({});
  });

  it("does without what an older one does not know", async () => {
    const world = machine(ending({ code: 1, says: "bwrap: Unknown option --disable-userns" }, { code: 0 }));
    expect(await bubblewrap(world)).toMatchObject({ hardening: [] });
    expect(world.children).toHaveLength(2);
  });

  it("is refused with its own words where it does not work, and asked again the next time", async () => {
    const says = "bwrap: setting up uid map: Permission denied";
    const world = machine(ending({ code: 1, says }, { code: 1, says }, { code: 0 }));
    await expect(bubblewrap(world)).rejects.toMatchObject({
      code: "mcp.sandbox_unavailable",
      message: expect.stringContaining(says),
      hint: expect.stringContaining("user namespaces"),
    });
    expect(await bubblewrap(world)).toMatchObject({ path: "/usr/bin/bwrap" });
  });

  it("is not waited for for ever", async () => {
    const world = machine((request) => new FakeChild(request, { ignoresEof: true }));
    const refused = bubblewrap(world).catch((error: unknown) => error);
    await world.advance(20_000);
    expect(await refused).toMatchObject({ message: expect.stringContaining("within 5 s") });
    expect(world.children.every((child) => !child.isGroupAlive() && child.isReleased)).toBe(true);
  });

  it("is missing where there is none, and what a project brings along is none", async () => {
    const missing = { code: "mcp.sandbox_unavailable", message: expect.stringContaining("not installed") };
    await expect(bubblewrap(fakeWorld({ env: { PATH: "/usr/bin" } }))).rejects.toMatchObject(missing);
    for (const at of ["/work/node_modules/.bin/bwrap", "bin/bwrap"]) {
      const world = machine(ending({ code: 0 }), { at, PATH: "/work/node_modules/.bin:bin:" });
      await expect(bubblewrap(world)).rejects.toMatchObject(missing);
      expect(world.children).toEqual([]);
    }
    const elsewhere = machine(ending({ code: 0 }), { at: "/opt/tools/bwrap", PATH: "/opt/tools" });
    expect(await bubblewrap(elsewhere)).toMatchObject({ path: "/opt/tools/bwrap" });
  });

  it("is refused on other systems, without starting anything", async () => {
    for (const platform of ["darwin", "win32"] as const) {
      const world = fakeWorld({ platform });
      await expect(bubblewrap(world)).rejects.toMatchObject({
        code: "mcp.sandbox_unavailable",
        message: `not started: its sandbox needs Linux, and this is ${platform}`,
        hint: expect.stringContaining('"sandbox": "off"'),
      });
      expect(world.children).toEqual([]);
    }
  });
});
