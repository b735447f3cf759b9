// `npm ci` must work on every platform, also when the lockfile was written where a registry lacks other platforms' packages.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Lockfile {
  readonly packages: Readonly<
    Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>>; readonly resolved?: string }>
  >;
}

test.each([
  "package-lock.json",
  "scripts/peers/package-lock.json",
  "scripts/conformance/package-lock.json",
  "scripts/servers/package-lock.json",
])("%s names every optional package and no registry", (path) => {
  const lock: Lockfile = JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), "utf8"));
  const missing = Object.entries(lock.packages)
    .filter(([place]) => place !== "")
    .flatMap(([place, entry]) =>
      Object.keys(entry.optionalDependencies ?? {}).filter(
        (name) => !(`node_modules/${name}` in lock.packages) && !(`${place}/node_modules/${name}` in lock.packages),
      ),
    );
  expect(missing, "npm run build completes it (scripts/prepare.mjs)").toEqual([]);
  expect(Object.values(lock.packages).flatMap(({ resolved }) => (resolved === undefined ? [] : [resolved]))).toEqual(
    [],
  );
});
