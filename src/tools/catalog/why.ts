// Why a tool is, or is not, in front of the model, by whatever name people use for it.

import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import type { KnownTool } from "./known-tools.js";
import { cut, plain } from "./one-line.js";
import type { BehindCause } from "./plan.js";
import { pathOf, resolveTool } from "./resolve.js";
import type { CatalogState, Pick } from "./state.js";
import { whyAbsent } from "./why-absent.js";
import type { WhyAnswer, WhyKind } from "./why-answer.js";

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
