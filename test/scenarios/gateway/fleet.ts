// Editors of one home, each with a `tenon acp --gateway` of its own, and the local gateway that they share.
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from "../../../src/base/json/json.js";
import { gatewaySocketPath } from "../../../src/gateway/index.js";
import { type AcpClient, type AcpClientOptions, listLiving, MARKER_VARIABLE } from "../../../src/testing/index.js";
import { startTenon, type TemporaryFolder } from "../agent.js";
import { WireClient } from "./wire-client.js";

const GONE_WITHIN_MS = 10_000;
const POLL_MS = 20;
const CAPABILITIES = { session: { notices: {} } };

export interface FleetOptions {
  /** Of every editor. */
  readonly env?: Readonly<Record<string, string>>;
  /** Messages are checked against the schemas of the protocol; true unless said otherwise. */
  readonly isValidated?: boolean;
}

export class Fleet implements AsyncDisposable {
  readonly home: TemporaryFolder;
  /** In the environment of every process of the fleet. */
  readonly marker: string = `fleet-${randomUUID()}`;
  readonly editors: Editor[] = [];
  readonly #options: FleetOptions;

  constructor(home: TemporaryFolder, options: FleetOptions = {}) {
    this.home = home;
    this.#options = options;
  }

  get socketPath(): string {
    return gatewaySocketPath({ env: {} }, join(this.home.path, "state"));
  }

  async editor(options: AcpClientOptions = {}): Promise<Editor> {
    const { isValidated = true } = this.#options;
    const env = { ...this.#options.env, [MARKER_VARIABLE]: this.marker };
    const unchecked = isValidated ? {} : { validate: () => undefined };
    const openedMs = performance.now();
    const client = await startTenon(this.home, { words: ["--gateway"], env, ...unchecked, ...options });
    const editor = new Editor(client, openedMs);
    this.editors.push(editor);
    await client.initialize({ clientCapabilities: CAPABILITIES });
    return editor;
  }

  /** One that was killed: it has not ended as it should. */
  async forget(editor: Editor): Promise<void> {
    this.editors.splice(this.editors.indexOf(editor), 1);
    await editor.client[Symbol.asyncDispose]().catch(() => undefined); // it complains of the kill
  }

  /** A client of the gateway without a translator, with the abilities of the editors. */
  async client(): Promise<WireClient> {
    const client = await WireClient.open(`ws+unix:${this.socketPath}:/acp`);
    await client.request("initialize", { protocolVersion: 1, clientCapabilities: CAPABILITIES });
    return client;
  }

  async gatewayPid(): Promise<number> {
    const client = await this.client();
    const { result } = await client.request("_tenon/gateway/status");
    await client.close();
    const pid = result?.["pid"];
    if (typeof pid !== "number") throw new Error("the gateway does not say its pid");
    return pid;
  }

  /** What runs of the fleet now, editors not counted. */
  processes(): readonly string[] {
    const editors = new Set(this.editors.map(({ client }) => client.pid));
    return listLiving({ marker: this.marker })
      .filter(({ pid }) => !editors.has(pid))
      .map(({ pid, command }) => `${pid}: ${command}`);
  }

  /** Editors first, then the gateway, as on a machine that is shut down. Throws when anything is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    const ended = await Promise.allSettled(this.editors.map(({ client }) => client[Symbol.asyncDispose]()));
    if (existsSync(this.socketPath)) {
      const pid = await this.gatewayPid().catch(() => undefined);
      if (pid !== undefined) process.kill(pid, "SIGTERM");
    }
    const left = await untilNone(() => this.processes());
    for (const { pid } of listLiving({ marker: this.marker })) process.kill(pid, "SIGKILL");
    for (const one of ended) if (one.status === "rejected") throw one.reason;
    if (left.length > 0) throw new Error(`left behind:\n  ${left.join("\n  ")}`);
  }
}

/** What is still there at the end of the time it has. */
export async function untilNone<T>(list: () => readonly T[], withinMs: number = GONE_WITHIN_MS): Promise<readonly T[]> {
  const until = performance.now() + withinMs;
  for (;;) {
    const left = list();
    if (left.length === 0 || performance.now() > until) return left;
    await sleep(POLL_MS);
  }
}

/** A `session/update` as it came. */
export interface ShownUpdate {
  readonly update: JsonObject;
  /** `12`, or `12.0` for the first part of record 12 that is not its last; undefined for what is of the moment. */
  readonly number: string | undefined;
  /** On the clock of `performance.now()`. */
  readonly atMs: number;
}

export class Editor {
  readonly client: AcpClient;
  readonly #openedMs: number;

  constructor(client: AcpClient, openedMs: number) {
    this.client = client;
    this.#openedMs = openedMs;
  }

  shown(sessionId: string): readonly ShownUpdate[] {
    return this.client.lines.flatMap(({ direction, text, atMs }) => {
      if (direction !== "received" || !text.includes('"session/update"')) return [];
      const message = parseObject(text);
      return message ? shownIn(message, sessionId, this.#openedMs + atMs) : [];
    });
  }
}

export function shownIn(message: JsonObject, sessionId: string, atMs: number): readonly ShownUpdate[] {
  const { method, params } = message;
  if (method !== "session/update" || !isJsonObject(params) || params["sessionId"] !== sessionId) return [];
  const { update } = params;
  return isJsonObject(update) ? [{ update, number: numberOf(params), atMs }] : [];
}

function numberOf(params: JsonObject): string | undefined {
  const { seq, partOf, part } = objectIn(objectIn(params, "_meta"), "tenon");
  if (typeof seq === "number") return String(seq);
  return typeof partOf === "number" ? `${partOf}.${String(part)}` : undefined;
}

function objectIn(value: JsonObject, name: string): JsonObject {
  const field: JsonValue | undefined = value[name];
  return isJsonObject(field) ? field : {};
}

/** The numbered ones, but for what the person said: a client does not get its own words back. */
export function numberedLines(shown: readonly ShownUpdate[]): readonly string[] {
  return shown.flatMap(({ number, update }) =>
    number === undefined || update["sessionUpdate"] === "user_message_chunk"
      ? []
      : [`${number} ${JSON.stringify(update)}`],
  );
}

/** All numbered updates of a session, as a client that loads it now gets them. */
export async function loadedLines(fleet: Fleet, sessionId: string): Promise<readonly string[]> {
  const client = await fleet.client();
  const { error } = await client.request("session/load", { sessionId, cwd: fleet.home.path, mcpServers: [] });
  if (error) throw new Error(`the session could not be loaded: ${error.message}`);
  const shown = client.received.flatMap((frame) => {
    const message: JsonValue = JSON.parse(JSON.stringify(frame));
    return isJsonObject(message) ? shownIn(message, sessionId, 0) : [];
  });
  await client.close();
  return numberedLines(shown);
}

/** In words, what differs; empty when a client has been shown exactly this, in this order. */
export function differences(shown: readonly string[], expected: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  const repeats = shown.filter((line) => seen.size === seen.add(line).size);
  const missing = expected.filter((line) => !seen.has(line));
  const known = new Set(expected);
  const unknown = shown.filter((line) => !known.has(line));
  const problems = [
    ...repeats.map((line) => `repeated: ${line}`),
    ...missing.map((line) => `missing: ${line}`),
    ...unknown.map((line) => `not in the log: ${line}`),
  ].map((line) => line.slice(0, 300));
  const isInOrder = shown.join("\n") === expected.join("\n");
  return problems.length > 0 || isInOrder ? problems : ["the order differs"];
}
