// The table of checks, in the order in which they run.
import type { Check, Checks } from "../check.js";
import { ENTRY } from "./entry.js";
import { ISOLATION, LEAK, SESSION } from "./session.js";
import { CONNECT, START } from "./start.js";
import { TOOLS } from "./tools.js";
import { WIRE_FIRST, WIRE_LAST } from "./wire.js";

const BY_ID: Checks = {
  ...WIRE_FIRST,
  ...CONNECT,
  ...START,
  ...ENTRY,
  ...ISOLATION,
  ...TOOLS,
  ...SESSION,
  ...LEAK,
  ...WIRE_LAST,
};

export const CHECKS: readonly (Check & { readonly id: string })[] = Object.entries(BY_ID).map(([id, check]) => ({
  id,
  ...check,
}));
