// The attack matrix: launchers x traps, grants x wider actions, modes x protected paths, secrets x sinks. Each cell is one scenario.
import { expect } from "vitest";
import type { AttackCell } from "./attacks/cell.js";
import { GRANT_CELLS } from "./attacks/grants.js";
import { LAUNCHER_CELLS } from "./attacks/launchers.js";
import { PROTECTED_PATH_CELLS } from "./attacks/protected-paths.js";
import { SECRET_CELLS } from "./attacks/secrets.js";
import { scenario } from "./scenario.js";

const name = ({ row, column }: AttackCell): string => `${row} x ${column}`;

for (const cell of LAUNCHER_CELLS) scenario(["H300"], `launchers: ${name(cell)}`, () => cell.run());
for (const cell of GRANT_CELLS) scenario(["H400"], `grants: ${name(cell)}`, () => cell.run());
for (const cell of PROTECTED_PATH_CELLS) scenario(["H450"], `protected paths: ${name(cell)}`, () => cell.run());
for (const cell of SECRET_CELLS) scenario(["H500"], `secrets: ${name(cell)}`, () => cell.run());

scenario(["H301"], "the attack matrix has at least 150 cells, each named once", async () => {
  const names = [...LAUNCHER_CELLS, ...GRANT_CELLS, ...PROTECTED_PATH_CELLS, ...SECRET_CELLS].map(name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(150);
});
