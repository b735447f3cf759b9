// The attack matrix: launchers.
import type { AttackCell } from "./cell.js";

export const LAUNCHER_CELLS: readonly AttackCell[] = [];
