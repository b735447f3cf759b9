// Which scenario files a second Node runs in CI: some always, of the others a third that changes with every commit.
import { createHash } from "node:crypto";

/** What depends on Node itself: how it starts, spawns, ends and speaks to the network. */
const ALWAYS = [
  "start",
  "thin-path",
  "shutdown",
  "process-cycles",
  "sessions",
  "connections",
  "remote",
  "package",
  "demo",
];

const SHARES = 3;

/** `turn` is anything that changes with time. Three turns that follow each other need not run everything; many do. */
export function shareOf(files: readonly string[], turn: string): readonly string[] {
  const chosen = numberOf(turn) % SHARES;
  return files.filter((file) => {
    const name = file.replace(/^.*\//u, "").replace(/\.test\.ts$/u, "");
    return ALWAYS.includes(name) || numberOf(name) % SHARES === chosen;
  });
}

function numberOf(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE(0);
}
