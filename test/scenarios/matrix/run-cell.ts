// One cell of the matrix: a bad server, a good one beside it, calls in flight, and what must hold whatever happens.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ERROR_CODES } from "../../../src/base/errors.js";
import type { World } from "../../../src/base/ports/world.js";
import { type CallOutcome, McpConnection } from "../../../src/mcp/index.js";
import { leakCheck } from "../../../src/testing/index.js";
import { BadHost } from "./bad-host.js";
import { type Cell, type Ending, mischiefOf, type Sizes } from "./cells.js";
import { type Observed, Probe } from "./probe.js";
import type { Neighbour, TrafficReport } from "./traffic.js";

export interface CellReport extends Observed {
  readonly cell: Cell;
  /** What did not hold, each in one line; none when all is well. */
  readonly problems: readonly string[];
  /** What took too long. A busy machine does that too, so such a cell is tried again: its own fault stays. */
  readonly delays: readonly string[];
  readonly endings: readonly string[];
  readonly good: Omit<TrafficReport, "problems">;
  readonly tookMs: number;
}

export interface CellSetting {
  readonly world: World;
  readonly folder: string;
  readonly serverProgram: string;
  readonly sizes: Sizes;
  readonly neighbour: Neighbour;
}

const DEADLINE_MS = 1_200;
/** Timers come late on a busy machine. */
const SLACK_MS = 800;
const READY_MS = 20_000;
const RECOVER_MS = 20_000;
/** As many GETs as an honest client may need for one broken stream in the second or two that a cell takes. */
const MAX_GETS = 8;
const CLOSE_MS = 6_000;
/** Per connection. */
const MAX_HELD_MB = 64;
/**
 * Newer V8 lets 64 MB of buffers become garbage before it collects any, whoever made them: so much more the process may
 * show for a moment, and nobody holds it.
 */
const MAX_GROWN_MB = MAX_HELD_MB + (Number.parseInt(process.versions.node, 10) >= 22 ? 64 : 0);
const MAX_BLOCKED_MS = 50;
/** Of the calls of the good server: half a millisecond when nothing else happens. */
const MAX_MEDIAN_MS = 50;

let cellCount = 0;

export async function runCell(cell: Cell, setting: CellSetting): Promise<CellReport> {
  const before = performance.now();
  const notes: Notes = { problems: [], delays: [], endings: [] };
  const { problems, delays, endings } = notes;
  const leaks = await leakCheck({ withinMs: 5_000 });
  setting.neighbour.begin();
  globalThis.gc?.();
  const probe = new Probe();
  try {
    await drive(cell, setting, notes, probe);
  } catch (error) {
    problems.push(`the cell could not be run: ${String(error instanceof Error ? error.stack : error)}`);
  }
  const observed = probe.end();
  const { problems: traffic, ...good } = await setting.neighbour.end();
  problems.push(...traffic);
  if (observed.grownMb > MAX_GROWN_MB) problems.push(`memory grew by ${observed.grownMb} MB`);
  if (observed.heldMb > MAX_HELD_MB) problems.push(`${observed.heldMb} MB of memory are held`);
  if (observed.blockedMs > MAX_BLOCKED_MS) delays.push(`the event loop was held up for ${observed.blockedMs} ms`);
  if (good.medianMs > MAX_MEDIAN_MS) delays.push(`calls of the good server took ${good.medianMs} ms`);
  await leaks.verify().catch((error: unknown) => problems.push(String(error)));
  const spilled = readdirSync(setting.world.files.scratchFolder());
  if (spilled.length > 0) problems.push(`left in the scratch folder: ${spilled.join(", ")}`);
  if (Object.hasOwn(Object.prototype, "polluted")) problems.push("Object.prototype has been changed");
  return { cell, problems, delays, endings, ...observed, good, tookMs: Math.round(performance.now() - before) };
}

interface Notes {
  readonly problems: string[];
  readonly delays: string[];
  readonly endings: string[];
}

async function drive(cell: Cell, setting: CellSetting, notes: Notes, probe: Probe): Promise<void> {
  const mischief = mischiefOf(cell.mischief);
  const deadlineMs = mischief.deadlineMs ?? DEADLINE_MS;
  const { world, folder, sizes } = setting;
  const recordFile = join(folder, `record-${++cellCount}`);
  const settings = { mischief: cell.mischief, sizes, recordFile, deadlineMs };
  await using host = await BadHost.start(setting.serverProgram, cell.transport, settings);
  const connection = new McpConnection(host.spec, {
    world,
    cwd: folder,
    client: { name: "matrix", version: "1" },
    limits: { callTimeoutMs: deadlineMs, callMaxMs: deadlineMs, probeTimeoutMs: 1_000, callsPerMinute: 1_000_000 },
  });
  try {
    connection.start();
    await connection.state.until(({ kind }) => kind === "ready", within(READY_MS));
    const caller = new Caller(connection, deadlineMs, notes);
    const struck = await strike(cell, caller, host);
    if (struck && cell.phase !== "idle" && !mischief.endings[cell.phase].includes(struck)) {
      notes.problems.push(`the struck call ended as ${struck}`);
    }
    if (cell.mischief === "endless_cursor" || cell.mischief === "fat_list") await listed(connection, host, notes);
    if (mischief.isFinal !== true) await recover(connection, caller, notes);
    probe.weigh();
    checkRecord(cell, host, notes);
    caller.checkSilence();
  } finally {
    const before = performance.now();
    await connection.close();
    const tookMs = Math.round(performance.now() - before);
    if (tookMs > CLOSE_MS) notes.delays.push(`closing took ${tookMs} ms`);
    const { kind } = connection.state.value;
    if (kind !== "closed") notes.problems.push(`it is ${kind} after close`);
  }
}

/** How the struck call ended; nothing when there was none. */
async function strike(cell: Cell, caller: Caller, host: BadHost): Promise<Ending | undefined> {
  if (cell.phase === "idle") {
    const armed = await caller.call("arm");
    if (armed !== "answered") throw new Error(`the server could not be armed: ${armed}`);
    await waitUntil(() => host.recorded("struck") > 0, mischiefOf(cell.mischief).deadlineMs ?? DEADLINE_MS);
    await caller.call("ping");
    return undefined;
  }
  const struck = caller.call(cell.phase === "call" ? "strike" : "stream");
  const others = [caller.call("slow"), caller.call("slow"), caller.call("ping")];
  const [ending] = await Promise.all([struck, ...others]);
  return ending;
}

/** The list has no end, but asking for it must have one. */
async function listed(connection: McpConnection, host: BadHost, notes: Notes): Promise<void> {
  const signal = within(RECOVER_MS);
  let pages = -1;
  while (!signal.aborted && pages !== host.recorded("page")) {
    pages = host.recorded("page");
    await waitUntil(() => false, 1_000);
  }
  const tools = connection.tools.value.length;
  notes.endings.push(`${pages} pages, ${tools} tools, ${connection.problems.join("; ")}`);
  if (signal.aborted) notes.problems.push(`after ${pages} pages it still asks for more`);
  if (connection.problems.length === 0) notes.problems.push("a list without end, and nobody is told");
}

/** Whatever happened, the server is fine again: so must the connection be, if need be by a person's restart. */
async function recover(connection: McpConnection, caller: Caller, notes: Notes): Promise<void> {
  const signal = within(RECOVER_MS);
  while (!signal.aborted) {
    const { kind } = connection.state.value;
    if (kind === "failed") connection.restart();
    if (kind === "ready" && (await caller.call("ping")) === "answered") return;
    await waitUntil(() => connection.state.value.kind !== kind, 100);
  }
  const { value } = connection.state;
  const cause = "cause" in value ? `: ${value.cause.message}` : "";
  notes.problems.push(`no answer ${RECOVER_MS} ms after it was over; the connection is ${value.kind}${cause}`);
}

function checkRecord(cell: Cell, host: BadHost, notes: Notes): void {
  const asked = host.recorded("asked");
  const most = cell.phase === "idle" ? 0 : 1;
  if (asked > most) notes.problems.push(`the server was asked ${asked} times instead of ${most}: a replay`);
  const gets = host.recorded("get");
  if (gets > MAX_GETS) notes.problems.push(`${gets} GETs: a storm`);
}

/** Makes calls and holds each against what must be true of every call. */
class Caller {
  readonly #connection: McpConnection;
  readonly #deadlineMs: number;
  readonly #notes: Notes;
  #late = 0;

  constructor(connection: McpConnection, deadlineMs: number, notes: Notes) {
    this.#connection = connection;
    this.#deadlineMs = deadlineMs;
    this.#notes = notes;
  }

  async call(tool: string): Promise<Ending> {
    let isOver = false;
    const onProgress = () => {
      if (isOver) this.#late += 1;
    };
    const before = performance.now();
    const outcome = await this.#connection.call(tool, {}, { signal: new AbortController().signal, onProgress });
    isOver = true;
    const tookMs = Math.round(performance.now() - before);
    this.#notes.endings.push(`${tool} ${described(outcome)} ${tookMs} ms`);
    if (tookMs > this.#deadlineMs + SLACK_MS) {
      this.#notes.delays.push(`${tool} took ${tookMs} ms with a deadline of ${this.#deadlineMs} ms`);
    }
    const fault = typeFault(outcome);
    if (fault !== undefined) this.#notes.problems.push(`${tool}: ${fault}`);
    return outcome.kind === "cancelled" ? "failed" : outcome.kind;
  }

  checkSilence(): void {
    if (this.#late > 0) this.#notes.problems.push(`${this.#late} progress notices for calls that were over`);
  }
}

function described(outcome: CallOutcome): string {
  return "error" in outcome
    ? `${outcome.kind} (${outcome.error.code}: ${outcome.error.message.slice(0, 160)})`
    : outcome.kind;
}

/** Nobody cancels here, and every error has a code of the table and words for people. */
function typeFault(outcome: CallOutcome): string | undefined {
  if (outcome.kind === "cancelled") return "ended as cancelled, though nobody cancelled";
  if (outcome.kind === "answered") return undefined;
  const { code, message } = outcome.error;
  if (code === "internal" || !Object.hasOwn(ERROR_CODES, code)) return `the error has the code ${code}: ${message}`;
  return message === "" ? "the error says nothing" : undefined;
}

function within(ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error(`not within ${ms} ms`)), ms).unref();
  return controller.signal;
}

async function waitUntil(isDone: () => boolean, withinMs: number): Promise<void> {
  const end = performance.now() + withinMs;
  while (!isDone() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
}
