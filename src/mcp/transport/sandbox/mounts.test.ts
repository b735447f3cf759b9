// Paths of a sandbox: whatever is asked for, in an order in which nothing hides what was granted, and nothing granted twice.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inOrder, isWithin, type Mount, showsTooMuch, writtenOutside } from "./mounts.js";

const segment = fc.constantFrom("a", "b", "ab", "home", "x");
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => `/${parts.join("/")}`);
const kind = fc.constantFrom("empty", "read", "write", "guard", "hidden");
const mount: fc.Arbitrary<Mount> = fc.record({ kind, path });

describe("the order of mounts", () => {
  it("puts every folder before what lies in it, and each path once", () => {
    fc.assert(
      fc.property(fc.array(mount, { maxLength: 12 }), (mounts) => {
        const ordered = inOrder(mounts).map((one) => one.path);
        expect(new Set(ordered).size).toBe(ordered.length);
        expect(new Set(ordered)).toEqual(new Set(mounts.map((one) => one.path)));
        for (const [at, inner] of ordered.entries()) {
          for (const outer of ordered.slice(at + 1)) expect(isWithin(inner, outer) && inner !== outer).toBe(false);
        }
      }),
    );
  });

  it("keeps what is guarded unwritten and what is hidden unseen, whatever else is said of the path", () => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray(["empty", "read", "write", "guard", "hidden"] as const, { minLength: 1 }),
        (kinds) => {
          const [kept] = inOrder(kinds.map((one): Mount => ({ kind: one, path: "/p" })));
          const strongest = ["hidden", "guard", "write", "read", "empty"].find((one) =>
            kinds.some((given) => given === one),
          );
          expect(kept?.kind).toBe(strongest);
        },
      ),
    );
  });
});

describe("showsTooMuch", () => {
  const homes = ["/home/ada"];

  it.each([
    "/",
    "/home",
    "/home/ada",
    "/home/ada/.config",
    "/home/ada/.local",
    "/home/ada/.ssh",
    "/tmp",
    "/var",
    "/run",
  ])("is true of %s", (folder) => expect(showsTooMuch(folder, homes)).toBe(true));

  it.each(["/home/ada/code", "/home/ada/.nvm", "/home/adam", "/home/bob/code", "/tmp/x", "/srv", "/var/lib/x"])(
    "is not of %s",
    (folder) => expect(showsTooMuch(folder, homes)).toBe(false),
  );

  it("is true of every folder above one it is true of", () => {
    fc.assert(
      fc.property(path, (folder) => {
        const parent = folder.slice(0, folder.lastIndexOf("/")) || "/";
        if (showsTooMuch(folder, ["/home/x"])) expect(showsTooMuch(parent, ["/home/x"])).toBe(true);
      }),
    );
  });
});

it("tells what could be written outside of what was granted, by what a mount shows", () => {
  const mounts: readonly Mount[] = [
    { kind: "read", path: "/" },
    { kind: "write", path: "/home/p/sub" },
    { kind: "write", path: "/home", source: "/cache/kept" },
    { kind: "write", path: "/home" },
    { kind: "write", path: "/home/p", source: "/" },
  ];
  expect(writtenOutside(mounts, ["/home/p", "/cache/kept"])).toEqual(["/home", "/"]);
});
