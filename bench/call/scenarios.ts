// What `bench/call` measures, and what is promised of it.

import type { Summary } from "../lib/contest.js";
import type { ServerSettings } from "../lib/mcp-target.js";
import type { Work } from "./work.js";

export interface Scenario {
  readonly name: string;
  readonly transport: "stdio" | "http" | "sse";
  readonly server: ServerSettings;
  readonly work: Work;
  readonly promises: readonly Promised[];
  /** Long ones are run in fewer rounds. */
  readonly maxRounds?: number;
}

/** About one figure: its ratio to the floor, or the figure itself. */
export interface Promised {
  readonly figure: string;
  readonly of: "ratio" | "median";
  readonly atMost?: number;
  readonly atLeast?: number;
}

const MB = 1_000_000;
const SMALL = { kind: "small", tool: "echo", calls: 3_000 } as const;
const SMALL_HTTP = { kind: "small", tool: "echo", calls: 1_000 } as const;
const THREE_TOOLS = { toolCount: 3 } as const;

const STDIO_PROMISES: readonly Promised[] = [
  { figure: "cpuUs", of: "ratio", atMost: 1.3 },
  { figure: "p50Us", of: "ratio", atMost: 1.2 },
  { figure: "callsPerSecond", of: "ratio", atLeast: 0.8 },
];
const HTTP_PROMISES: readonly Promised[] = [
  { figure: "p50Us", of: "ratio", atMost: 1.3 },
  { figure: "callsPerSecond", of: "ratio", atLeast: 0.8 },
];
const NEVER_BLOCKS: Promised = { figure: "blockMs", of: "median", atMost: 50 };

export const SCENARIOS: readonly Scenario[] = [
  { name: "stdio, small call", transport: "stdio", server: THREE_TOOLS, work: SMALL, promises: STDIO_PROMISES },
  {
    name: "stdio, modern era",
    transport: "stdio",
    server: { ...THREE_TOOLS, isModern: true },
    work: SMALL,
    promises: [],
  },
  {
    name: "stdio, with output schema",
    transport: "stdio",
    server: THREE_TOOLS,
    work: { ...SMALL, tool: "structured" },
    promises: [],
  },
  large(1, []),
  large(5, [{ figure: "p50Ms", of: "ratio", atMost: 1.2 }]),
  large(16, []),
  large(64, []),
  { name: "http, JSON answer", transport: "http", server: THREE_TOOLS, work: SMALL_HTTP, promises: HTTP_PROMISES },
  { name: "http, SSE answer", transport: "sse", server: THREE_TOOLS, work: SMALL_HTTP, promises: HTTP_PROMISES },
];

function large(megabytes: number, promises: readonly Promised[]): Scenario {
  const calls = megabytes <= 5 ? 10 : 2;
  return {
    name: `stdio, ${megabytes} MB image`,
    transport: "stdio",
    server: THREE_TOOLS,
    work: { kind: "large", bytes: megabytes * MB, calls },
    promises: [...promises, NEVER_BLOCKS],
    ...(megabytes > 5 ? { maxRounds: 5 } : {}),
  };
}

/** The promises that these figures break, in words. */
export function brokenPromises(scenario: Scenario, own: Summary, peers: readonly Summary[]): string[] {
  const { name, promises } = scenario;
  if (own.failure !== undefined) return [`${name}: ${own.failure}`];
  return promises.flatMap(({ figure, of, atMost = Number.POSITIVE_INFINITY, atLeast = 0 }) => {
    const value = own[of]?.[figure];
    if (value === undefined) return [`${name}: ${figure} was not measured`];
    const isKept = value <= atMost && value >= atLeast;
    const unit = of === "ratio" ? " x raw" : "";
    return [
      ...(isKept ? [] : [`${name}: ${figure} is ${value}${unit}`]),
      ...(of === "ratio" ? peers : []).flatMap(({ name: peer, ratio }) => {
        const theirs = ratio?.[figure] ?? Number.NaN;
        const isAhead = atLeast > 0 ? theirs > value : theirs < value;
        return isAhead ? [`${name}: ${figure} of ${peer} is ${theirs}, ours ${value}`] : [];
      }),
    ];
  });
}

/** Which of our adapters must be faster than which toolkit, in the rounds of both. */
const RACES = [
  { adapter: "toAiSdkTools", toolkit: "ai-sdk" },
  { adapter: "toLangChainTools", toolkit: "langchain" },
] as const;

/** Whether one of our adapters is close to it: it is measured in as many rounds. */
export function isRaced(toolkit: string): boolean {
  return RACES.some((race) => race.toolkit === toolkit);
}

/** Where more is better; of all other figures less is. */
const RATES: ReadonlySet<string> = new Set(["callsPerSecond"]);

/** The figures by which an adapter of ours is behind its toolkit, in words. A toolkit that fails is behind. */
export function lostRaces(scenario: string, contestants: readonly Summary[], figures?: readonly string[]): string[] {
  return RACES.flatMap(({ adapter, toolkit }) => {
    const [ours, theirs] = [adapter, toolkit].map((name) => contestants.find((one) => one.name === name));
    if (!ours || !theirs) return [];
    if (ours.failure !== undefined) return [`${scenario}: ${adapter} ${ours.failure}`];
    return Object.entries(ours.median).flatMap(([figure, value]) => {
      const other = theirs.median[figure];
      if (other === undefined || (figures && !figures.includes(figure))) return [];
      const isAhead = RATES.has(figure) ? value > other : value < other;
      return isAhead ? [] : [`${scenario}: ${figure} of ${adapter} is ${value}, of ${toolkit} ${other}`];
    });
  });
}
