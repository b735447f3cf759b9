// Agrees with a server on how to talk: probes in place, falls back, and heals a remembered verdict that is out of date.
import { orAborted } from "../../base/async/deadline.js";
import { TenonError } from "../../base/errors.js";
import type { JsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import type { ConnectionOptions } from "../options.js";
import type { RpcOutcome } from "../rpc/rpc.js";
import { clientCapabilities, LEGACY_VERSIONS, MODERN_VERSION, withEnvelope } from "./envelope.js";
import { type Asked, judgeInitialize, judgeProbe, noCommonVersion, type ProbeVerdict } from "./handshake.js";
import { FOREVER_MS, type Line } from "./line.js";
import type { Handshake } from "./link.js";

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
export async function negotiate(line: Line, options: ConnectionOptions, terms: Terms): Promise<Negotiated> {
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

async function probe(line: Line, terms: Terms): Promise<Probed> {
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
  return { kind: "refused", error: new TenonError("mcp.unsupported_version", text) };
}

interface InitializeTerms extends Terms {
  /** Whether a server that turns out to be modern after all may be asked as one. */
  readonly mayProbe: boolean;
  readonly isCertain: boolean;
}

async function initialize(line: Line, options: ConnectionOptions, terms: InitializeTerms): Promise<Negotiated> {
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
        return await switchToModern(line, terms);
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

/** Modern servers need not say that they are when they refuse `initialize`: many know no such method, and that is all they say. */
async function modernOr(refusal: TenonError, line: Line, terms: Terms): Promise<Negotiated> {
  const verdict = await probe(line, terms);
  if (verdict.kind === "modern") return agreeModern(line, verdict.handshake);
  throw refusal;
}

/** It was remembered as legacy, or too slow to answer the probe, and now says that it is modern. */
async function switchToModern(line: Line, terms: Terms): Promise<Negotiated> {
  const verdict = await probe(line, terms);
  switch (verdict.kind) {
    case "modern":
      return agreeModern(line, verdict.handshake);
    case "legacy":
      throw noCommonVersion([MODERN_VERSION]);
    case "restart_legacy":
      throw verdict.cause;
    case "refused":
      throw verdict.error;
  }
}

function agreeModern(line: Line, handshake: Handshake): Negotiated {
  line.wire.agreed(handshake.agreement);
  return { kind: "agreed", handshake, isCertain: true };
}

function initializeParams(options: ConnectionOptions, protocolVersion: string): JsonObject {
  const { name, version } = options.client;
  return { protocolVersion, capabilities: clientCapabilities(options.peer), clientInfo: { name, version } };
}

/** `initialize` must not be cancelled, so signal and time end only our waiting; whoever ends it closes the wire anyway. */
async function sendInitialize(
  line: Line,
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
