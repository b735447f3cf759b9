// The sandbox of a server: the stricter word counts, and a project can only tighten.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fakeWorld } from "../../testing/index.js";
import { SANDBOX_MODES, type SandboxEntry } from "../layers/entry.js";
import { tenonPaths } from "../layers/paths.js";
import { loadConfig } from "../load-config.js";
import { leastOfAll, type SandboxOrigin, sandboxOf, stricterMode } from "./spec.js";

const paths = tenonPaths({ TENON_HOME: "/tenon" });
const mode = fc.constantFrom(...SANDBOX_MODES);
const list = fc.array(fc.constantFrom("/a", "~/b", "c"), { maxLength: 2 });
const entry: fc.Arbitrary<SandboxEntry> = fc.record(
  { mode, network: fc.boolean(), read: list, write: list },
  { requiredKeys: ["mode"] },
);
const origin = fc.constantFrom<SandboxOrigin>("user", "project", "client");

describe("sandboxOf", () => {
  it("is never looser in its mode than the entry or the layer's least", () => {
    fc.assert(
      fc.property(entry, origin, entry, (written, whose, least) => {
        const sandbox = sandboxOf(written, whose, { paths, [whose]: least });
        expect(stricterMode(sandbox.mode, written.mode)).toBe(sandbox.mode);
        expect(stricterMode(sandbox.mode, least.mode)).toBe(sandbox.mode);
      }),
    );
  });

  it("grants the network only when somebody grants it and nobody denies it", () => {
    fc.assert(
      fc.property(entry, origin, entry, (written, whose, least) => {
        const { network } = sandboxOf(written, whose, { paths, [whose]: least });
        const words = [written.network, least.network];
        if (network) expect(words).toContain(true);
        if (network) expect(words).not.toContain(false);
      }),
    );
  });

  it("takes no grant from a project where the user wants projects' servers in a sandbox", () => {
    fc.assert(
      fc.property(entry, entry, (written, least) => {
        fc.pre(least.mode !== "off");
        const sandbox = sandboxOf(written, "project", { paths, project: least });
        expect(sandbox.read).toEqual(least.read ?? []);
        expect(sandbox.write).toEqual(least.write ?? []);
        expect(sandbox.network).toBe(least.network === true && written.network !== false);
      }),
    );
  });

  it("takes a word like an object that says only the mode", () => {
    for (const word of SANDBOX_MODES) {
      expect(sandboxOf(word, "user", { paths })).toEqual(sandboxOf({ mode: word }, "user", { paths }));
    }
  });

  it("keeps Tenon's own folders hidden", () => {
    expect(sandboxOf("workspace", "user", { paths }).hidden).toEqual(["/tenon", "/tenon/state", "/tenon/cache"]);
  });

  it("counts as the least of all what no layer is below", () => {
    expect(leastOfAll({ paths, user: { mode: "workspace" }, client: { mode: "read-only" } })).toBe("off");
    const all = { user: { mode: "workspace" }, project: { mode: "read-only" }, client: { mode: "workspace" } } as const;
    expect(leastOfAll({ paths, ...all })).toBe("workspace");
  });
});

describe("a configuration with sandboxes", () => {
  const load = async (user: object, project?: object) => {
    const files = {
      "/tenon/config.json": JSON.stringify(user),
      ...(project ? { "/p/.tenon/config.json": JSON.stringify(project) } : {}),
    };
    return await loadConfig({ world: fakeWorld({ files }), cwd: "/p", env: { TENON_HOME: "/tenon" } });
  };
  const sandboxes = (config: Awaited<ReturnType<typeof load>>) =>
    config.servers.flatMap((server) => (server.status === "ready" ? [server.settings.sandbox] : []));

  it("takes the object form for servers and layers", async () => {
    const grants = { network: true, read: ["~/data"] };
    const config = await load({
      sandbox: { user: { mode: "workspace", write: ["/srv"] } },
      mcpServers: { a: { command: "x", sandbox: { mode: "read-only", ...grants } } },
    });
    expect(config.problems).toEqual([]);
    expect(sandboxes(config)).toMatchObject([{ mode: "read-only", ...grants, write: ["/srv"] }]);
  });

  it.each([
    [{ mode: "readonly" }, 'sandbox.mode must be "off", "workspace" or "read-only"'],
    [{ mode: "workspace", networks: true }, 'unknown key "networks"'],
    [{ network: true }, "sandbox.mode must be"],
    [5, 'sandbox must be "off", "workspace" or "read-only", got 5'],
    [{ mode: "workspace", read: "/x" }, "sandbox.read must be a list"],
  ])("refuses an entry whose sandbox is %j, in words", async (sandbox, words) => {
    const config = await load({ mcpServers: { a: { command: "x", sandbox } } });
    expect(sandboxes(config)).toEqual([]);
    expect(config.problems.map(({ message }) => message).join()).toContain(words);
  });

  it("gives every server the strictest sandbox when the layers' cannot be read", async () => {
    for (const broken of [{ client: "workspce" }, { user: { mode: "off", netwrok: true } }, "workspace"]) {
      const config = await load({ sandbox: broken, mcpServers: { a: { command: "x", sandbox: "off" } } });
      expect(sandboxes(config)).toMatchObject([{ mode: "read-only", network: false }]);
      expect(config.leastSandbox).toBe("read-only");
      expect(JSON.stringify(config.problems)).toContain("until sandbox is corrected");
    }
  });
});
