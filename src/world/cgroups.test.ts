// Control groups of children: one that this process could not leave again is nobody's, so that ending one child ends no other.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

/** In a process of its own, with a folder in the place of the kernel's: it takes every move but those home while it is busy. */
const SCRIPT = `
  import { createRequire, syncBuiltinESMExports } from "node:module";
  const fs = createRequire(process.cwd() + "/x.js")("node:fs");
  const { readFileSync, writeFileSync } = fs;
  const root = process.env.ROOT, moves = [], ignored = [];
  const tables = { "/proc/self/cgroup": process.env.OWN + "\\n", "/proc/self/mountinfo": "1 1 0:1 / " + root + " rw - " + process.env.MOUNT + "\\n" };
  let isBusy = false;
  fs.readFileSync = (path, ...rest) => tables[path] ?? readFileSync(path, ...rest);
  fs.writeFileSync = (path, ...rest) => {
    if (isBusy && path === root + "/" + process.env.FILE) throw Object.assign(new Error("busy"), { code: "EBUSY" });
    moves.push(path.slice(root.length + 1));
    return writeFileSync(path, ...rest);
  };
  performance.now = () => 0; // a busy machine is no slow kernel
  syncBuiltinESMExports();
  const { startInCgroup } = await import("./src/world/processes.ts");
  const { guardian } = await import("./src/world/guardian.ts");
  guardian.ignoreCgroup = (folder) => ignored.push(folder.slice(root.length + 1));
  const started = (name) => {
    moves.length = 0;
    const { cgroup } = startInCgroup(name, () => name);
    return { group: cgroup?.folder.slice(root.length + 1) ?? "none", moves: [...moves], ignored: [...ignored] };
  };
  const facts = [];
  started("x.0"); // looks for the folder, with a move of its own
  facts.push(started("x.1"));
  isBusy = true;
  facts.push(started("x.2"), started("x.3"));
  isBusy = false;
  facts.push(started("x.4"));
  console.log(JSON.stringify(facts));`;

test.runIf(process.platform === "linux").each([
  { file: "cgroup.procs", own: "0::/", mount: "cgroup2 cgroup2 rw" },
  { file: "tasks", own: "6:freezer:/", mount: "cgroup cgroup rw,freezer" },
])("a group that cannot be left is no child's, and none is made until it is left: $mount", ({ file, own, mount }) => {
  const root = mkdtempSync(join(tmpdir(), "tenon-cgroups-"));
  try {
    writeFileSync(join(root, file), "");
    const text = execFileSync(process.execPath, ["--import", "tsx", "--input-type=module", "-e", SCRIPT], {
      cwd: join(import.meta.dirname, "../.."),
      env: { ...process.env, ROOT: root, FILE: file, OWN: own, MOUNT: mount },
      encoding: "utf8",
    });
    expect(JSON.parse(text)).toEqual([
      { group: "tenon-x.1", moves: [`tenon-x.1/${file}`, file], ignored: [] },
      { group: "none", moves: [`tenon-x.2/${file}`], ignored: ["tenon-x.2"] },
      { group: "none", moves: [], ignored: ["tenon-x.2"] },
      {
        group: "tenon-x.4",
        moves: [file, `tenon-x.4/${file}`, file],
        ignored: ["tenon-x.2"],
      },
    ]);
  } finally {
    rmSync(root, { recursive: true });
  }
});
