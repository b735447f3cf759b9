// The attack matrix: grants.
import type { AttackCell } from "./cell.js";

export const GRANT_CELLS: readonly AttackCell[] = [];
