// What stands behind `!command` and `keyring:name`: fetched through a port, once, and never waited for without end.

import { isAbsolute, join, resolve } from "node:path";
import { orAborted } from "../../base/async/deadline.js";
import { messageOf } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import type { KeyPath } from "../layers/document.js";
import { pathText } from "../layers/findings.js";
import { isInside } from "../layers/paths.js";
import { type Part, parseTemplate } from "../layers/read-entry.js";
import { placeText, type WrittenServer } from "../layers/read-layer.js";

type SecretRequest =
  | { readonly kind: "command"; readonly command: string }
  | { readonly kind: "keyring"; readonly name: string };

/** Fetches one secret; undefined when there is none of that name. This room neither spawns nor reaches a keyring itself. */
export interface ResolveSecret {
  (request: SecretRequest, signal: AbortSignal): Promise<string | undefined>;
  /** The value proved wrong: it is fetched again when next asked for. */
  forget?(request: SecretRequest, value: string): void;
}

interface SharedFetch {
  readonly value: Promise<string | undefined>;
  /** Those who still wait for it. Once there is none, it is given up. */
  waiting: number;
  readonly controller: AbortController;
}

/**
 * Fetches each secret once for all sessions of a process, and keeps it in memory only. Those who ask at the same time share one
 * run. A failure is not kept: the next one who asks starts another run. The key is the text of the reference.
 */
export function sharedSecrets(resolve: ResolveSecret): ResolveSecret {
  const fetches = new Map<string, SharedFetch>();
  const values = new Map<string, string>();
  const start = (key: string, request: SecretRequest): SharedFetch => {
    const controller = new AbortController();
    const fetching = async () => {
      try {
        const value = await resolve(request, controller.signal);
        if (value !== undefined) values.set(key, value);
        return value;
      } finally {
        fetches.delete(key);
      }
    };
    const fetch: SharedFetch = { value: fetching(), waiting: 0, controller };
    fetches.set(key, fetch);
    return fetch;
  };
  const shared: ResolveSecret = async (request, signal) => {
    const key = JSON.stringify(request);
    const known = values.get(key);
    if (known !== undefined) return known;
    const fetch = fetches.get(key) ?? start(key, request);
    fetch.waiting++;
    try {
      return await orAborted(fetch.value, signal);
    } finally {
      fetch.waiting--;
      if (fetch.waiting === 0 && signal.aborted) {
        fetches.delete(key);
        fetch.controller.abort(signal.reason);
      }
    }
  };
  shared.forget = (request, value) => {
    const key = JSON.stringify(request);
    if (values.get(key) === value) values.delete(key); // another session may have a newer one already
    resolve.forget?.(request, value);
  };
  return shared;
}

type SecretAnswer =
  | { readonly kind: "found"; readonly value: string }
  | { readonly kind: "missing"; readonly reason: string }
  /** Still being fetched when the caller stopped waiting. */
  | { readonly kind: "waiting" };

interface Asked {
  readonly request: SecretRequest;
  readonly answer: Promise<SecretAnswer>;
  settled: SecretAnswer | undefined;
}

export class Secrets {
  readonly #world: World;
  readonly #resolve: ResolveSecret | undefined;
  readonly #asked = new Map<string, Asked>();

  constructor(world: World, resolve: ResolveSecret | undefined) {
    this.#world = world;
    this.#resolve = resolve;
  }

  /** Each is asked for once: a person who has unlocked their vault is not asked to at every reload. */
  async get(request: SecretRequest, patience: AbortSignal): Promise<SecretAnswer> {
    const key = JSON.stringify(request);
    const { settled, answer } = this.#asked.get(key) ?? this.#ask(key, request);
    return settled ?? (await orAborted(answer, patience).catch((): SecretAnswer => ({ kind: "waiting" })));
  }

  /** Resolves once nothing is being fetched any more. */
  async idle(): Promise<void> {
    await Promise.all([...this.#asked.values()].map(({ answer }) => answer));
  }

  /** What could not be had is asked for again when next wanted. True when there is such a thing. */
  forgetFailures(): boolean {
    let hasForgotten = false;
    for (const [key, { settled }] of this.#asked) {
      if (settled !== undefined && settled.kind !== "found") hasForgotten = this.#asked.delete(key);
    }
    return hasForgotten;
  }

  /** These values proved wrong. True when one of them was fetched here: it is fetched again when next wanted. */
  forgetValues(values: readonly string[]): boolean {
    let hasForgotten = false;
    for (const [key, { request, settled }] of this.#asked) {
      if (settled?.kind !== "found" || !values.includes(settled.value)) continue;
      this.#asked.delete(key);
      this.#resolve?.forget?.(request, settled.value);
      hasForgotten = true;
    }
    return hasForgotten;
  }

  #ask(key: string, request: SecretRequest): Asked {
    const answer = this.#fetch(request).then((fetched) => {
      asked.settled = fetched;
      return fetched;
    });
    const asked: Asked = { request, answer, settled: undefined };
    this.#asked.set(key, asked);
    return asked;
  }

  /** Never rejects. */
  async #fetch(request: SecretRequest): Promise<SecretAnswer> {
    const what = request.kind === "command" ? `the command ${JSON.stringify(request.command)}` : "the keyring";
    if (!this.#resolve) return { kind: "missing", reason: `${what} cannot be asked here` };
    using deadline = this.#world.deadline(LIMITS.secretTimeoutMs);
    try {
      const value = await orAborted(this.#resolve(request, deadline.signal), deadline.signal);
      return value === undefined
        ? { kind: "missing", reason: `${what} ${noneText(request)}` }
        : { kind: "found", value };
    } catch (error) {
      const late = `gave no answer within ${LIMITS.secretTimeoutMs} ms`;
      return { kind: "missing", reason: `${what} ${deadline.expired ? late : `failed: ${messageOf(error)}`}` };
    }
  }
}

function noneText(request: SecretRequest): string {
  if (request.kind === "command") return "gave nothing";
  const { name } = request;
  return `has no entry ${JSON.stringify(name)}: tenon secret set ${/^[\w.@/:-]+$/u.test(name) ? name : "<name>"} puts it there`;
}

export interface InterpolationSource {
  readonly world: World;
  readonly env: World["env"];
  /** The folder of the file the text stands in: the base of `{file:…}`. */
  readonly folder: string;
  /** For a project's text: the project's real path, which files must lie in. */
  readonly within?: string;
  /** Only the user's own configuration may run commands and read the keyring. */
  readonly secrets?: Secrets;
  /** Nothing of what was written is shown, not even the text of a reference. */
  readonly isPrivate?: boolean;
  /** When it aborts, secrets that are still being fetched are not waited for. */
  readonly patience: AbortSignal;
}

export interface Interpolated {
  readonly text: string;
  /** What came from elsewhere: to be masked wherever it would be shown or written. */
  readonly secrets: readonly string[];
}

/** One value that cannot be had. */
export interface Missing {
  readonly kind: "missing" | "waiting";
  /** In one sentence, with the reference and the place. */
  readonly reason: string;
}

/** What everybody on the machine knows: masking it would only make logs unreadable. */
const PLAIN_VARIABLES: ReadonlySet<string> = new Set(
  "HOME USER LOGNAME USERNAME USERPROFILE SHELL PWD PATH TMPDIR TEMP TMP LANG TZ".split(" "),
);

type Filled = { readonly value: string; readonly isSecret: boolean } | Missing;

/** `mayBeSecret`: the value as a whole may be `!command` or `keyring:name`. Never rejects. */
export async function interpolate(
  given: { readonly text: string; readonly path: KeyPath; readonly mayBeSecret: boolean },
  placeOf: WrittenServer["placeOf"],
  source: InterpolationSource,
): Promise<Interpolated | Missing> {
  const parts = await Promise.all(parseTemplate(given.text, given).map((part) => fill(part, source)));
  let text = "";
  const secrets: string[] = [];
  for (const part of parts) {
    if ("reason" in part) {
      const where = `${pathText(given.path)} in ${placeText(placeOf(given.path))}`;
      return { kind: part.kind, reason: `${part.reason} (${where})` };
    }
    text += part.value;
    if (part.isSecret && part.value !== "") secrets.push(part.value);
  }
  return { text, secrets };
}

export function isMissing(result: Interpolated | Missing): result is Missing {
  return "reason" in result;
}

async function fill(part: Part, source: InterpolationSource): Promise<Filled> {
  switch (part.kind) {
    case "text":
      return { value: part.text, isSecret: false };
    case "variable":
      return fillVariable(part, source);
    case "file":
      return await fillFile(part.path, source.isPrivate ? "the file it names" : part.written, source);
    case "command":
    case "keyring":
      return await fillSecret(part, source);
    case "malformed":
      return missing(
        `${source.isPrivate ? "it" : part.written} is no reference Tenon knows; write $\${ for a literal \${`,
      );
  }
}

function fillVariable(part: Part & { readonly kind: "variable" }, { env }: InterpolationSource): Filled {
  const value = Object.hasOwn(env, part.name) ? env[part.name] : undefined;
  // As in a shell: the default also stands in for an empty value.
  if (part.fallback !== undefined && !value) return { value: part.fallback, isSecret: false };
  if (value === undefined) return missing(`the environment variable ${part.name} is not set`);
  return { value, isSecret: !PLAIN_VARIABLES.has(part.name) };
}

async function fillFile(path: string, written: string, source: InterpolationSource): Promise<Filled> {
  const { world, folder, within, env } = source;
  try {
    const found = await world.files.find(placeOfFile(path, folder, within === undefined ? env["HOME"] : undefined));
    if (within !== undefined && found && !isInside(found.realPath, within)) {
      return missing(`${written} leads out of the project`);
    }
    if (found?.kind !== "file") return missing(`${written}: there is no such file`);
    if (found.bytes > LIMITS.configValueMaxBytes) {
      return missing(`${written} is larger than ${LIMITS.configValueMaxBytes} bytes`);
    }
    const text = (await world.files.readText(found.realPath)).replace(/\r?\n$/u, "");
    return text.includes("\0") ? missing(`${written} is no text`) : { value: text, isSecret: true };
  } catch (error) {
    return missing(source.isPrivate ? `${written} cannot be read` : `${written} cannot be read: ${messageOf(error)}`);
  }
}

/** `~/` works in the user's own file only: a project has no home directory. */
function placeOfFile(path: string, folder: string, home: string | undefined): string {
  const wanted = path.trim();
  if (home !== undefined && wanted.startsWith("~/")) return join(home, wanted.slice(2));
  return isAbsolute(wanted) ? wanted : resolve(folder, wanted);
}

async function fillSecret(
  part: Part & { readonly kind: "command" | "keyring" },
  { secrets, patience }: InterpolationSource,
): Promise<Filled> {
  const form = part.kind === "command" ? '"!command"' : '"keyring:name"';
  if (!secrets) return missing(`${form} works in the user's own configuration only`);
  const request: SecretRequest =
    part.kind === "command" ? { kind: "command", command: part.command } : { kind: "keyring", name: part.name };
  const answer = await secrets.get(request, patience);
  switch (answer.kind) {
    case "found":
      return { value: answer.value.replace(/\r?\n$/u, ""), isSecret: true };
    case "missing":
      return missing(answer.reason);
    case "waiting":
      return { kind: "waiting", reason: `waiting for ${part.kind === "command" ? "its command" : "the keyring"}` };
  }
}

function missing(reason: string): Missing {
  return { kind: "missing", reason };
}
