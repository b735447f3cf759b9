// One set, measured: quality, time, memory; ours and the baseline's, in one process.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type SearchDocument, ToolIndex } from "../../src/tools/search/index-of-tools.js";
import { median, rounded } from "../lib/statistics.js";
import { PlainBm25 } from "./plain-bm25.js";
import { type Finder, judge, type Quality } from "./quality.js";
import { generateQueries, type LabelledQuery } from "./sets.js";

/** Absent for sets without prompts. */
export type Figures = Partial<Quality> & Cost;

export interface Cost {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly buildMs: number;
  readonly heapMb: number;
}

export interface SetResult extends Figures {
  readonly tools: number;
  readonly queries: number;
  /** A server of 100 tools, added to and dropped from an index of this set. */
  readonly add100Ms: number;
  readonly drop100Ms: number;
  /** A prompt with a megabyte of log pasted into it. */
  readonly longPromptMs: number;
  readonly baseline: Figures;
  /** Ours by the baseline's: above 1 is better for R and nDCG, worse for the rest. */
  readonly ratio: Readonly<Record<string, number>>;
}

const TIMED_QUERIES = 2_000;
const GENERATED_QUERIES = 500;
const SERVER_TOOLS = 100;
const ROUNDS = 7;
const QUERY_ROUNDS = 3;
const LIMIT = 10;

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

export function measureSet(tools: readonly SearchDocument[], labelled: readonly LabelledQuery[]): SetResult {
  const queries = labelled.length > 0 ? labelled : generateQueries(tools, GENERATED_QUERIES);
  const servers = byServer(tools);
  const own = withCost(() => {
    const index = new ToolIndex();
    for (const [server, documents] of servers) index.setServer(server, documents);
    return index;
  });
  const find: Finder = (query, limit) => own.built.search(query, { limit }).map(({ id }) => id);
  const ours: Figures = {
    ...(labelled.length > 0 ? judge(labelled, find) : {}),
    ...timed(queries, find),
    ...own.cost,
  };
  const churn = measureChurn(own.built, tools);
  const pasted = longPrompt(queries);
  const longPromptMs = median(Array.from({ length: ROUNDS }, () => elapsed(() => find(pasted, LIMIT))));
  const plain = withCost(() => new PlainBm25(tools));
  const findPlain: Finder = (query, limit) => plain.built.search(query, limit);
  const baseline: Figures = {
    ...(labelled.length > 0 ? judge(labelled, findPlain) : {}),
    ...timed(queries, findPlain),
    ...plain.cost,
  };
  return {
    tools: tools.length,
    queries: labelled.length,
    ...ours,
    ...churn,
    longPromptMs: rounded(longPromptMs),
    baseline,
    ratio: ratios(ours, baseline),
  };
}

function byServer(tools: readonly SearchDocument[]): ReadonlyMap<string, readonly SearchDocument[]> {
  const servers = new Map<string, SearchDocument[]>();
  for (const tool of tools) {
    const documents = servers.get(tool.server);
    if (documents) documents.push(tool);
    else servers.set(tool.server, [tool]);
  }
  return servers;
}

/** The first build of this process: what a person waits for. */
function withCost<T>(build: () => T): { built: T; cost: Pick<Cost, "buildMs" | "heapMb"> } {
  const before = heapBytes();
  const startedAt = performance.now();
  const built = build();
  const buildMs = performance.now() - startedAt;
  const heapMb = (heapBytes() - before) / 1_048_576;
  return { built, cost: { buildMs: rounded(buildMs), heapMb: rounded(heapMb) } };
}

/** With typed arrays, which are not on the heap. */
function heapBytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function timed(queries: readonly LabelledQuery[], find: Finder): Pick<Cost, "p50Ms" | "p95Ms"> {
  const some = queries.slice(0, TIMED_QUERIES);
  for (const { query } of some.slice(0, 200)) find(query, LIMIT); // until it is compiled
  const rounds = Array.from({ length: QUERY_ROUNDS }, () => some.map(({ query }) => elapsed(() => find(query, LIMIT))));
  // Of each query the middle one: on a shared machine some are interrupted.
  const times = some.map((_, query) => median(rounds.map((round) => round[query] ?? 0))).sort((a, b) => a - b);
  const at = (share: number) => rounded(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0);
  return { p50Ms: at(0.5), p95Ms: at(0.95) };
}

function measureChurn(index: ToolIndex, tools: readonly SearchDocument[]): Pick<SetResult, "add100Ms" | "drop100Ms"> {
  const [adds, drops]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    const server = `added-${round}`;
    const documents = Array.from({ length: SERVER_TOOLS }, (_, index_): SearchDocument => {
      const tool = tools[(round * SERVER_TOOLS + index_) % tools.length];
      if (!tool) throw new Error("no tools");
      return { ...tool, server, id: `${server}/${index_}` };
    });
    adds.push(elapsed(() => index.setServer(server, documents)));
    drops.push(elapsed(() => index.dropServer(server)));
  }
  return { add100Ms: rounded(median(adds)), drop100Ms: rounded(median(drops)) };
}

function longPrompt(queries: readonly LabelledQuery[]): string {
  const request = queries[0]?.query ?? "";
  const lines = Array.from({ length: 12_000 }, (_, line) => {
    const stamp = `2026-01-01T00:00:${String(line % 60).padStart(2, "0")}Z`;
    return `${stamp} worker[${line}] WARN request ${(line * 7_919).toString(36)} took ${line % 900} ms, retrying connection`;
  });
  return `${request}\n${lines.join("\n")}`;
}

function elapsed(run: () => unknown): number {
  const startedAt = performance.now();
  run();
  return performance.now() - startedAt;
}

function ratios(ours: Figures, baseline: Figures): Readonly<Record<string, number>> {
  const keys = ["R5", "R10", "nDCG10", "p50Ms", "p95Ms", "buildMs", "heapMb"] as const;
  return Object.fromEntries(
    keys.flatMap((key) => {
      const [own, other] = [ours[key], baseline[key]];
      return own === undefined || other === undefined ? [] : [[key, rounded(own / other)]];
    }),
  );
}
