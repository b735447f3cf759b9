// Outputs that are kept as files: compared after what differs from run to run is replaced. `TENON_GOLDEN=update` writes them.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";

const FOLDER = join(import.meta.dirname, "../golden");
const REPOSITORY = join(import.meta.dirname, "../..");

export interface Replacement {
  readonly of: string | RegExp;
  readonly by: string;
}

/** Times, paths of this machine and ports; what a scenario knows besides comes first. */
export function normalised(text: string, replacements: readonly Replacement[] = []): string {
  const all: readonly Replacement[] = [
    ...replacements,
    { of: join(REPOSITORY, ".cache/peers/node_modules"), by: "<peers>" },
    { of: REPOSITORY, by: "<repository>" },
    { of: process.execPath, by: "<node>" },
    { of: /\b\d+ m \d+ s\b|\b\d+(?:\.\d+)? m?s\b/gu, by: "<time>" },
    { of: /127\.0\.0\.1:\d+/gu, by: "127.0.0.1:<port>" },
    { of: /:\d+:\d+(?=\s|$)/gmu, by: ":<place>" },
  ];
  return all.reduce((shown, { of, by }) => shown.replaceAll(of, by), text).replaceAll(/[ \t]+$/gmu, "");
}

export function expectGolden(name: string, text: string): void {
  const file = join(FOLDER, name);
  if (process.env["TENON_GOLDEN"] === "update") {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  expect(text, `differs from test/golden/${name}; TENON_GOLDEN=update rewrites it`).toBe(readFileSync(file, "utf8"));
}
