// The table of checks, in the order in which they run.
import type { Check } from "../check.js";
import { ENTRY } from "./entry.js";
import { ISOLATION } from "./isolation.js";
import { LEAK, SESSION } from "./session.js";
import { CONNECT, START } from "./start.js";
import { TOOLS } from "./tools.js";
import { WIRE_FIRST, WIRE_LAST } from "./wire.js";

export const CHECKS: readonly Check[] = [
  ...WIRE_FIRST,
  ...CONNECT,
  ...START,
  ...ENTRY,
  ...ISOLATION,
  ...TOOLS,
  ...SESSION,
  ...LEAK,
  ...WIRE_LAST,
];
