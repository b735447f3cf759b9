// Servers in a sandbox as people use them: real ones in full, every way to end them, and what is downloaded at the start.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { TemporaryFolder } from "./agent.js";
import { PACKAGE, PackageRegistry } from "./package-registry.js";
import { runCycle, SERVER_KINDS } from "./process-cycle.js";
import { EVERYTHING, program, stdioSpec } from "./real-server.js";
import { expectEverything, expectFilesystem, expectMemory } from "./real-server-checks.js";
import { CANARY, SandboxedProbe } from "./sandboxed-probe.js";
import { scenario } from "./scenario.js";

const needs = { needs: ["bwrap"], platform: "linux" } as const;
const WORKSPACE = { mode: "workspace", network: false } as const;

scenario(
  ["X5"],
  "server-everything works in full in both sandboxes, without network",
  async () => {
    for (const mode of ["workspace", "read-only"] as const) {
      await expectEverything(stdioSpec("everything", [program(EVERYTHING), "stdio"], {}, { mode, network: false }));
    }
  },
  needs,
);

scenario(["X5"], "server-filesystem works in the workspace sandbox", () => expectFilesystem(WORKSPACE), needs);

scenario(["X5"], "server-memory works in the workspace sandbox", () => expectMemory(WORKSPACE), needs);

/** A script in the session's directory cannot make visible what it starts: for npx that is granted. */
const read = ["../../node_modules", "../../src/testing/kit/mcp-server"].map((path) => join(import.meta.dirname, path));

for (const kind of SERVER_KINDS) {
  for (const end of ["close", "SIGKILL"] as const) {
    scenario(
      ["X9"],
      `${kind}, ended by ${end}: nothing of it is left, in a sandbox`,
      async () => {
        const cycle = await runCycle(kind, end, { sandbox: { client: { mode: "workspace", read } } });
        expect(cycle.left).toEqual([]);
        expect(cycle.processes).toBeGreaterThan(3); // the guardian, two that hold it, the server itself
        expect(cycle.leftMs).toBeLessThan(cycle.allowedMs * 4);
      },
      needs,
    );
  }
}

/** Ignores the end of its input, and takes its time when it is asked to end. */
const TIDY = `
process.on("SIGTERM", () => setTimeout(() => {
  fs.writeFileSync("tidied.txt", "yes");
  process.exit(0);
}, 100));
setInterval(() => {}, 1000);`;

scenario(
  ["X9"],
  "a server that does not end with its input gets SIGTERM, and the time to tidy up",
  async () => {
    await using probe = await SandboxedProbe.start(WORKSPACE);
    await probe.run(`globalThis.fs = await load("node:fs"); ${TIDY}`);
    await probe.end();
    expect(readFileSync(join(probe.project, "tidied.txt"), "utf8")).toBe("yes");
  },
  needs,
);

/** Stands for npx: runs the probe, and keeps count of its starts in its home. */
const RUNNER = (program: string) => `#!/bin/sh
echo started >> "$HOME/.npm-count"
exec ${process.execPath} ${program}
`;

function fakeNpx(folder: TemporaryFolder): string {
  const path = join(folder.path, "bin/npx");
  mkdirSync(join(folder.path, "bin"));
  writeFileSync(path, RUNNER(join(import.meta.dirname, "../fixtures/probe-server.mjs")));
  chmodSync(path, 0o755);
  return path;
}

scenario(
  ["X10"],
  "what downloads its server is refused without network, and has a home that lasts with it",
  async () => {
    using folder = new TemporaryFolder();
    const command = fakeNpx(folder);
    const args = ["-y", "@scope/some-server@1.2.3"];
    const refused = SandboxedProbe.start(WORKSPACE, { command, args });
    await expect(refused).rejects.toMatchObject({
      code: "mcp.sandbox_unavailable",
      message: expect.stringContaining("npx downloads what it runs, and its sandbox has no network"),
      hint: expect.stringContaining('"network": true'),
    });
    const container = SandboxedProbe.start(WORKSPACE, { command: "docker", args: ["run", "x"] });
    await expect(container).rejects.toMatchObject({
      code: "mcp.sandbox_unavailable",
      message: expect.stringContaining("starts its server outside of any sandbox"),
    });

    const cacheDir = join(folder.path, "cache");
    const read = [join(import.meta.dirname, "../fixtures")];
    const sandbox = { mode: "read-only", network: true, read, cacheDir } as const;
    await using probe = await SandboxedProbe.start(sandbox, { command, args });
    await probe.end();
    await probe.again();
    expect(JSON.parse(await probe.read(join(probe.home, ".npm-count")))).toBe("started\nstarted\n");
    expect(existsSync(join(probe.home, ".npm-count"))).toBe(false);
    expect(readdirSync(cacheDir)).toHaveLength(1);
    await using other = await SandboxedProbe.start(
      { mode: "read-only", network: true, read, cacheDir },
      { command, args: ["-y", "another"] },
    );
    expect(JSON.parse(await other.read(join(other.home, ".npm-count")))).toBe("started\n");
  },
  needs,
);

scenario(
  ["X10"],
  "what npx runs is downloaded once, in a sandbox with nothing of the person's in it, and then runs without network",
  async () => {
    using folder = new TemporaryFolder();
    await using registry = await PackageRegistry.start();
    const sandbox = { ...WORKSPACE, cacheDir: join(folder.path, "cache") };
    const env = { npm_config_registry: registry.url, OWN: "for the server only" };
    const extra = { command: "npx", args: ["-y", PACKAGE], env };
    await using probe = await SandboxedProbe.start(sandbox, extra);
    expect(registry.requests).toContain("/package.tgz");
    const connect = `const net = await load("node:net"); const url = new URL(${JSON.stringify(registry.url)});
      return await new Promise((resolve, reject) => net.connect(Number(url.port), url.hostname, resolve).on("error", reject));`;
    expect(await probe.run(connect)).toBe("failed: ECONNREFUSED");
    expect(await probe.write(join(probe.project, "made.txt"))).toBe('"written"');

    const read =
      'const fs = await load("node:fs"); return JSON.parse(fs.readFileSync(fs.realpathSync(process.argv[1]).replace(/[^/]*$/u, "seen.json"), "utf8"));';
    const seen = await probe.run(read);
    expect(JSON.parse(seen)).toMatchObject({ env: { HOME: probe.home, npm_config_registry: expect.any(String) } });
    for (const hidden of [CANARY, "for the server only", ".ssh"]) expect(seen).not.toContain(hidden);
    await probe.end();

    const before = registry.requests.length;
    await probe.again();
    expect(await probe.write(join(probe.project, "more.txt"))).toBe('"written"');
    expect(registry.requests).toHaveLength(before);
    const gone = SandboxedProbe.start(sandbox, { ...extra, args: ["-y", "no-such-package"] });
    await expect(gone).rejects.toMatchObject({ code: "mcp.spawn_failed", message: expect.stringContaining("404") });
  },
  needs,
);
