// The version in the code is the version that is published.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { VERSION } from "./version.js";

test("the version named to clients is that of package.json", () => {
  const manifest: { version: string } = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  );
  expect(VERSION).toBe(manifest.version);
});
