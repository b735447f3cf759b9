// Turns JSON from a command line or a test into a checked Behaviour, or says exactly what is wrong with it.
import type { Behaviour, Stage, Step, TaskScript, ToolReply, ToolScript } from "./behaviour.js";

/** The problems of `value`, each beginning with its path; none when it fits. */
export type Check = (value: unknown, path: string) => string[];

/** One check per field of `T`, so that a field added to the type and forgotten here does not compile. */
export type Fields<T> = { readonly [Key in keyof T]-?: Check };

function expected(what: string, test: (value: unknown) => boolean): Check {
  return (value, path) => (test(value) ? [] : [`${path}: expected ${what}, got ${show(value)}`]);
}

const text: Check = expected("a string", (value) => typeof value === "string");
const nonEmptyText: Check = expected("a non-empty string", (value) => typeof value === "string" && value !== "");
const flag: Check = expected("true or false", (value) => typeof value === "boolean");
const finite: Check = expected("a number", (value) => typeof value === "number" && Number.isFinite(value));
const integer: Check = expected("an integer", (value) => Number.isInteger(value));
const count: Check = expected("an integer of 0 or more", (value) => Number.isInteger(value) && Number(value) >= 0);
const positive: Check = expected("an integer of 1 or more", (value) => Number.isInteger(value) && Number(value) >= 1);
const requestId: Check = expected(
  "a string or an integer",
  (value) => typeof value === "string" || Number.isInteger(value),
);
const plainObject: Check = expected("an object", isRecord);
/** Whatever came out of JSON. */
const json: Check = expected("a JSON value", (value) => value !== undefined);

function oneOf(words: readonly string[]): Check {
  return expected(`one of ${words.join(", ")}`, (value) => words.some((word) => word === value));
}

function optional(check: Check): Check {
  return (value, path) => (value === undefined ? [] : check(value, path));
}

function list(check: Check): Check {
  return (value, path) => {
    if (!Array.isArray(value)) return [`${path}: expected an array, got ${show(value)}`];
    return value.flatMap((item: unknown, index) => check(item, `${path}[${index}]`));
  };
}

/** A record with these fields and no others: a misspelt field is a problem, not a silent default. */
function record<T>(fields: Fields<T>): Check {
  const checks = Object.entries<Check>(fields);
  const known = checks.map(([name]) => name);
  return (value, path) => {
    if (!isRecord(value)) return [`${path}: expected an object, got ${show(value)}`];
    const strangers = Object.keys(value).filter((name) => !known.includes(name));
    return [
      ...strangers.map((name) => `${path}.${name}: no such field; there are ${known.join(", ")}`),
      ...checks.flatMap(([name, check]) => check(value[name], `${path}.${name}`)),
    ];
  };
}

/** A union discriminated by the field `tag`. */
function variants(tag: string, cases: Readonly<Record<string, Check>>): Check {
  return (value, path) => {
    if (!isRecord(value)) return [`${path}: expected an object, got ${show(value)}`];
    const word = value[tag];
    const check = typeof word === "string" && Object.hasOwn(cases, word) ? cases[word] : undefined;
    if (!check) return [`${path}.${tag}: expected one of ${Object.keys(cases).join(", ")}, got ${show(word)}`];
    return check(value, path);
  };
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  if (value === undefined) return "nothing";
  const words = JSON.stringify(value) ?? `a ${typeof value}`;
  return words.length <= 60 ? words : `${words.slice(0, 60)}…`;
}

type StepOf<Name extends Step["do"]> = Extract<Step, { readonly do: Name }>;
type ReplyOf<Kind extends ToolReply["kind"]> = Extract<ToolReply, { readonly kind: Kind }>;

/** Tools contain steps and steps contain tools: one of the two has to be looked up late. */
const tools: Check = (value, path) => list(record(TOOL))(value, path);

const STEPS: { readonly [Name in Step["do"]]: Fields<StepOf<Name>> } = {
  delay: { do: text, ms: count },
  never: { do: text },
  await_cancel: { do: text },
  await_notification: { do: text, method: nonEmptyText },
  hold: { do: text, name: nonEmptyText },
  progress: { do: text, progress: finite, total: optional(finite), message: optional(text) },
  notify: { do: text, method: nonEmptyText, params: optional(plainObject) },
  list_changed: { do: text, count: optional(positive) },
  set_tools: { do: text, tools },
  garbage: { do: text, text },
  huge_line: { do: text, bytes: positive },
  stray_reply: { do: text, id: requestId },
  stderr: { do: text, text },
  stderr_flood: { do: text, bytes: positive },
  spawn_children: {
    do: text,
    count: positive,
    ownSession: optional(flag),
    ignoresSigterm: optional(flag),
    holdsStdout: optional(flag),
  },
  crash: {
    do: text,
    exitCode: optional(count),
    signal: optional(oneOf(["SIGKILL", "SIGSEGV", "SIGABRT"])),
    stderr: optional(text),
    onceFile: optional(nonEmptyText),
  },
};

const REPLIES: { readonly [Kind in ToolReply["kind"]]: Fields<ReplyOf<Kind>> } = {
  echo: { kind: text },
  text: { kind: text, text },
  content: { kind: text, content: list(json), structured: optional(json), isError: optional(flag) },
  structured: { kind: text, value: json },
  image: { kind: text },
  bytes: { kind: text, bytes: count },
  error: { kind: text, text },
  protocol_error: { kind: text, code: integer, message: text },
  raw: { kind: text, result: json },
  env: { kind: text },
  cwd: { kind: text },
  pid: { kind: text },
  ask_client: { kind: text, method: nonEmptyText, params: optional(plainObject) },
  ask_input: {
    kind: text,
    inputRequests: optional(plainObject),
    requestState: optional(text),
    rounds: optional(positive),
  },
  held: { kind: text },
};

const steps: Check = list(variants("do", recordsOf(STEPS)));

const TASK: Fields<TaskScript> = {
  support: optional(oneOf(["optional", "required"])),
  takesMs: optional(count),
  says: optional(list(record<{ atMs: number; message: string }>({ atMs: count, message: text }))),
  pollMs: optional(count),
  ttlMs: optional(count),
  announces: optional(flag),
  asks: optional(
    record<NonNullable<TaskScript["asks"]>>({
      atMs: optional(count),
      method: nonEmptyText,
      params: optional(plainObject),
    }),
  ),
  isGivenUp: optional(flag),
  crashMs: optional(count),
};

const TOOL: Fields<ToolScript> = {
  name: nonEmptyText,
  title: optional(text),
  description: optional(text),
  inputSchema: optional(plainObject),
  outputSchema: optional(plainObject),
  annotations: optional(plainObject),
  steps: optional(steps),
  reply: variants("kind", recordsOf(REPLIES)),
  task: optional(record(TASK)),
  replies: optional(positive),
  ignoresCancel: optional(flag),
};

const STAGE_STEPS: Fields<{ readonly [stage in Stage]: readonly Step[] }> = {
  start: optional(steps),
  initialize: optional(steps),
  initialized: optional(steps),
  "server/discover": optional(steps),
  "subscriptions/listen": optional(steps),
  "tools/list": optional(steps),
  "tools/call": optional(steps),
};

const BEHAVIOUR: Fields<Behaviour> = {
  serverName: optional(nonEmptyText),
  serverVersion: optional(text),
  instructions: optional(text),
  era: optional(oneOf(["legacy", "modern", "dual"])),
  modernVersions: optional(list(text)),
  listen: optional(oneOf(["honour", "refuse", "empty", "end"])),
  capabilities: optional(plainObject),
  protocolVersion: optional(text),
  tools: optional(tools),
  fillerTools: optional(count),
  rawTools: optional(list(json)),
  pageSize: optional(positive),
  endlessPages: optional(flag),
  steps: optional(record(STAGE_STEPS)),
  garbageBetween: optional(text),
  ignoresEof: optional(flag),
  ignoresSigterm: optional(flag),
  recordFile: optional(nonEmptyText),
  recordEnv: optional(list(text)),
  maxLifetimeMs: optional(positive),
  taskFile: optional(nonEmptyText),
};

const checkBehaviour: Check = record(BEHAVIOUR);

/** Throws an error that lists every problem with its path. */
export function parseBehaviour(value: unknown): Behaviour {
  if (fits(value)) return value;
  throw new Error(`not a behaviour of a scripted server:\n  ${checkBehaviour(value, "behaviour").join("\n  ")}`);
}

function fits(value: unknown): value is Behaviour {
  return checkBehaviour(value, "behaviour").length === 0;
}

function recordsOf(cases: Readonly<Record<string, Readonly<Record<string, Check>>>>): Record<string, Check> {
  return Object.fromEntries(Object.entries(cases).map(([name, fields]) => [name, record(fields)]));
}
