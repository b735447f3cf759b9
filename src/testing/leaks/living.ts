// Living processes by who started them or by their marker, for tests that follow them beyond the end of their parent.
import { MARKER_VARIABLE } from "../mcp-server/scripted-server.js";
import { commandOf, descendantsOf, hasEnvironment, hasProc, listProcesses, type ProcessInfo } from "./processes.js";

export interface LivingSearch {
  /** Everything below this process, by the parents of this moment. */
  readonly under?: number;
  /** Everything that carries TENON_TEST_MARKER with this value. */
  readonly marker?: string;
  /** Those seen before, whoever their parent is by now. */
  readonly identities?: ReadonlySet<string>;
}

export interface LivingProcess {
  readonly pid: number;
  /** The pid with its start: pids are used again. */
  readonly identity: string;
  readonly command: string;
}

/** All that match any of the criteria; none where there is no /proc. Zombies are dead. */
export function listLiving({ under, marker, identities }: LivingSearch): LivingProcess[] {
  if (!hasProc) return [];
  const living = listProcesses().filter(({ isZombie }) => !isZombie);
  const below = new Set(under === undefined ? [] : descendantsOf(under, living));
  const matches = (info: ProcessInfo) =>
    below.has(info) ||
    identities?.has(identityOf(info)) === true ||
    (marker !== undefined && hasEnvironment(info.pid, MARKER_VARIABLE, marker));
  return living
    .filter(matches)
    .map((info) => ({ pid: info.pid, identity: identityOf(info), command: commandOf(info.pid) }));
}

function identityOf({ pid, startTime }: ProcessInfo): string {
  return `${pid}@${startTime}`;
}
