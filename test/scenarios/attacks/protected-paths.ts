// The attack matrix: protected-paths.
import type { AttackCell } from "./cell.js";

export const PROTECTED_PATH_CELLS: readonly AttackCell[] = [];
