// Why a tool is, or is not, in front of the model, by whatever name people use for it.
import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import { cut, plain } from "../one-line.js";
import { type CatalogTool, mcpToolId, type ToolId, type ToolOrigin } from "../tool.js";
import { shadowText } from "./notices.js";
import type { OfferedList } from "./offer.js";
import type { BehindCause, CatalogLimits, Plan } from "./offering.js";
import { pathOf, resolveTool } from "./resolve.js";
import type { IncludeModes, KnownTool, KnownTools, SourceBook } from "./sources.js";
import type { ToolFinder } from "./tool-search.js";

export function whyTool(name: string, state: CatalogState): WhyAnswer {
  const resolved = resolveTool(name, state.sources);
  switch (resolved.kind) {
    case "one":
      return whyKnown(resolved.known, state);
    case "many": {
      const candidates = resolved.candidates.map(pathOf);
      return {
        kind: "ambiguous",
        text: `"${name}" can mean ${candidates.join(" or ")}: ask for one of them.`,
        candidates,
      };
    }
    case "none":
      return whyAbsent(name, state) ?? unknown(name, resolved.similar);
    default:
      return unreachable(resolved);
  }
}

function unknown(name: string, similar: readonly KnownTool[]): WhyAnswer {
  const candidates = similar.map(pathOf);
  const advice = candidates.length === 0 ? "" : ` Close to it: ${candidates.join(", ")}.`;
  return { kind: "unknown", text: `No server of this session has a tool "${name}".${advice}`, candidates };
}

function whyKnown(known: KnownTool, state: CatalogState): WhyAnswer {
  const answer = whyPlain(known, state);
  const lookAlikes = state.lookAlikes(known);
  return lookAlikes.length === 0 ? answer : { ...answer, text: [answer.text, ...lookAlikes].join(" "), lookAlikes };
}

function whyPlain(known: KnownTool, state: CatalogState): WhyAnswer {
  const { tool } = known;
  const answer = (kind: WhyKind, words: string, more: Partial<WhyAnswer> = {}): WhyAnswer => ({
    kind,
    text: `${tool.label} (${tool.id}) ${words}${kind === "offered" ? standingWords(known) : ""}.`,
    tool,
    ...more,
  });
  const setAside = state.whySetAside(known);
  if (setAside !== undefined) return answer("quarantined", `is set aside: ${setAside}`);
  const how = state.list.how.get(tool.id);
  const held = state.whyHeld(known);
  if (held !== undefined) {
    return answer(
      "not_approved",
      `${how ? "was offered to the model, and a call of it asks first" : "is held back"}: ${held}`,
    );
  }
  if (how) return answer("offered", `is offered to the model: ${howWords(known, how, state)}`);
  const pick = state.picks.get(tool.id);
  if (pick) return answer("loaded", `is behind search and can be called: ${pickWords(pick)}`);
  const cause = state.plan.behind.get(tool.id);
  if (cause === undefined) {
    return answer(
      "manual",
      `is in mode "manual": it is offered when the person adds it with /tools add or @tool:${pathOf(known)}`,
    );
  }
  return { ...answer(behindKind(cause, state), behindWords(cause, state)), ...searchFacts(known, cause, state) };
}

function howWords(known: KnownTool, how: "always" | "manual" | "head_start", state: CatalogState): string {
  switch (how) {
    case "always":
      return known.tool.origin === "builtin" ? "it is Tenon's own" : alwaysWords(known, state);
    case "manual":
      return "the person added it";
    case "head_start":
      return pickWords(state.picks.get(known.tool.id) ?? { how: "head_start" });
    default:
      return unreachable(how);
  }
}

function alwaysWords({ source, raw }: KnownTool, { book, modes }: CatalogState): string {
  const owner = book.active.find((known) => known.source === source);
  const by = owner && modes.of(owner, raw.name).by;
  return `its mode is "always"${by === "default" ? ", since nobody said otherwise" : ""}`;
}

function pickWords({ how, query, score }: Pick): string {
  const scored = score === undefined ? "" : ` with the score ${score.toFixed(2)}`;
  switch (how) {
    case "head_start":
      return `the first prompt chose it${scored}`;
    case "found":
      return `the model found it${scored} when it searched for "${cut(plain(query ?? ""), 80)}"`;
    case "called":
      return "the model called it by its name";
    default:
      return unreachable(how);
  }
}

function behindKind(cause: BehindCause, state: CatalogState): WhyKind {
  if (cause !== "search") return "over_budget";
  return state.firstPrompt === undefined ? "behind_search" : "below_cut";
}

function behindWords(cause: BehindCause, { limits, firstPrompt }: CatalogState): string {
  const found = "the model finds it with tenon_search_tools";
  switch (cause) {
    case "servers":
      return `is behind search, since the tools of ${limits.maxAlwaysServers} other servers are offered already; ${found}`;
    case "tools":
      return `is behind search, since a model call is offered no more than ${limits.maxAlwaysTools} tools; ${found}`;
    case "search":
      return firstPrompt === undefined
        ? `is in mode "search": the first prompt chooses from such tools, and ${found}`
        : `is in mode "search" and was not among the tools the first prompt chose; ${found}`;
    default:
      return unreachable(cause);
  }
}

/** Where it stood, where something was chosen at all. */
function searchFacts(known: KnownTool, cause: BehindCause, state: CatalogState): Partial<WhyAnswer> {
  const query = state.firstPrompt;
  if (query === undefined || state.limits.headStart === 0) return {};
  const chosen = [...state.picks.values()].filter(({ how }) => how === "head_start");
  const limit = state.limits.headStart + state.list.entries.length;
  const { rank, hit, isHeldBack } = state.finder.explain({ query, limit }, known.tool.id);
  const lowest = Math.min(...chosen.map(({ score = 0 }) => score));
  const needed = chosen.length === 0 ? 0 : lowest;
  const search = {
    query,
    ...defined({ rank }),
    score: hit?.score ?? 0,
    cut: needed,
    matches: hit?.matches ?? [],
  };
  const stood =
    hit === undefined
      ? "Nothing in the first prompt matched it."
      : `For the first prompt it was number ${rank} with the score ${hit.score.toFixed(2)}; ${needed.toFixed(2)} was needed${isHeldBack ? ", and its server had its places already" : ""}.`;
  const text = `${known.tool.label} (${known.tool.id}) ${behindWords(cause, state)}. ${stood}`;
  return { search, text };
}

/** An offered tool may still fail: its server's state belongs to the answer. */
function standingWords({ source }: KnownTool): string {
  const state = source.state?.value;
  switch (state?.kind) {
    case undefined:
    case "ready":
      return "";
    case "connecting":
      return "; its server is still connecting, and a call waits for it";
    case "broken":
      return `; its server broke and is being restarted (${state.reason})`;
    case "failed":
      return `; its server failed, so a call of it fails (${state.reason})`;
    case "closed":
      return "; its server is closed";
    default:
      return unreachable(state);
  }
}

// The answer to why a tool is, or is not, in front of the model: a kind for programs and sentences for people.
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
  /** Whose tool it is, where that is known though the tool is not. */
  readonly server?: string;
  /** Where it stood when the first prompt chose. `rank` counts from 1 and is missing when nothing of it matched. */
  readonly search?: {
    readonly query: string;
    readonly rank?: number;
    readonly score: number;
    /** The score a tool needed to be chosen. */
    readonly cut: number;
    readonly matches: readonly { readonly term: string; readonly field: string; readonly score: number }[];
  };
  /** What of it looks like another tool, a sentence each; also in `text`. */
  readonly lookAlikes?: readonly string[];
  /** What could be meant, as `server/tool`. */
  readonly candidates?: readonly string[];
}

// Why a name is none of a known tool: left out on the way, of a server that is shadowed, absent or not ready, or gone.
/** Undefined when it was never there. */
function whyAbsent(name: string, state: CatalogState): WhyAnswer | undefined {
  const gone = state.list.seen.get(name);
  if (gone) {
    return { kind: "gone", tool: gone.tool, text: `${gone.tool.label} is gone: its server does not have it any more.` };
  }
  return (
    first(state.book.active, (source) => whyLeftOut(name, source)) ??
    whyShadowed(name, state) ??
    first(state.absent, (server) => whyAbsentServer(name, server)) ??
    first(state.book.active, (source) => whyServer(name, source))
  );
}

function whyLeftOut(name: string, known: KnownTools): WhyAnswer | undefined {
  const { source } = known;
  const left = known.leftOut.find(({ ownName }) => namesOf(source.name, ownName).includes(name));
  if (left) {
    const kind = left.kind === "broken" ? "quarantined" : left.kind;
    const text = `The tool "${left.ownName}" of "${source.name}" is left out: ${left.reason}.`;
    return { kind, text, server: source.name };
  }
  const sentence = source.problems?.().find((problem) => mentions(problem, name, source.name));
  return sentence === undefined
    ? undefined
    : { kind: "quarantined", text: `Of the list of "${source.name}": ${sentence}.`, server: source.name };
}

/** A list's problems name their tools in quotes. */
function mentions(problem: string, name: string, server: string): boolean {
  const own = name.startsWith(`${server}/`) ? name.slice(server.length + 1) : name;
  const quoted = /^tool "(.*)" is left out/u.exec(problem)?.[1];
  return quoted !== undefined && (quoted === own || mcpToolId(server, quoted) === name);
}

function whyShadowed(name: string, { book }: CatalogState): WhyAnswer | undefined {
  const one = book.shadowed.find(
    ({ known }) =>
      known.source.name === name || known.tools.some(({ raw }) => namesOf(known.source.name, raw.name).includes(name)),
  );
  return one && { kind: "shadowed", text: `${capital(shadowText(one))}.` };
}

function whyAbsentServer(name: string, server: AbsentServer): WhyAnswer | undefined {
  if (!isOf(name, server.name)) return undefined;
  const kind = server.kind === "failed" ? "server_failed" : server.kind;
  return { kind, text: `The server "${server.name}" is not used: ${server.reason}.` };
}

function whyServer(name: string, { source, tools }: KnownTools): WhyAnswer | undefined {
  if (!isOf(name, source.name)) return undefined;
  const state = source.state?.value;
  const what = `The server "${source.name}"`;
  switch (state?.kind) {
    case undefined:
    case "ready":
      return name === source.name
        ? { kind: "ambiguous", text: `${what} is ready.`, candidates: tools.map(pathOf) }
        : {
            kind: "unknown",
            text: `${what} is ready and has no such tool.`,
            candidates: tools.slice(0, 20).map(pathOf),
          };
    case "connecting":
      return { kind: "server_connecting", text: `${what} is still connecting: its tools join once it is ready.` };
    case "broken":
      return { kind: "server_failed", text: `${what} broke and is being restarted: ${state.reason}.` };
    case "failed":
      return { kind: "server_failed", text: `${what} failed: ${state.reason}.` };
    case "closed":
      return { kind: "server_failed", text: `${what} is closed.` };
    default:
      return unreachable(state);
  }
}

function namesOf(server: string, ownName: string): readonly (string | ToolId)[] {
  return [ownName, `${server}/${ownName}`, mcpToolId(server, ownName)];
}

/** Whether a name belongs to a server whose tools nobody knows: only for words to people, nothing is looked up by it. */
function isOf(name: string, server: string): boolean {
  return name === server || name.startsWith(`${server}/`) || name.startsWith(mcpToolId(server, "x").slice(0, -1));
}

function first<T, U>(items: readonly T[], find: (item: T) => U | undefined): U | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

// A view of what is in front of the model: for the whole session, and what this conversation added to it.
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
  /** The same, then what searches picked, with scores. */
  readonly request: readonly ViewedTool[];
  /** How many tools of each server wait behind search, and why. */
  readonly behindSearch: readonly { readonly server: string; readonly cause: BehindCause; readonly count: number }[];
  readonly shadowed: readonly { readonly server: string; readonly origin: string; readonly by: string }[];
}

export function inspectCatalog(state: CatalogState): CatalogView {
  const { list, picks, book } = state;
  const session = list.entries.flatMap(({ known: { tool }, how }): ViewedTool[] =>
    how === "head_start" ? [] : [{ tool, how }],
  );
  const picked = [...picks].flatMap(([id, pick]): ViewedTool[] => {
    const tool = list.seen.get(id)?.tool;
    return tool ? [{ tool, ...pick }] : [];
  });
  return {
    session,
    request: [...session, ...picked],
    behindSearch: behindOf(state),
    shadowed: book.shadowed.map(({ known: { source }, by }) => ({
      server: source.name,
      origin: source.origin,
      by: by.origin,
    })),
  };
}

function behindOf({ book, plan, list, picks }: CatalogState): CatalogView["behindSearch"] {
  return book.active.flatMap(({ source, tools }) => {
    const counts = new Map<BehindCause, number>();
    for (const { tool } of tools) {
      const cause = plan.behind.get(tool.id);
      if (cause === undefined || list.how.has(tool.id) || picks.has(tool.id)) continue;
      counts.set(cause, (counts.get(cause) ?? 0) + 1);
    }
    return [...counts].map(([cause, count]) => ({ server: source.name, cause, count }));
  });
}

// What explanations and views of a catalog are made from: how it stands at one moment.
/** How a tool behind search came to be used. */
export interface Pick {
  readonly how: "head_start" | "found" | "called";
  /** What was searched for, and how well it fitted. */
  readonly query?: string;
  readonly score?: number;
}

/** A server that brought no source: the session knows why. */
export interface AbsentServer {
  readonly name: string;
  readonly origin: ToolOrigin;
  readonly kind: "failed" | "not_trusted" | "disabled" | "shadowed";
  readonly reason: string;
}

/** A tool as a search found it. */
export interface FoundTool {
  readonly tool: CatalogTool;
  readonly score: number;
  /** It is in the offered list already, so it can be called by its own name in any case. */
  readonly isOffered: boolean;
}

export interface CatalogState {
  readonly book: SourceBook;
  /** The sources that count, Tenon's tools about tools among them once they are offered. */
  readonly sources: readonly KnownTools[];
  readonly modes: IncludeModes;
  readonly limits: CatalogLimits;
  readonly list: OfferedList;
  readonly plan: Plan;
  readonly picks: ReadonlyMap<ToolId, Pick>;
  readonly finder: ToolFinder;
  /** The prompt the head start was chosen by. */
  readonly firstPrompt: string | undefined;
  readonly absent: readonly AbsentServer[];
  whySetAside(known: KnownTool): string | undefined;
  whyHeld(known: KnownTool): string | undefined;
  /** What of it looks like another tool, a sentence each. */
  lookAlikes(known: KnownTool): readonly string[];
}
