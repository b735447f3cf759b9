// Turns JSON from a command line or a test into a checked Behaviour, or says exactly what is wrong with it.
import { type Behaviour, STAGES, type Step, type TaskScript, type ToolReply, type ToolScript } from "./behaviour.js";

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
function variants(tag: string, cases: Readonly<Record<string, Readonly<Record<string, Check>>>>): Check {
  return (value, path) => {
    if (!isRecord(value)) return [`${path}: expected an object, got ${show(value)}`];
    const word = value[tag];
    const fields = typeof word === "string" && Object.hasOwn(cases, word) ? cases[word] : undefined;
    if (!fields) return [`${path}.${tag}: expected one of ${Object.keys(cases).join(", ")}, got ${show(word)}`];
    return record({ [tag]: text, ...fields })(value, path);
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

/** Tools contain steps and steps contain tools: one of the two has to be looked up late. */
const tools: Check = (value, path) => list(record(TOOL))(value, path);

const STEPS: { readonly [Name in Step["do"]]: Fields<Omit<Extract<Step, { do: Name }>, "do">> } = {
  delay: { ms: count },
  never: {},
  await_cancel: {},
  await_notification: { method: nonEmptyText },
  hold: { name: nonEmptyText },
  progress: { progress: finite, total: optional(finite), message: optional(text) },
  notify: { method: nonEmptyText, params: optional(plainObject) },
  list_changed: { count: optional(positive) },
  set_tools: { tools },
  garbage: { text },
  huge_line: { bytes: positive },
  stray_reply: { id: requestId },
  stderr: { text },
  stderr_flood: { bytes: positive },
  spawn_children: {
    count: positive,
    ownSession: optional(flag),
    ignoresSigterm: optional(flag),
    holdsStdout: optional(flag),
  },
  crash: {
    exitCode: optional(count),
    signal: optional(oneOf(["SIGKILL", "SIGSEGV", "SIGABRT"])),
    stderr: optional(text),
    onceFile: optional(nonEmptyText),
  },
};

const REPLIES: { readonly [Kind in ToolReply["kind"]]: Fields<Omit<Extract<ToolReply, { kind: Kind }>, "kind">> } = {
  echo: {},
  text: { text },
  content: { content: list(json), structured: optional(json), isError: optional(flag) },
  structured: { value: json },
  image: {},
  bytes: { bytes: count },
  error: { text },
  protocol_error: { code: integer, message: text },
  raw: { result: json },
  env: {},
  cwd: {},
  pid: {},
  ask_client: { method: nonEmptyText, params: optional(plainObject) },
  ask_input: { inputRequests: optional(plainObject), requestState: optional(text), rounds: optional(positive) },
  held: {},
};

const steps: Check = list(variants("do", STEPS));

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
  reply: variants("kind", REPLIES),
  task: optional(record(TASK)),
  replies: optional(positive),
  ignoresCancel: optional(flag),
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
  steps: optional(record(Object.fromEntries(STAGES.map((stage) => [stage, optional(steps)])))),
  garbageBetween: optional(text),
  ignoresEof: optional(flag),
  ignoresSigterm: optional(flag),
  recordFile: optional(nonEmptyText),
  recordEnv: optional(list(text)),
  maxLifetimeMs: optional(positive),
  taskFile: optional(nonEmptyText),
};

/** Throws an error that lists every problem with its path. */
export function parseBehaviour(value: unknown): Behaviour {
  assertBehaviour(value);
  return value;
}

function assertBehaviour(value: unknown): asserts value is Behaviour {
  const problems = record(BEHAVIOUR)(value, "behaviour");
  if (problems.length > 0) throw new Error(`not a behaviour of a scripted server:\n  ${problems.join("\n  ")}`);
}
