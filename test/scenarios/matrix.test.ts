// The misbehaviour matrix, one seeded pass: each misbehaviour over each of its transports, in a phase the seed decides.
// All of it, at full size, is `npm run soak -- matrix`. TENON_SEED takes another third.
import { beforeAll, expect } from "vitest";
import { CI_SIZES, type Family, familyOf, seededCells } from "./matrix/cells.js";
import { buildPrograms, faultsOf, runFamily } from "./matrix/matrix.js";
import { agentNode } from "./peers.js";
import { scenario } from "./scenario.js";

const SEED = Number(process.env["TENON_SEED"] ?? 1);

/** In each cell every call ends once, typed and in time; a good server beside it, the event loop and memory are unharmed. */
async function expectUnharmed(family: Family): Promise<void> {
  const cells = seededCells(SEED).filter((cell) => familyOf(cell) === family);
  expect(cells.length).toBeGreaterThan(0);
  const reports = await runFamily(cells, { sizes: CI_SIZES, node: agentNode() });
  expect(reports.flatMap(faultsOf)).toEqual([]);
}

beforeAll(buildPrograms);

scenario(["M11", "E3", "D8"], "servers that crash, hang or cut the connection are unharmful", () =>
  expectUnharmed("process"),
);

scenario(["M11", "M4"], "frames that drip, break off, are torn or are no UTF-8 are unharmful", () =>
  expectUnharmed("frames"),
);

scenario(["M11", "M4"], "lines without end and results of many megabytes are unharmful", () =>
  expectUnharmed("long line"),
);

scenario(["M11", "M6", "E4"], "floods of stderr, progress and list_changed are unharmful", () =>
  expectUnharmed("floods"),
);

scenario(["M11", "M7"], "duplicate, late, unknown and out-of-order replies are unharmful", () => expectUnharmed("ids"));

scenario(["M11", "M6", "M7"], "endless lists, hostile schemas and hostile names are unharmful", () =>
  expectUnharmed("lists"),
);

scenario(["M11", "M5"], "lost sessions, refusals, overload, redirects without end and wrong types are unharmful", () =>
  expectUnharmed("statuses"),
);
