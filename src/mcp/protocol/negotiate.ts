// Agrees with a server on how to talk: probes in place, falls back, and heals a remembered verdict that is out of date.
import { orAborted } from "../../base/async/deadline.js";
import { type ErrorCode, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import type { RpcOutcome } from "../rpc/rpc.js";
import type { RequestLoss, RpcErrorBody } from "../transport/transport.js";
import { LEGACY_VERSIONS, META, MODERN_VERSION } from "../versions.js";
import { clientCapabilities, withEnvelope } from "./envelope.js";
import { FOREVER_MS, type Handshake, type LinkOptions, type ServerIdentity } from "./link.js";
import { textField } from "./lists.js";
import type { OpenLink } from "./open-link.js";

export interface Terms extends Asked {
  /** How to begin: with the probe, or with `initialize` for what is known to be a legacy server. */
  readonly begin: "probe" | "legacy";
  readonly probeTimeoutMs: number;
  /** A local server silent at the probe and then at `initialize` for this long is stuck: another one, without the probe. */
  readonly restartAfterMs: number;
  readonly signal: AbortSignal;
}

export type Negotiated =
  /** Certain: worth remembering for the next start. */
  | { readonly kind: "agreed"; readonly handshake: Handshake; readonly isCertain: boolean }
  | { readonly kind: "restart_legacy"; readonly cause: TenonError };

/** Rejects with the reason when there is no way to talk. Each way is tried a bounded number of times. */
export async function negotiate(line: OpenLink, options: LinkOptions, terms: Terms): Promise<Negotiated> {
  if (terms.begin === "legacy") return await initialize(line, options, { ...terms, mayProbe: true, isCertain: true });
  const verdict = await probe(line, terms);
  switch (verdict.kind) {
    case "modern":
      return agreeModern(line, verdict.handshake);
    case "legacy":
      return await initialize(line, options, { ...terms, mayProbe: !verdict.isCertain, isCertain: verdict.isCertain });
    case "restart_legacy":
      return verdict;
    case "refused":
      throw verdict.error;
  }
}

type Probed =
  | Exclude<ProbeVerdict, { kind: "ask_again" | "restart_legacy" }>
  | Extract<Negotiated, { kind: "restart_legacy" }>;

async function probe(line: OpenLink, terms: Terms): Promise<Probed> {
  for (let asked = 0; asked < 2; asked++) {
    const outcome = await line.rpc.request("server/discover", withEnvelope({}, line.envelope), {
      signal: terms.signal,
      timeoutMs: terms.probeTimeoutMs,
    });
    terms.signal.throwIfAborted();
    const verdict = judgeProbe(outcome, terms);
    if (verdict.kind === "restart_legacy") return { kind: "restart_legacy", cause: causeOf(outcome) };
    if (verdict.kind !== "ask_again") return verdict;
  }
  const text = `the server says it speaks ${MODERN_VERSION} and refuses it all the same`;
  return refused("mcp.unsupported_version", text);
}

interface InitializeTerms extends Terms {
  /** Whether a server that turns out to be modern after all may be asked as one. */
  readonly mayProbe: boolean;
  readonly isCertain: boolean;
}

async function initialize(line: OpenLink, options: LinkOptions, terms: InitializeTerms): Promise<Negotiated> {
  let version = LEGACY_VERSIONS[0] ?? "";
  for (let asked = 0; asked < 2; asked++) {
    const outcome = await sendInitialize(line, initializeParams(options, version), { ...terms, world: options.world });
    if (outcome === "silence") return { kind: "restart_legacy", cause: silence("initialize", terms.restartAfterMs) };
    const verdict = judgeInitialize(outcome, { ...terms, version });
    switch (verdict.kind) {
      case "legacy":
        line.wire.agreed(verdict.handshake.agreement);
        line.rpc.notify("notifications/initialized", {});
        return { kind: "agreed", handshake: verdict.handshake, isCertain: terms.isCertain };
      case "modern":
        if (!terms.mayProbe) throw noCommonVersion([MODERN_VERSION]);
        return await modernOr(undefined, line, terms);
      case "ask_again":
        version = verdict.version;
        break;
      case "refused":
        if (!terms.mayProbe || !isAnswer(outcome)) throw verdict.error;
        return await modernOr(verdict.error, line, terms);
    }
  }
  throw noCommonVersion([version]);
}

/** A refusal by the server itself: words of its own, or a status that says the request was not for it. */
function isAnswer(outcome: RpcOutcome): boolean {
  if (outcome.kind !== "lost") return outcome.kind === "error";
  const { error, httpStatus = 0 } = outcome.loss;
  return error.code === "mcp.protocol" && httpStatus >= 400 && httpStatus <= 499;
}

/**
 * Asks as a modern server one that was taken for a legacy one: it says that it is modern, or it refused `initialize`, where
 * many modern servers know no such method and say no more. `refusal` is the error when it is not modern either.
 */
async function modernOr(refusal: TenonError | undefined, line: OpenLink, terms: Terms): Promise<Negotiated> {
  const verdict = await probe(line, terms);
  if (verdict.kind === "modern") return agreeModern(line, verdict.handshake);
  if (refusal || verdict.kind === "legacy") throw refusal ?? noCommonVersion([MODERN_VERSION]);
  throw verdict.kind === "refused" ? verdict.error : verdict.cause;
}

function agreeModern(line: OpenLink, handshake: Handshake): Negotiated {
  line.wire.agreed(handshake.agreement);
  return { kind: "agreed", handshake, isCertain: true };
}

function initializeParams(options: LinkOptions, protocolVersion: string): JsonObject {
  const { name, version } = options.client;
  return { protocolVersion, capabilities: clientCapabilities(options.peer), clientInfo: { name, version } };
}

/** `initialize` must not be cancelled, so signal and time end only our waiting; the transport is closed then anyway. */
async function sendInitialize(
  line: OpenLink,
  params: JsonObject,
  terms: InitializeTerms & { readonly world: World },
): Promise<RpcOutcome | "silence"> {
  const never = new AbortController().signal;
  const answer = line.rpc.request("initialize", params, { signal: never, timeoutMs: FOREVER_MS });
  if (terms.isCertain || terms.isRemote) return await orAborted(answer, terms.signal);
  using patience = terms.world.deadline(terms.restartAfterMs, terms.signal);
  return await orAborted(answer, patience.signal).catch((thrown: unknown) => {
    if (patience.expired) return "silence" as const;
    throw thrown;
  });
}

function causeOf(outcome: RpcOutcome): TenonError {
  if (outcome.kind === "lost") return outcome.loss.error;
  return silence("server/discover", outcome.kind === "timed_out" ? outcome.afterMs : 0);
}

function silence(method: string, afterMs: number): TenonError {
  return new TenonError("mcp.connect_timeout", `no answer to ${method} within ${afterMs} ms`);
}

const HEADER_MISMATCH = -32020;
const MISSING_CAPABILITY = -32021;
const UNSUPPORTED_VERSION = -32022;

/** Losses that no other way of talking would cure. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  "mcp.spawn_failed",
  "mcp.invalid_spec",
  "mcp.url_refused",
  "mcp.unauthorized",
]);

export type ProbeVerdict =
  | { readonly kind: "modern"; readonly handshake: Handshake }
  /** It named our own version while refusing it: asking once more is what it wants. */
  | { readonly kind: "ask_again" }
  /** Not certain: it worked around silence, and the next start should ask again. */
  | { readonly kind: "legacy"; readonly isCertain: boolean }
  /** This process may be stuck or gone because of the probe: another one, and no probe. */
  | { readonly kind: "restart_legacy" }
  | { readonly kind: "refused"; readonly error: TenonError };

export type InitializeVerdict =
  | { readonly kind: "legacy"; readonly handshake: Handshake }
  /** What we took for a legacy server speaks only the modern era. */
  | { readonly kind: "modern" }
  /** It refused our version and named another one that we speak. */
  | { readonly kind: "ask_again"; readonly version: string }
  | { readonly kind: "refused"; readonly error: TenonError };

export interface Asked {
  readonly isRemote: boolean;
  /** How the server is called when it does not say. */
  readonly serverName: string;
}

export function judgeProbe(outcome: RpcOutcome, asked: Asked): ProbeVerdict {
  switch (outcome.kind) {
    case "result":
      return judgeDiscovery(outcome.result, asked);
    case "error":
      return judgeProbeError(outcome.error);
    case "timed_out": // it may only be starting up: `npx` downloads for half a minute, and killing it would begin anew
      return { kind: "legacy", isCertain: false };
    case "cancelled":
      return refused("cancelled", "connecting was cancelled");
    case "lost":
      return judgeProbeLoss(outcome.loss, asked);
  }
}

function judgeDiscovery(result: JsonObject, asked: Asked): ProbeVerdict {
  const versions = textsOf(result["supportedVersions"]);
  const { capabilities } = result;
  const isDiscovery = versions.length > 0 && isJsonObject(capabilities);
  if (!isDiscovery || !versions.includes(MODERN_VERSION)) return { kind: "legacy", isCertain: true };
  const meta = isJsonObject(result["_meta"]) ? result["_meta"] : {};
  // Drafts of the version had it in the body; both are in use.
  const server = identityOf(meta[META.serverInfo] ?? result["serverInfo"], asked.serverName);
  const agreement = { era: "modern", protocolVersion: MODERN_VERSION } as const;
  const instructions = textField(result, "instructions");
  return { kind: "modern", handshake: { agreement, server, capabilities, ...defined({ instructions }) } };
}

function judgeProbeError(error: RpcErrorBody): ProbeVerdict {
  if (error.code === HEADER_MISMATCH || error.code === MISSING_CAPABILITY) {
    return refused("mcp.protocol", `the server refused server/discover: ${error.message} (${error.code})`);
  }
  if (error.code !== UNSUPPORTED_VERSION) return { kind: "legacy", isCertain: true };
  const supported = supportedOf(error);
  if (supported.includes(MODERN_VERSION)) return { kind: "ask_again" };
  const isOnlyNewer = supported.length > 0 && supported.every((version) => isNewer(version));
  return isOnlyNewer ? { kind: "refused", error: noCommonVersion(supported) } : { kind: "legacy", isCertain: true };
}

function judgeProbeLoss(loss: RequestLoss, asked: Asked): ProbeVerdict {
  const { error, wasSent, httpStatus } = loss;
  if (FINAL.has(error.code)) return { kind: "refused", error };
  // A page, a 202, a 5xx or an empty result is an answer, if a poor one: servers older than the probe give it.
  const isAnswer = httpStatus !== undefined || (wasSent && error.code === "mcp.protocol");
  if (isAnswer) return { kind: "legacy", isCertain: true };
  if (!asked.isRemote) return { kind: "restart_legacy" };
  // One that only hung up may be such a server too, or in trouble; one that was not reached says nothing.
  const hungUp = wasSent && error.code === "mcp.connection_lost";
  return hungUp ? { kind: "legacy", isCertain: false } : { kind: "refused", error };
}

export function judgeInitialize(outcome: RpcOutcome, asked: Asked & { readonly version: string }): InitializeVerdict {
  switch (outcome.kind) {
    case "result":
      return judgeInitialized(outcome.result, asked);
    case "error":
      return judgeInitializeError(outcome.error, asked.version);
    case "timed_out":
      return { kind: "refused", error: silence("initialize", outcome.afterMs) };
    case "cancelled":
      return refused("cancelled", "connecting was cancelled");
    case "lost":
      return { kind: "refused", error: outcome.loss.error };
  }
}

function judgeInitialized(result: JsonObject, asked: Asked): InitializeVerdict {
  const { protocolVersion, capabilities } = result;
  if (typeof protocolVersion !== "string") {
    return refused("mcp.protocol", "the server's answer to initialize names no protocol version");
  }
  if (!LEGACY_VERSIONS.includes(protocolVersion)) return { kind: "refused", error: noCommonVersion([protocolVersion]) };
  const handshake: Handshake = {
    agreement: { era: "legacy", protocolVersion },
    server: identityOf(result["serverInfo"], asked.serverName),
    capabilities: isJsonObject(capabilities) ? capabilities : {},
    ...defined({ instructions: textField(result, "instructions") }),
  };
  return { kind: "legacy", handshake };
}

function judgeInitializeError(error: RpcErrorBody, asked: string): InitializeVerdict {
  const supported = supportedOf(error);
  if (supported.includes(MODERN_VERSION)) return { kind: "modern" };
  const version = LEGACY_VERSIONS.find((known) => known !== asked && supported.includes(known));
  if (version !== undefined) return { kind: "ask_again", version };
  if (error.code === UNSUPPORTED_VERSION) return { kind: "refused", error: noCommonVersion(supported) };
  return refused("mcp.connect_failed", `the server refused initialize: ${error.message} (${error.code})`);
}

function refused(code: ErrorCode, text: string): { readonly kind: "refused"; readonly error: TenonError } {
  return { kind: "refused", error: new TenonError(code, text) };
}

function noCommonVersion(theirs: readonly string[]): TenonError {
  const ours = [MODERN_VERSION, ...LEGACY_VERSIONS].join(", ");
  const said = theirs.length === 0 ? "no version that we could use" : theirs.slice(0, 10).join(", ");
  return new TenonError("mcp.unsupported_version", `the server speaks ${said}; Tenon speaks ${ours}`);
}

function supportedOf(error: RpcErrorBody): string[] {
  return isJsonObject(error.data) ? textsOf(error.data["supported"]) : [];
}

function isNewer(version: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(version) && version > MODERN_VERSION;
}

function textsOf(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function identityOf(raw: JsonValue | undefined, fallbackName: string): ServerIdentity {
  const info = isJsonObject(raw) ? raw : {};
  const version = textField(info, "version") ?? "";
  return { name: textField(info, "name") || fallbackName, version, ...defined({ title: textField(info, "title") }) };
}
