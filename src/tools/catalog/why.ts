// Why a tool is, or is not, in front of the model, by any name people use for it; and a view of the tools in front of the model.

import { defined } from "../../base/json/defined.js";
import { nearest } from "../../base/text/nearest.js";
import { mcpToolId, toolKey } from "../names.js";
import { cut, plain } from "../one-line.js";
import type { SearchHit } from "../search/index-of-tools.js";
import type { CatalogTool, SourceState, ToolOrigin } from "../tool.js";
import { type KnownTool, type KnownTools, type OfferedHow, type OfferedList, pathOf, resolveTool } from "./offer.js";
import { type BehindCause, type Offering, type Pick, type Plan, shadowText } from "./offered-tools.js";
import type { ToolSearch } from "./session-catalog.js";

export type WhyKind =
  | "offered"
  /** Behind search, and found or called in this conversation. */
  | "loaded"
  /** Behind search, no prompt has been yet. */
  | "behind_search"
  | "below_cut"
  | "over_budget"
  | "manual"
  | "filtered"
  | "shadowed"
  | "quarantined"
  /** Held back, or every call of it refused, until the person says otherwise. */
  | "not_approved"
  /** Its server comes from the project, and nobody has approved it. */
  | "not_trusted"
  | "server_failed"
  | "server_connecting"
  | "disabled"
  /** The model has seen it, and it is not there any more. */
  | "gone"
  | "ambiguous"
  | "unknown";

export interface WhyAnswer {
  readonly kind: WhyKind;
  /** For people, in whole sentences. */
  readonly text: string;
  readonly tool?: CatalogTool;
  /** The server of a tool that itself is not known. */
  readonly server?: string;
  /** Its rank when the last prompt chose. `rank` counts from 1 and is missing when nothing of it matched. */
  readonly search?: {
    readonly query: string;
    readonly rank?: number;
    readonly score: number;
    /** The score a tool needed to be chosen. */
    readonly cut: number;
    readonly matches: readonly { readonly term: string; readonly field: string; readonly score: number }[];
  };
  /** Other tools it looks like, a sentence each; also in `text`. */
  readonly lookAlikes?: readonly string[];
  /** Tools that could be meant, as `server/tool`. */
  readonly candidates?: readonly string[];
}

/** A server that has no source: the session knows why. */
export interface AbsentServer {
  readonly name: string;
  readonly origin: ToolOrigin;
  /** `gone`: it was there, and its client took it away or left. */
  readonly kind: "failed" | "not_trusted" | "disabled" | "shadowed" | "gone";
  readonly reason: string;
  /** Its own names of the tools it had. */
  readonly tools?: readonly string[];
}

/** The catalog at one moment. */
export interface CatalogState {
  readonly offering: Offering;
  /** The sources that count, Tenon's tools about tools among them once they are offered. */
  readonly sources: readonly KnownTools[];
  /** The list of the next model call. */
  readonly list: OfferedList;
  readonly plan: Plan;
  readonly search: ToolSearch;
  readonly absent: readonly AbsentServer[];
  /** Other tools it looks like, a sentence each. */
  lookAlikes(known: KnownTool): readonly string[];
}

export function whyTool(name: string, state: CatalogState): WhyAnswer {
  const resolved = resolveTool(name, state.sources);
  if (resolved.kind === "one") {
    const answer = whyKnown(resolved.known, state);
    const lookAlikes = state.lookAlikes(resolved.known);
    const others = sameName(name, resolved.known, state.sources);
    const texts = [answer.text, ...others, ...lookAlikes];
    return texts.length === 1
      ? answer
      : {
          ...answer,
          text: texts.join(" "),
          ...defined({ lookAlikes: lookAlikes.length > 0 ? lookAlikes : undefined }),
        };
  }
  const absent = resolved.kind === "none" ? whyAbsent(name, state) : undefined;
  if (absent) return absent;
  const candidates = (resolved.kind === "many" ? resolved.candidates : resolved.similar).map(pathOf);
  if (resolved.kind === "many") {
    const text = `"${name}" can mean ${candidates.join(" or ")}: ask for one of them.`;
    return { kind: "ambiguous", text, candidates };
  }
  const advice = candidates.length === 0 ? "" : ` Close to it: ${candidates.join(", ")}.`;
  return { kind: "unknown", text: `No server of this session has a tool "${name}".${advice}`, candidates };
}

/** A bare name means the tool that a model calls so; others may have it as their own name. */
function sameName(name: string, known: KnownTool, sources: readonly KnownTools[]): readonly string[] {
  const others = sources
    .flatMap(({ tools }) => tools.filter((one) => one !== known && one.raw.name === name))
    .map(pathOf);
  return others.length === 0 ? [] : [`${others.join(" and ")} ${others.length === 1 ? "has" : "have"} the same name.`];
}

/** A tool of the session, or one that is left out of it, in front of the model or not. */
export interface ExplainedTool {
  /** Missing for one that is left out. */
  readonly tool?: CatalogTool;
  readonly name: string;
  readonly server: string;
  readonly origin: ToolOrigin;
  readonly kind: WhyKind;
  /** For people, in whole sentences. */
  readonly reason: string;
}

/** Every tool there is, each as `whyTool` answers but for its rank: ranking all of them would take long. */
function explainTools(state: CatalogState): readonly ExplainedTool[] {
  return state.sources.flatMap((source) => {
    const { name: server, origin } = source.source;
    const known = source.tools.map((one): ExplainedTool => {
      const { kind, text } = whyKnown(one, state, true);
      return { tool: one.tool, name: one.tool.id, server, origin, kind, reason: text };
    });
    const unusable = source.source.leftOut?.() ?? [];
    const names = [...source.leftOut.map(({ ownName }) => ownName), ...unusable.map(({ name }) => name)];
    const others = [...new Set(names)].flatMap((name): ExplainedTool[] => {
      const why = whyLeftOut(name, source);
      return why ? [{ name, server, origin, kind: why.kind, reason: why.text }] : [];
    });
    return [...known, ...others];
  });
}

function whyKnown(known: KnownTool, state: CatalogState, isBrief = false): WhyAnswer {
  const { tool } = known;
  const { offering, list, plan } = state;
  const answer = (kind: WhyKind, words: string): WhyAnswer => {
    return { kind, text: `${tool.label} (${tool.id}) ${words}.`, tool };
  };
  const setAside = offering.whySetAside(known);
  if (setAside !== undefined) return answer("quarantined", `is set aside: ${setAside}`);
  const how = list.how.get(tool.id);
  const held = offering.whyHeld(known);
  if (held !== undefined) {
    const now = how ? "was offered to the model, and a call of it asks first" : "is held back";
    return answer("not_approved", `${now}: ${held}`);
  }
  const server = serverWords(known.source.state?.value);
  if (how) return answer("offered", `is offered to the model: ${howWords(known, how, state)}${server}`);
  const pick = offering.picks.get(tool.id);
  if (pick) return answer("loaded", `is behind search and can be called: ${pickWords(pick)}`);
  if (isDown(known, state)) return answer("server_failed", `is not offered${server}`);
  const cause = plan.behind.get(tool.id);
  if (cause === undefined) {
    const way = `/tools add or @tool:${pathOf(known)}`;
    return answer("manual", `is in mode "manual": it is offered when the person adds it with ${way}`);
  }
  const isEarly = offering.prompt === undefined;
  const kind = cause !== "search" ? "over_budget" : isEarly ? "behind_search" : "below_cut";
  const brief = answer(kind, behindWords(cause, offering));
  return isBrief ? brief : { ...brief, ...searchFacts(known, cause, state) };
}

function howWords({ tool, source, raw }: KnownTool, how: OfferedHow, { offering }: CatalogState): string {
  if (how === "manual") return "the person added it";
  if (how === "head_start") return pickWords(offering.picks.get(tool.id) ?? { how });
  if (tool.origin === "builtin") return "it is Tenon's own";
  const owner = offering.book.active.find((known) => known.source === source);
  const by = owner && offering.modes.of(owner, raw.name).by;
  return `its include mode is "always"${by === "default" ? " (default)" : ""}`;
}

function pickWords({ how, query, score }: Pick): string {
  const scored = score === undefined ? "" : ` with the score ${score.toFixed(2)}`;
  if (how === "head_start") return `the prompt "${cut(plain(query ?? ""), 80)}" chose it${scored}`;
  if (how === "called") return "the model called it by its name";
  return `the model found it${scored} when it searched for "${cut(plain(query ?? ""), 80)}"`;
}

function behindWords(cause: BehindCause, { limits, prompt }: Offering): string {
  const found = "the model finds it with tenon_search_tools";
  const inMode =
    prompt === undefined
      ? `is in mode "search": each prompt chooses from such tools, and ${found}`
      : `is in mode "search" and was not among the tools that prompts chose; ${found}`;
  const words: Readonly<Record<BehindCause, string>> = {
    servers: `is behind search, since the tools of ${limits.maxAlwaysServers} other servers are offered already; ${found}`,
    tools: `is behind search, since a model call is offered no more than ${limits.maxAlwaysTools} tools; ${found}`,
    search: inMode,
  };
  return words[cause];
}

/** Its rank for the last prompt that chose tools. */
function searchFacts({ tool }: KnownTool, cause: BehindCause, { offering, list, search }: CatalogState) {
  const { prompt: query, leastScore: needed, limits } = offering;
  if (query === undefined || limits.headStart === 0) return {};
  const { rank, hit, isHeldBack } = search.explain(query, tool.id, limits.headStart + list.entries.length);
  const full = isHeldBack ? ", and its server had its places already" : "";
  const stood =
    hit === undefined
      ? "Nothing in the last prompt matched it."
      : `For the last prompt it was number ${rank} with the score ${hit.score.toFixed(2)}${byMeaning(hit)}; ${needed.toFixed(2)} was needed${full}.`;
  const facts = { query, ...defined({ rank }), score: hit?.score ?? 0, cut: needed, matches: hit?.matches ?? [] };
  return { search: facts, text: `${tool.label} (${tool.id}) ${behindWords(cause, offering)}. ${stood}` };
}

function isDown({ source }: KnownTool, { offering: { book } }: CatalogState): boolean {
  return book.active.some((known) => known.source === source && known.isDown);
}

/** Whether meaning had a part in it. */
function byMeaning({ matches }: SearchHit): string {
  const meaning = matches.find(({ field }) => field === "meaning");
  return meaning ? ` (${meaning.score.toFixed(2)} of it by meaning)` : " (by words alone)";
}

const READY: SourceState = { kind: "ready" };

/** An offered tool may still fail: the state of its server belongs to the answer. */
function serverWords(state: SourceState = READY): string {
  const reason = "reason" in state ? state.reason : "";
  if (state.kind === "broken" && state.isAwaited) return `; ${reason}, and a call waits for it`;
  const words: Readonly<Record<SourceState["kind"], string>> = {
    ready: "",
    connecting: "; its server is still connecting, and a call waits for it",
    broken: `; its server broke and is being restarted (${reason})`,
    failed: `; its server failed, so a call of it fails (${reason})`,
    closed: "; its server is closed",
  };
  return words[state.kind];
}

/** Why no known tool has the name: it was left out, its server is shadowed, absent or not ready, or it is gone. */
function whyAbsent(name: string, { list, offering: { book }, absent }: CatalogState): WhyAnswer | undefined {
  const gone = list.seen.get(name)?.tool;
  if (gone) {
    const left = absent.find((server) => server.kind === "gone" && server.name === gone.source);
    const why = left?.reason ?? "its server does not have it any more";
    return { kind: "gone", tool: gone, text: `${gone.label} is gone: ${why}.` };
  }
  return [
    ...book.active.map((source) => () => whyLeftOut(name, source)),
    () => whyShadowed(name, book),
    ...absent.map((server) => (): WhyAnswer | undefined => {
      const kind = server.kind === "failed" ? "server_failed" : server.kind;
      const isGone = server.kind === "gone";
      const text = isGone
        ? `The tools of "${server.name}" are gone: ${server.reason}.`
        : `The server "${server.name}" is not used: ${server.reason}.`;
      const isTool = server.tools?.some((own) => isNameOf(name, server.name, own)) === true;
      return isTool || isOf(name, server.name) ? { kind, text } : undefined;
    }),
    ...book.active.map((source) => () => whyServer(name, source)),
  ].reduce<WhyAnswer | undefined>((answer, next) => answer ?? next(), undefined);
}

function whyLeftOut(name: string, { source, leftOut }: KnownTools): WhyAnswer | undefined {
  const server = source.name;
  const left = leftOut.find(({ ownName }) => isNameOf(name, server, ownName));
  if (left) {
    const kind = left.kind === "broken" ? "quarantined" : left.kind;
    return { kind, text: `The tool "${left.ownName}" of "${server}" is left out: ${left.reason}.`, server };
  }
  const unusable = source.leftOut?.().find((entry) => isNameOf(name, server, entry.name));
  return unusable && { kind: "quarantined", text: `Of the list of "${server}": ${unusable.text}.`, server };
}

function whyShadowed(name: string, { shadowed }: Offering["book"]): WhyAnswer | undefined {
  const one = shadowed.find(({ known: { source, tools } }) => {
    return source.name === name || tools.some(({ raw }) => isNameOf(name, source.name, raw.name));
  });
  return one && { kind: "shadowed", text: `${shadowText(one).replace("the", "The")}.` };
}

function whyServer(name: string, { source, tools }: KnownTools): WhyAnswer | undefined {
  if (!isOf(name, source.name)) return undefined;
  const state = source.state?.value ?? READY;
  const server = `The server "${source.name}"`;
  const reason = "reason" in state ? state.reason : "";
  const candidates = tools.map(pathOf);
  const near = nearest(name, [...candidates, ...tools.map(({ tool }) => tool.id)]);
  const meant = near === undefined ? "" : ` Did you mean ${near}?`;
  const isMeant = name === source.name;
  const answers: Readonly<Record<SourceState["kind"], WhyAnswer>> = {
    ready: isMeant
      ? { kind: "ambiguous", text: `${server} is ready.`, candidates }
      : {
          kind: "unknown",
          text: `${server} is ready and has no such tool.${meant}`,
          candidates: candidates.slice(0, 20),
        },
    connecting: { kind: "server_connecting", text: `${server} is still connecting: its tools join once it is ready.` },
    broken: {
      kind: "server_failed",
      text:
        "isAwaited" in state
          ? `${server} cannot be called now: ${reason}.`
          : `${server} broke and is being restarted: ${reason}.`,
    },
    failed: { kind: "server_failed", text: `${server} failed: ${reason}.` },
    closed: { kind: "server_failed", text: `${server} is closed.` },
  };
  return answers[state.kind];
}

function isNameOf(name: string, server: string, ownName: string): boolean {
  const names = [ownName, `${server}/${ownName}`, mcpToolId(server, ownName), toolKey(server, ownName)];
  return names.includes(name);
}

/** Whether a name belongs to a server whose tools are not known: only for words to people, nothing is looked up by it. */
function isOf(name: string, server: string): boolean {
  return name === server || name.startsWith(`${server}/`) || name.startsWith(mcpToolId(server, "x").slice(0, -1));
}

export interface ViewedTool {
  readonly tool: CatalogTool;
  readonly how: "always" | "manual" | Pick["how"];
  /** For tools a search picked. */
  readonly score?: number;
  readonly query?: string;
}

export interface CatalogView {
  /** Always and manual, in the order they are offered. */
  readonly session: readonly ViewedTool[];
  /** The same, then the tools that searches picked, with scores. */
  readonly request: readonly ViewedTool[];
  /** How many tools of each server wait behind search, and why. */
  readonly behindSearch: readonly { readonly server: string; readonly cause: BehindCause; readonly count: number }[];
  readonly shadowed: readonly { readonly server: string; readonly origin: string; readonly by: string }[];
  /** Every tool there is, and those that are left out. */
  all(): readonly ExplainedTool[];
}

export function inspectCatalog(state: CatalogState): CatalogView {
  const { list, plan } = state;
  const { picks, book } = state.offering;
  const session = list.entries.flatMap(({ known: { tool }, how }): ViewedTool[] =>
    how === "head_start" ? [] : [{ tool, how }],
  );
  const picked = [...picks].flatMap(([id, pick]): ViewedTool[] => {
    const tool = list.seen.get(id)?.tool;
    return tool ? [{ tool, ...pick }] : [];
  });
  const behindSearch = book.active.flatMap(({ source, tools }) => {
    const counts = new Map<BehindCause, number>();
    for (const { id } of tools.map(({ tool }) => tool)) {
      const cause = plan.behind.get(id);
      if (cause !== undefined && !list.how.has(id) && !picks.has(id)) counts.set(cause, (counts.get(cause) ?? 0) + 1);
    }
    return [...counts].map(([cause, count]) => ({ server: source.name, cause, count }));
  });
  const shadowed = book.shadowed.map(({ known: { source }, by }) => {
    return { server: source.name, origin: source.origin, by: by.origin };
  });
  return { session, request: [...session, ...picked], behindSearch, shadowed, all: () => explainTools(state) };
}
