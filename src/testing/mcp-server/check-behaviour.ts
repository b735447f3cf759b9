// Turns JSON from a command line or a test into a checked Behaviour, or says exactly what is wrong with it.
import type { Behaviour, Stage, Step, TaskScript, ToolReply, ToolScript } from "./behaviour.js";
import {
  type Check,
  count,
  type Fields,
  finite,
  flag,
  integer,
  json,
  list,
  nonEmptyText,
  oneOf,
  optional,
  plainObject,
  positive,
  record,
  requestId,
  text,
  variants,
} from "./shape.js";

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
