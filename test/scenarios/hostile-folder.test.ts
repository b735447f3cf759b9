// A hostile folder and the built product: nothing of it runs unasked, approvals are for exactly what was shown, and questions stay few.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { ConfigBench } from "./config-bench.js";
import { scenario } from "./scenario.js";

interface Question {
  readonly server?: string;
  readonly hash: string;
  readonly isChanged: boolean;
  readonly isOutdated?: boolean;
  readonly reasons?: readonly string[];
  readonly files?: readonly { readonly path: string }[];
}

async function questions(bench: ConfigBench, cwd?: string): Promise<readonly Question[]> {
  return JSON.parse((await bench.tenon(["trust", "--json"], {}, cwd)).stdout).questions;
}

/** A program in a folder that is first in PATH, which does what `npx` does with a package that is installed in the folder. */
function withNpx(bench: ConfigBench): Readonly<Record<string, string>> {
  const [program = "", ...args] = bench.greeter().args;
  const words = [process.execPath, program, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  const npx = [
    "#!/bin/sh",
    "prefix=.",
    'if [ "$1" = --prefix ]; then prefix=$2; shift 2; fi',
    'if [ "$1" = --script-shell ]; then shift 2; fi',
    'if [ -x "$prefix/node_modules/.bin/$2" ]; then exec "$prefix/node_modules/.bin/$2"; fi',
    `pwd > '${join(bench.root, "ran-in")}'`,
    `exec ${words}`,
  ].join("\n");
  writeFileSync(bench.put("bin/npx", npx), npx, { mode: 0o755 });
  return { PATH: `${join(bench.root, "bin")}:${process.env["PATH"]}` };
}

scenario(
  ["H302", "H303"],
  "the user's own npx server runs its package, in the session's folder, whatever that folder has installed",
  async () => {
    await using bench = await ConfigBench.open();
    const env = withNpx(bench);
    const { chmodSync } = await import("node:fs");
    chmodSync(join(bench.root, "bin/npx"), 0o755);
    const trap = bench.put("project/node_modules/.bin/some-server", `#!/bin/sh\nexec ${bench.canaryCommand}\n`);
    chmodSync(trap, 0o755);
    bench.put("home/config.json", bench.servers({ own: { command: "npx", args: ["-y", "some-server"] } }));
    const { stdout } = await bench.headless("greet me", env);
    expect(bench.deeds).toEqual([]);
    expect(stdout).toContain("good morning");
    expect(readFileSync(join(bench.root, "ran-in"), "utf8").trim()).toBe(bench.project);
    // The control: the same words of the project itself, approved, run what the project has.
    bench.put("home/config.json", {});
    bench.put("project/.mcp.json", bench.servers({ own: { command: "npx", args: ["-y", "some-server"] } }));
    expect((await bench.tenon(["trust", "approve", "own"], env)).code).toBe(0);
    await bench.headless("greet me", env);
    expect(bench.deeds).toContain("started");
  },
);

scenario(
  ["H304", "H305"],
  "a server that the folder would replace is asked about once for the folder, with the reason; headless it fails with it",
  async () => {
    await using bench = await ConfigBench.open();
    const [program = "", ...args] = bench.greeter().args;
    bench.put(
      "project/server.mjs",
      `process.argv.splice(1, 2, ${JSON.stringify(program)}); await import(${JSON.stringify(program)});\n`,
    );
    const entry = { command: process.execPath, args: ["server.mjs", ".", ...args] };
    bench.put("home/config.json", bench.servers({ own: entry }));
    const headless = await bench.headless("greet me");
    expect(headless.stdout).not.toContain("good morning");
    expect(headless.stderr).toContain('node would run the folder\'s "server.mjs"');
    expect(await questions(bench)).toMatchObject([{ server: "own", reasons: [expect.stringContaining("server.mjs")] }]);

    await using client = await bench.editor({
      permissions: ({ toolCall }) => (toolCall.title?.startsWith("Trust") ? "always" : "allow"),
    });
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: bench.project });
    await client.prompt(sessionId, "greet me");
    const asked = () => client.permissionRequests.filter(({ toolCall }) => toolCall.title?.startsWith("Trust"));
    expect(JSON.stringify(asked()[0]?.toolCall.content)).toContain("because: node would run the folder's");
    expect(client.text(sessionId)).toContain("good morning");
    const next = await client.newSession({ cwd: bench.project });
    await client.prompt(next.sessionId, "greet me");
    expect(asked()).toHaveLength(1);

    // Another content is another program, and another folder another question.
    bench.append("project/server.mjs", "// changed\n");
    expect(await questions(bench)).toMatchObject([{ server: "own", isChanged: true }]);
    expect((await bench.headless("greet me")).stdout).not.toContain("good morning");
    bench.put("other/server.mjs", "");
    expect(await questions(bench, join(bench.root, "other"))).toMatchObject([{ server: "own", isChanged: false }]);
    // A folder without such a file has nothing to ask about, and data arguments never do.
    bench.put(
      "home/config.json",
      bench.servers({ own: { command: process.execPath, args: [program, ".", "./server.mjs"] } }),
    );
    expect(await questions(bench)).toEqual([]);
  },
);

scenario(
  ["H350", "H351"],
  "an approval covers the program's real path and the content of the project's script, and no other project",
  async () => {
    await using bench = await ConfigBench.open();
    const entry = { command: process.execPath, args: ["./mcp/server.mjs"] };
    for (const project of ["project", "other"]) {
      bench.put(`${project}/.mcp.json`, bench.servers({ build: entry }));
      bench.put(`${project}/mcp/server.mjs`, `// ${project}\n`);
    }
    expect((await bench.tenon(["trust", "approve", "build"])).code).toBe(0);
    expect(await questions(bench)).toEqual([]);
    expect(await questions(bench, join(bench.root, "other"))).toMatchObject([{ server: "build", isChanged: false }]);
    const shown = await bench.tenon(["trust"], {}, join(bench.root, "other"));
    expect(shown.stdout).toContain(`covers what is now in: ${join(bench.root, "other/mcp/server.mjs")}`);
    bench.append("project/mcp/server.mjs", "await import('node:fs');\n");
    expect(await questions(bench)).toMatchObject([{ server: "build", isChanged: true }]);
  },
);

scenario(
  ["H352"],
  "an approval in the older form is asked about once more, with the reason; a denial stays",
  async () => {
    await using bench = await ConfigBench.open();
    const entry = bench.canary();
    bench.put("project/.mcp.json", bench.servers({ build: entry, never: bench.canary() }));
    await bench.tenon(["trust", "approve", "build"]);
    await bench.tenon(["trust", "deny", "never"]);
    const before = await import("../../src/base/json/json.js");
    const trust = join(bench.home, "state/trust");
    const { readdirSync, renameSync } = await import("node:fs");
    // As an older version would have written them: bound to the words and the path that was found, and to nothing else.
    for (const name of readdirSync(trust).filter((file) => file.endsWith(".json"))) {
      const record = JSON.parse(readFileSync(join(trust, name), "utf8"));
      const { server, project } = record;
      const hash = before.hashJson({
        v: 1,
        project,
        server,
        written: { command: entry.command, args: entry.args },
        command: process.execPath,
      });
      writeFileSync(join(trust, name), JSON.stringify({ ...record, hash }));
      renameSync(join(trust, name), join(trust, `${name.slice(0, 16)}-${hash}.json`));
    }
    expect(await questions(bench)).toMatchObject([{ server: "build", isOutdated: true, isChanged: false }]);
    expect((await bench.tenon(["trust"])).stdout).toContain("asked again: it was approved before");
    await bench.headless("greet me");
    expect(bench.deeds).toEqual([]);
    expect((await bench.tenon(["trust", "approve", "build"])).code).toBe(0);
    expect(await questions(bench)).toEqual([]);
  },
);

scenario(
  ["H353", "H354"],
  "22,000 servers of a project file are one question about the first 20 and one notice about the rest, within a second",
  async () => {
    await using bench = await ConfigBench.open();
    const many = Object.fromEntries(Array.from({ length: 22_000 }, (_, at) => [`s${at}`, { command: "x" }]));
    bench.put("project/.mcp.json", JSON.stringify(bench.servers(many)));
    const titles: string[] = [];
    await using client = await bench.editor({
      permissions: ({ toolCall }) => {
        titles.push(toolCall.title ?? "");
        return "deny";
      },
    });
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: bench.project });
    await client.prompt(sessionId, "hello");
    expect(titles.filter((title) => title.startsWith("Trust"))).toEqual([
      `Trust 20 entries of the project's ${join(bench.project, ".mcp.json")}?`,
    ]);
    const shown = JSON.stringify(client.permissionRequests[0]?.toolCall.content);
    for (const name of ["s0", "s19"]) expect(shown).toContain(`server \\"${name}\\"`);
    expect(shown).not.toContain("s20");
    const text = JSON.stringify(client.updates(sessionId));
    expect(text).toContain("21980 after these are not loaded");
    expect(text.length).toBeLessThan(20_000);
    expect(existsSync(join(bench.home, "state/trust"))).toBe(false);
  },
);
