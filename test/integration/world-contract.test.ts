// The fake World is no kinder than the real one: the same clauses hold for both.
import { mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeChild, FakeWorld } from "../../src/testing/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { scenario } from "../scenarios/scenario.js";
import { type Clause, CONTRACT, type ContractPlace } from "../scenarios/world-contract.js";

const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

async function onReal(clause: Clause): Promise<void> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "tenon-contract-")));
  const world = nodeWorld({ env: {}, log: QUIET });
  const lines = { "exit 3": "exit 3", cat: "cat", print: "echo printed" } as const;
  const place: ContractPlace = {
    world,
    root,
    link: (path, target) => symlinkSync(target, path),
    shell: (line) =>
      world.spawn({ command: "/bin/sh", args: ["-c", lines[line]], env: { PATH: "/usr/bin:/bin" }, cwd: root }),
    pass: async (ms) => {
      await new Promise<void>((resolve) => setTimeout(resolve, ms));
    },
  };
  try {
    await clause(place);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function onFake(clause: Clause): Promise<void> {
  const world = new FakeWorld({
    folders: ["/root"],
    spawn: (request) => {
      const [line] = request.args;
      if (request.command !== "shell") return undefined;
      const child = new FakeChild(request, { ignoresEof: line !== "cat" });
      world.soon(() => {
        if (line === "print") child.stdout.write("printed\n");
        if (line !== "cat") child.exit(line === "exit 3" ? 3 : 0);
      });
      return child;
    },
  });
  await clause({
    world,
    root: "/root",
    link: (path, target) => world.files.link(path, target),
    shell: (line) => world.spawn({ command: "shell", args: [line], env: {}, cwd: "/root" }),
    pass: (ms) => world.advance(ms),
  });
}

for (const [name, clause] of Object.entries(CONTRACT)) {
  scenario(["H152"], `real World: ${name}`, () => onReal(clause), { platform: "linux" });
  scenario(["H152"], `fake World: ${name}`, () => onFake(clause));
}
