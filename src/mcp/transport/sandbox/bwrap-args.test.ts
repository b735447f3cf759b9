// The command line of bubblewrap: always closed, open only where the plan says so.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bwrapArgs, type Mount, type SandboxPlan } from "./mounts.js";

const word = fc.string({ minLength: 1, maxLength: 12 }).map((text) => text.replaceAll("\0", ""));
const path = fc
  .array(fc.constantFrom("a", "b", "--", "-x", "--bind", "c d"), { minLength: 1, maxLength: 3 })
  .map((parts) => `/${parts.join("/")}`);
const mount: fc.Arbitrary<Mount> = fc.oneof(
  fc.record({ kind: fc.constantFrom("empty", "read", "write", "guard", "hidden"), path }),
  fc.record({ kind: fc.constant("link"), path, target: word }),
);
const plan: fc.Arbitrary<SandboxPlan> = fc.record({
  network: fc.boolean(),
  mounts: fc.array(mount, { maxLength: 8 }),
  cwd: path,
  insideEnv: fc.dictionary(fc.constantFrom("LD_PRELOAD", "LD_LIBRARY_PATH"), word),
  hardening: fc.constantFrom([], ["--disable-userns"]),
});

/** How many words follow each option. */
const VALUES: Readonly<Record<string, number>> = {
  "--cap-drop": 1,
  "--tmpfs": 1,
  "--ro-bind": 2,
  "--bind": 2,
  "--symlink": 2,
  "--proc": 1,
  "--dev": 1,
  "--remount-ro": 1,
  "--chdir": 1,
  "--setenv": 2,
};

/** As bubblewrap reads it. */
function parse(args: readonly string[]): { options: [string, ...string[]][]; command: readonly string[] } {
  const options: [string, ...string[]][] = [];
  let at = 0;
  while (at < args.length && args[at] !== "--") {
    const name = args[at] ?? "";
    const count = VALUES[name] ?? 0;
    options.push([name, ...args.slice(at + 1, at + 1 + count)]);
    at += 1 + count;
  }
  return { options, command: args.slice(at + 1) };
}

describe("bwrapArgs", () => {
  it("always unshares processes, mounts and IPC, drops every power and ends with its parent; the network as granted", () => {
    fc.assert(
      fc.property(plan, word, fc.array(word), (given, command, args) => {
        const parsed = parse(bwrapArgs(given, command, args));
        const names = parsed.options.map(([name]) => name);
        expect(names).toEqual(
          expect.arrayContaining([
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--die-with-parent",
          ]),
        );
        expect(parsed.options).toContainEqual(["--cap-drop", "ALL"]);
        expect(names.includes("--unshare-net")).toBe(!given.network);
        expect(names).not.toContain("--share-net");
        expect(names).not.toContain("--dev-bind");
        expect(parsed.command).toEqual([command, ...args]);
      }),
    );
  });

  it("makes writable exactly what the plan does, and the rest of the root read-only after everything is in place", () => {
    fc.assert(
      fc.property(plan, (given) => {
        const { options } = parse(bwrapArgs(given, "node", []));
        const writable = options.filter(([name]) => name === "--bind").map(([, , inside]) => inside ?? "");
        const granted = new Set(given.mounts.flatMap((one) => (one.kind === "write" ? [one.path] : [])));
        for (const inside of writable) expect(granted.has(inside)).toBe(true);
        const closed = options.findIndex(([name]) => name === "--remount-ro");
        const later = options.slice(closed + 1).map(([name]) => name);
        expect(later.every((name) => name === "--chdir" || name === "--setenv")).toBe(true);
        expect(options).toContainEqual(["--ro-bind", "/proc/sys", "/proc/sys"]);
      }),
    );
  });
});
