// The attack matrix: secrets.
import type { AttackCell } from "./cell.js";

export const SECRET_CELLS: readonly AttackCell[] = [];
