// The tools in front of a session's model: a list that only grows, which tools join it next, and which are kept out and why.

import { canonicalJson } from "../../base/json/json.js";
import { text } from "../../base/text/content.js";
import { TOOL_LIMITS } from "../limits.js";
import { slug, ToolNames } from "../names.js";
import { cut, firstSentence, plain } from "../one-line.js";
import {
  failed,
  type SourceCall,
  type ToolDefinition,
  type ToolId,
  type ToolOrigin,
  type ToolOutcome,
  type ToolSource,
} from "../tool.js";
import type { CatalogEntry, OfferedTool, Shadowed, StartingSource } from "./offer.js";
import { IncludeModes, type KnownTool, KnownTools, type Offer, OfferedList, SourceBook } from "./offer.js";
import type { CatalogOptions } from "./session-catalog.js";
import type { AbsentServer } from "./why.js";

export const WAIT_FOR_SERVER = "wait_for_server";

export interface CatalogLimits {
  /** Servers whose tools are offered as `always`. */
  readonly maxAlwaysServers: number;
  /** Tools offered as `always`; those that prompts chose count too. */
  readonly maxAlwaysTools: number;
  /** Server processes above which the person is warned. */
  readonly warnProcesses: number;
  /** Tools the first prompt chooses from those behind search; later ones choose fewer. 0 for none. */
  readonly headStart: number;
}

/** Which limit a server does not fit into. */
export type BudgetCause = "servers" | "tools";

/** Why a tool is behind search: by its mode, or because a limit is reached. */
export type BehindCause = "search" | BudgetCause;

/** How a tool behind search came to be used. */
export interface Pick {
  readonly how: "head_start" | "found" | "called";
  /** The search, and how well the tool fitted. */
  readonly query?: string;
  readonly score?: number;
}

/** A tool and how well it fits a query. */
export interface Ranked {
  readonly known: KnownTool;
  readonly score: number;
  /** Words of the query that it has; more than any prompt has for a tool whose exact name the query says. */
  readonly words?: number;
}

export interface Choice {
  readonly chosen: readonly Ranked[];
  /** The score a tool needed. */
  readonly leastScore: number;
}

export class Offering {
  readonly #options: CatalogOptions;
  readonly names: ToolNames = new ToolNames((name) => this.#isOwnName(name));
  readonly book: SourceBook;
  readonly modes: IncludeModes = new IncludeModes();
  /** Tenon's own tools about tools: offered from the first tool behind search on. */
  readonly meta: KnownTools;
  /** Added by the person: they join whatever their mode and the limits. */
  readonly added: Set<ToolId> = new Set();
  readonly #removed = new Set<ToolId>();
  readonly #removedServers = new Set<string>();
  /** Of removed servers, those that the person brought back. */
  readonly #restored = new Set<ToolId>();
  #setAside: Map<ToolId, { readonly definitionHash: string; readonly reason: string }> | undefined;
  /** Servers behind search because of a limit: they stay there, so that tools do not move back and forth. */
  readonly refused: Map<string, BudgetCause> = new Map();
  /** Keys of notices that were emitted. */
  readonly #emitted = new Set<string>();
  #table: ReadonlyMap<string, KnownTool> = new Map();
  #plan: Plan | undefined;
  #offer: Offer | undefined;
  limits: CatalogLimits;
  /** The tools offered so far. */
  list: OfferedList = OfferedList.EMPTY;
  /** The tools behind search that came to be used, and how. */
  readonly picks: Map<ToolId, Pick> = new Map();
  /** The last prompt that chose from the tools behind search. */
  prompt: string | undefined;
  /** The score a tool needed to be chosen by it. */
  leastScore = 0;
  /** Servers that are no sources. */
  absent: readonly AbsentServer[] = [];

  constructor(meta: ToolSource, limits: CatalogLimits, options: CatalogOptions) {
    this.#options = options;
    this.book = new SourceBook(this.names, options.transformers);
    this.meta = new KnownTools(meta, { names: this.names });
    this.meta.refresh();
    this.limits = limits;
  }

  /** Whether a tool of Tenon itself has the name in this session. */
  #isOwnName(name: string): boolean {
    const sources = this.book.active.map(({ source }) => source).filter(({ origin }) => origin === "builtin");
    return [this.meta.source, ...sources].some(({ tools }) => tools.value.some((tool) => tool.name === name));
  }

  /** To be called when something changed that decides which tools join. */
  replan(): void {
    this.#plan = undefined;
  }

  /** Takes the sources as they are now. */
  refresh(): void {
    if (!this.book.refresh()) return;
    this.#noteBroken();
    const known = this.book.active.flatMap(({ tools }) => tools);
    known.reverse(); // of equal ids the first one counts
    this.#table = new Map([
      ...known.map((one): [string, KnownTool] => [one.key, one]), // names in journals of earlier versions
      ...known.map((one): [string, KnownTool] => [one.tool.id, one]),
    ]);
    this.replan();
    this.#offer = undefined;
  }

  /** As of the last refresh. */
  find(id: string): KnownTool | undefined {
    return this.#table.get(id);
  }

  /** For one model call. */
  offer(): Offer {
    this.commit();
    this.#offer ??= this.#offerOf(this.list);
    return this.#offer;
  }

  /** The offer of the next model call, without deciding anything. */
  peek(): Offer {
    return this.#offerOf(this.next(this.plan()));
  }

  /** The tools as they are now, for calls beside the conversation. */
  lookUp(): Offer {
    this.refresh();
    this.#offer ??= this.#offerOf(this.list);
    return this.#offer;
  }

  /** The list of the next model call. */
  next(plan: Plan): OfferedList {
    const isStarting = this.starting.length > 0;
    const meta = this.meta.tools.filter(({ raw }) =>
      raw.name === WAIT_FOR_SERVER ? isStarting : plan.behind.size > 0,
    );
    return this.list.append([...meta.map((known): OfferedTool => ({ known, how: "always" })), ...plan.append]);
  }

  /** Servers that start for the first time: what they have is not known, or known from the last time. */
  get starting(): readonly ToolSource[] {
    return this.book.active.map(({ source }) => source).filter(({ state }) => state?.value.kind === "connecting");
  }

  plan(): Plan {
    this.refresh();
    if (!this.#plan || this.#plan.hasHeld) this.#plan = planOffer(this);
    return this.#plan;
  }

  /** Appends the tools that join now, and emits the notices about the others. */
  commit(): Plan {
    const plan = this.plan();
    this.#setList(this.next(plan));
    if (this.prompt !== undefined) {
      for (const [server, { cause }] of plan.overBudget) this.refused.set(server, cause);
    }
    this.#noteProcesses();
    this.#noteOverBudget(plan);
    return plan;
  }

  /** A prompt has chosen: its tools are appended. */
  choose(prompt: string, { chosen, leastScore }: Choice): void {
    this.prompt = prompt;
    this.leastScore = leastScore;
    this.commit();
    for (const { known, score } of chosen) this.picks.set(known.tool.id, { how: "head_start", query: prompt, score });
    this.#setList(this.list.append(chosen.map(({ known }) => ({ known, how: "head_start" }))));
    this.replan();
  }

  /** Providers' caches are lost anyway: tools that cannot be called leave the list, and the others are shown as they are now. */
  renew(): void {
    this.refresh();
    const isStarting = this.starting.length > 0;
    const meta = this.meta.tools.filter(({ raw }) => isStarting || raw.name !== WAIT_FOR_SERVER);
    const down = new Set(this.book.active.filter(({ isDown }) => isDown).map(({ source }) => source));
    const current = (offered: KnownTool): KnownTool | undefined => {
      const known = this.#table.get(offered.tool.id);
      if (!known) return meta.find(({ tool }) => tool.id === offered.tool.id);
      if (down.has(known.source)) return undefined;
      const isSame = !isOther(offered.tool.definition, known.tool.definition);
      return isSame || this.whyHeld(known) !== undefined ? offered : known;
    };
    this.#setList(this.list.renew(current));
    this.replan();
  }

  /** A tool behind search came to be used: from now on it can be called. */
  pick(known: KnownTool, pick: Pick): void {
    const { id } = known.tool;
    if (this.list.how.has(id)) return;
    if (!this.picks.has(id)) this.picks.set(id, pick);
    this.#setList(this.list.show([known]));
  }

  /** Removes a tool for as long as its definition stays the same. */
  quarantine(id: ToolId, reason: string): void {
    const known = this.#table.get(id);
    if (!known) return;
    this.#setAside ??= new Map();
    this.#setAside.set(id, { definitionHash: known.tool.definitionHash, reason });
    this.#setList(this.list.without(id));
    this.replan();
  }

  /** The person takes a tool away: no model call is offered it, and no call of it runs, until `restore`. */
  remove(id: ToolId): void {
    this.added.delete(id);
    this.#restored.delete(id);
    this.#removed.add(id);
    this.#setList(this.list.without(id));
    this.replan();
  }

  /** All of a server, also the tools it is to have later. */
  removeServer(name: string, tools: readonly KnownTool[]): void {
    this.#removedServers.add(name);
    for (const { tool } of tools) this.remove(tool.id);
  }

  restore(id: ToolId): void {
    this.#removed.delete(id);
    this.#restored.add(id);
    this.replan();
  }

  restoreServer(name: string): void {
    this.#removedServers.delete(name);
  }

  whySetAside({ tool }: KnownTool): string | undefined {
    const isOfRemoved = this.#removedServers.has(tool.source) && !this.#restored.has(tool.id);
    if (isOfRemoved || this.#removed.has(tool.id))
      return "the person removed it from this session; /tools always brings it back";
    const setAside = this.#setAside?.get(tool.id);
    if (!setAside) return undefined; // before a hash is made of each of ten thousand
    return setAside.definitionHash === tool.definitionHash ? setAside.reason : undefined;
  }

  whyHeld({ tool, raw }: KnownTool): string | undefined {
    return this.#options.isHeld?.({ tool, raw });
  }

  warn(text: string): void {
    this.#options.onNotice?.("warning", text);
  }

  noteShadowed(): void {
    for (const text of this.book.shadowed.map(shadowText)) if (this.#isFirst(`shadowed ${text}`)) this.warn(text);
  }

  /** A tool that the program's own code made unusable is reported once for each reason. */
  #noteBroken(): void {
    for (const { source, leftOut } of this.book.active) {
      for (const { ownName, kind, reason } of leftOut) {
        const text = `tool "${ownName}" of "${source.name}" is left out: ${reason}`;
        if (kind === "broken" && this.#isFirst(text)) this.warn(text);
      }
    }
  }

  /** Emitted when a model call begins, since only then all servers are known. */
  #noteProcesses(): void {
    const { warnProcesses } = this.limits;
    const processes = this.book.active.filter(({ source }) => source.isProcess === true).length;
    if (processes <= warnProcesses || !this.#isFirst("processes")) return;
    this.warn(
      `this session runs ${processes} servers as processes (more than ${warnProcesses}): each takes memory and time to start`,
    );
  }

  /** Each server is named once, when its tools first go behind search because of a limit. */
  #noteOverBudget({ overBudget }: Plan): void {
    const fresh = [...overBudget].filter(([server]) => this.#isFirst(`budget ${server}`));
    if (fresh.length === 0) return;
    const { maxAlwaysTools, maxAlwaysServers } = this.limits;
    const those = fresh.map(([server, { count }]) => `"${server}" (${count})`).join(", ");
    this.warn(
      `there are more tools than a model call is offered (${maxAlwaysTools} tools of ${maxAlwaysServers} servers), so those of ${those} are behind search: nothing is lost, the model finds them when it needs them`,
    );
  }

  #isFirst(key: string): boolean {
    return !this.#emitted.has(key) && Boolean(this.#emitted.add(key));
  }

  #setList(list: OfferedList): void {
    if (list === this.list) return;
    this.list = list;
    this.#offer = undefined;
  }

  #offerOf(list: OfferedList): Offer {
    const table = this.#table;
    const find = (name: string): CatalogEntry | undefined => {
      const seen = list.seen.get(name);
      const known = table.get(name) ?? (seen && this.meta.tools.find(({ tool }) => tool.id === name));
      if (!known) return seen && { ...seen, isChanged: false, unavailable: this.#goneText(seen) };
      const setAside = this.whySetAside(known);
      const unavailable = setAside === undefined ? undefined : `it was set aside: ${setAside}`;
      const isChanged = seen !== undefined && isOther(seen.tool.definition, known.tool.definition);
      const { tool, key, source, raw, pinned, defaults } = known;
      // Not put off until somebody reads it: a tool that is looked at is pinned, so that a later change of it is noticed.
      return { tool, key, source, raw, pinned, defaults, isChanged, unavailable, held: this.whyHeld(known) };
    };
    const starting = (name: string) => {
      const source = this.starting.find((one) => isToolName(name, one.name));
      return source && this.#startingSource(source);
    };
    return { tools: list.tools, find, starting };
  }

  /** Waits until a server has started, by any form of its name. */
  async waitFor(name: string, signal: AbortSignal, onProgress: SourceCall["onProgress"]): Promise<ToolOutcome> {
    const servers = this.book.active.map(({ source }) => source).filter(({ origin }) => origin !== "builtin");
    const wanted = plainName(name);
    const source =
      servers.find((one) => one.name === name) ??
      servers.find((one) => wanted !== "" && plainName(one.name) === wanted);
    if (!source) {
      return failed(`There is no server ${JSON.stringify(name)}. The servers are: ${namesOf(servers)}.`);
    }
    const server = JSON.stringify(source.name);
    if (source.state?.value.kind === "connecting") {
      onProgress({ progress: 0, message: `waiting for ${server}: ${doingOf(source)}` });
    }
    const problem = await source.ready?.(signal);
    if (signal.aborted) return { kind: "cancelled" };
    if (problem !== undefined) return failed(`${server} cannot be used: ${problem}`);
    this.replan();
    const { how } = this.next(this.plan());
    const tools = this.book.active.find((known) => known.source === source)?.tools ?? [];
    const listed = tools.filter(({ tool }) => how.has(tool.id)).map(({ tool }) => tool.id);
    const shown = listed.slice(0, LISTED_AFTER_WAIT).join(", ");
    const others = tools.length - listed.length;
    const words = [
      `${server} is ready and has ${tools.length} ${tools.length === 1 ? "tool" : "tools"}.`,
      ...(listed.length > 0 ? [`You can call now: ${shown}${listed.length > LISTED_AFTER_WAIT ? ", …" : ""}.`] : []),
      ...(others > 0 ? [`${others} not listed: tenon_search_tools finds those that can be searched for.`] : []),
    ];
    return { kind: "done", content: [text(words.join(" "))] };
  }

  #startingSource(source: ToolSource): StartingSource {
    return {
      server: source.name,
      doing: doingOf(source),
      started: async (signal) => {
        const problem = await source.ready?.(signal);
        return { offer: this.peek(), problem };
      },
    };
  }

  /** Whether any source, or a server that is no source now, has the name. */
  knows(name: string): boolean {
    const sources = [...this.book.active, ...this.book.shadowed.map(({ known }) => known), this.meta];
    const isAbsent = this.absent.some((server) => server.name === name && server.kind !== "gone");
    return isAbsent || sources.some(({ source }) => source.name === name);
  }

  #goneText({ tool, source: { name, origin } }: KnownTool): string {
    const isThere = this.book.active.some(({ source }) => source.name === name);
    if (isThere) return `${tool.label} is gone: its server "${name}" does not have it any more`;
    const absent = this.absent.find((server) => server.name === name && server.origin === origin);
    if (absent?.kind === "gone") return `${tool.label} is gone: ${absent.reason}`;
    return `${tool.label} is gone: its server "${name}" ${absent ? `is not used (${absent.reason})` : "was removed from this session"}`;
  }
}

/** Names of tools in the answer of a wait: the list has them all. */
const LISTED_AFTER_WAIT = 40;

function namesOf(servers: readonly ToolSource[]): string {
  return servers.length === 0 ? "none" : servers.map(({ name }) => JSON.stringify(name)).join(", ");
}

export const waitForServer: ToolDefinition = {
  name: WAIT_FOR_SERVER,
  title: "Wait for a server",
  description:
    "Waits until an MCP server that is still starting is ready, and says which tools it has, or why it could not be started. Use it when the task may need that server's tools.",
  inputSchema: {
    type: "object",
    properties: { server: { type: "string", description: "The name of the server." } },
    required: ["server"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
};

/** What goes on at a server that starts. */
export function doingOf({ state }: ToolSource): string {
  return (state?.value.kind === "connecting" && state.value.doing) || "it is starting";
}

/** Whether a name may be one of a server whose tools are not known: `mcp__server__tool`, with the server's whole name or its end. */
function isToolName(name: string, server: string): boolean {
  const part = /^mcp__(.+?)__./u.exec(name)?.[1];
  const known = plainName(server);
  const named = plainName(part ?? "");
  return named !== "" && (known === named || known.endsWith(`_${named}`));
}

/** As it is in the names of its tools; empty where none of its letters can be. */
function plainName(server: string): string {
  return slug(server).toLowerCase().replaceAll("-", "_");
}

function isOther(shown: ToolDefinition, current: ToolDefinition): boolean {
  const asJson = ({ name, title, description, inputSchema }: ToolDefinition) =>
    canonicalJson({ name, title, description, inputSchema });
  return shown !== current && asJson(shown) !== asJson(current);
}

/** Room kept for Tenon's own tools about tools, once there is something behind search. */
const META_ROOM = 4;

/** Which tools join the offered list now, and which stay behind search and why. */
export interface Plan {
  /** In the order they join. */
  readonly append: readonly OfferedTool[];
  readonly behind: ReadonlyMap<ToolId, BehindCause>;
  /** How many tools of each server are behind search because of a limit, and of which. */
  readonly overBudget: ReadonlyMap<string, { readonly count: number; readonly cause: BudgetCause }>;
  /** Whether a tool waits for an approval: then the plan is worth making again. */
  readonly hasHeld: boolean;
}

interface Wish extends OfferedTool {
  /** Joins whatever the limits say. */
  readonly isSure: boolean;
}

/** The tools one source would add. */
type Share = ReturnType<typeof shareOf>;

/**
 * A server's tools are offered together or go behind search together: half a server is of little use. Tools that were
 * named one by one, and those a person added, join over any limit.
 */
function planOffer(offering: Offering): Plan {
  const behind = new Map<ToolId, BehindCause>();
  const overBudget = new Map<string, { readonly count: number; readonly cause: BudgetCause }>();
  const shares = offering.book.active.map((source) => shareOf(source, offering, behind));
  const refuse = roomFor(shares, offering);
  const append: Wish[] = [];
  for (const share of shares) {
    const { name } = share.source.source;
    const cause = share.wanted === 0 ? undefined : (offering.refused.get(name) ?? refuse(share));
    append.push(...share.wishes.filter(({ isSure }) => isSure || cause === undefined));
    if (cause === undefined) continue;
    for (const { known, isSure } of share.wishes) if (!isSure) behind.set(known.tool.id, cause);
    overBudget.set(name, { count: share.wanted, cause });
  }
  return { append, behind, overBudget, hasHeld: shares.some((share) => share.hasHeld) };
}

/** `wanted`: how many of the wishes need room. `count`: offered before as `always`. */
function shareOf(source: KnownTools, offering: Offering, behind: Map<ToolId, BehindCause>) {
  const wishes: Wish[] = [];
  let count = 0;
  let hasHeld = false;
  for (const known of source.tools) {
    const { id } = known.tool;
    const how = offering.list.how.get(id);
    if (how === "always") count += 1;
    if (how !== undefined || source.isDown || offering.whySetAside(known) !== undefined) continue;
    const isAdded = offering.added.has(id);
    const { mode, by } = offering.modes.of(source, known.raw.name);
    if (mode === "search" && !isAdded) behind.set(id, "search");
    if (mode !== "always" && !isAdded) continue;
    if (offering.whyHeld(known) !== undefined) hasHeld = true;
    else {
      const isSure = isAdded || by === "tool" || known.tool.origin === "builtin";
      wishes.push({ known, how: isAdded ? "manual" : "always", isSure });
    }
  }
  return { source, wishes, wanted: wishes.filter(({ isSure }) => !isSure).length, count, hasHeld };
}

/** A function that takes the room a share needs, or returns the limit that is reached. Called for the strongest source first. */
function roomFor(shares: readonly Share[], { limits, list }: Offering) {
  const offered = list.how;
  const chosen = list.entries.filter(({ how }) => how === "head_start").length;
  const servers = shares.filter(({ source }) => source.source.origin !== "builtin");
  const wishes = shares.reduce((sum, share) => sum + share.wishes.length, 0);
  const wanted = shares.reduce((sum, share) => sum + share.wanted, 0);
  const isOver =
    offered.size + wishes > limits.maxAlwaysTools ||
    servers.filter((share) => share.count + share.wanted > 0).length > limits.maxAlwaysServers;
  const kept = isOver ? META_ROOM + Math.max(0, limits.headStart - chosen) : 0;
  let tools = limits.maxAlwaysTools - offered.size - (wishes - wanted) - kept;
  let used = servers.filter(({ count }) => count > 0).length;
  return (share: Share): BudgetCause | undefined => {
    if (share.count === 0 && used >= limits.maxAlwaysServers) return "servers";
    if (share.wanted > tools) return "tools";
    tools -= share.wanted;
    if (share.count === 0) used += 1;
    return undefined;
  };
}

const LAYER_NAMES: Readonly<Record<ToolOrigin, string>> = {
  client: "the client",
  project: "the project",
  user: "the user's configuration",
  builtin: "Tenon itself",
  extra: "the program around Tenon",
};

export type NoticeSink = (level: "info" | "warning", text: string) => void;

export function shadowText({ known: { source }, by }: Shadowed): string {
  const replaced = source.givesWay ? "a client, which runs it itself" : LAYER_NAMES[source.origin];
  return `the server "${source.name}" of ${LAYER_NAMES[by.origin]} replaces the one of ${replaced}, whose tools are not used`;
}

const MAX_NAMES = 8;

/**
 * One line per server, so that a model knows what there is to search for; the same for the same servers. Sorted by name and
 * bounded: with very many servers the lines get shorter, then the last ones are only counted.
 */
export function serverIndexText(sources: readonly KnownTools[]): string {
  const servers = sources
    .filter(({ source, tools, isDown }) => source.origin !== "builtin" && tools.length > 0 && !isDown)
    .sort((one, other) => (one.source.name < other.source.name ? -1 : 1));
  const { maxChars, lineChars } = TOOL_LIMITS.serverIndex;
  const perLine = Math.max(40, Math.min(lineChars, Math.floor(maxChars / Math.max(1, servers.length)) - 1));
  const lines: string[] = [];
  let left = maxChars - perLine;
  for (const server of servers) {
    const line = lineOf(server, perLine);
    if (line.length + 1 > left) return [...lines, `- and ${servers.length - lines.length} more servers`].join("\n");
    left -= line.length + 1;
    lines.push(line);
  }
  return lines.join("\n");
}

/** The server's own words are a description, not instructions: one line of them, and nothing that could pass for ours. */
function lineOf({ source, tools }: KnownTools, maxChars: number): string {
  const { title, instructions } = source.about?.() ?? {};
  const names = tools.slice(0, MAX_NAMES).map(({ raw }) => plain(raw.name));
  const listed = `${names.join(", ")}${tools.length > MAX_NAMES ? ", …" : ""}`;
  const about = firstSentence(instructions ?? "") || plain(title ?? "") || listed;
  return cut(`- ${plain(source.name)} (${tools.length} ${tools.length === 1 ? "tool" : "tools"}): ${about}`, maxChars);
}
