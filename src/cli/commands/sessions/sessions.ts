// `tenon sessions list|show|delete`: the conversations kept on this machine, each read as a list of what was said and done.
import { messageOf, TenonError } from "../../../base/errors.js";
import { unreachable } from "../../../base/id.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonValue } from "../../../base/json/json.js";
import { type ContentBlock, plainText } from "../../../base/text/content.js";
import { type BuiltinPresentation, unifiedDiff } from "../../../builtin/index.js";
import { tenonPaths } from "../../../config/index.js";
import type { TurnEvent } from "../../../engine/index.js";
import {
  type GatewayChange,
  gatewaySocketPath,
  type OpenQuestion,
  questionWords,
  type WireSessionState,
} from "../../../gateway/index.js";
import type { ModelUsage } from "../../../models/index.js";
import { FileSessionStore, History, type SessionEvent, type SessionSummary } from "../../../session/index.js";
import type { ToolOutcome } from "../../../tools/index.js";
import { misused, type Run, type Values } from "../../command.js";
import { type CommandContext, report, tableLines, warn } from "../../context.js";
import { CLI_LIMITS } from "../../limits.js";
import { clipToWidth, visible, visibleLine } from "../../terminal/text.js";

/** More of a tool's answer is in the export. */
const RESULT_LINES = 6;

/** The session used last comes first. */
export const runSessionList: Run<Values<"json" | "all", "limit" | "search">> = async ({ values }, context) => {
  const limit = values.limit === undefined ? CLI_LIMITS.sessionsListed : Number(values.limit);
  if (!Number.isInteger(limit) || limit < 1) throw misused("--limit takes a whole number above 0");
  const stored = await allSessions(context, values.all === true ? undefined : context.cwd);
  const wanted = (values.search ?? "").toLowerCase();
  const all = stored.filter(({ title, cwd }) => `${title} ${cwd}`.toLowerCase().includes(wanted));
  const shown = all.slice(0, limit);
  const open = await openInGateway(context);
  const where = values.all ? (cwd: string) => [visibleLine(cwd)] : () => [];
  const rows = shown.map(({ id, cwd, title, updatedMs }) => [
    id,
    timeText(updatedMs),
    ...(open ? [stateText(open.get(id))] : []),
    ...where(cwd),
    visibleLine(title),
  ]);
  const head = ["session", "used", ...(open ? ["state"] : []), ...(values.all ? ["directory"] : []), "title"];
  const none = noneText(values.all === true, stored.length);
  const more = all.length - shown.length;
  const sessions = shown.map((session) => ({
    ...sessionJson(session),
    ...(open ? stateJson(open.get(session.id)) : {}),
  }));
  report(context, values.json, { sessions, total: all.length }, [
    ...(rows.length === 0 ? [none] : tableLines(head, rows, context)),
    ...(more > 0 ? [context.palette.dim(`${more} more: --limit ${all.length}`)] : []),
  ]);
};

/** `stored`: how many there are without the search. */
function noneText(isEverywhere: boolean, stored: number): string {
  if (stored > 0) return "No session has this text in its title or directory.";
  return isEverywhere ? "No sessions." : "No sessions of this directory. --all shows those of others.";
}

export const runSessionShow: Run<Values<"json">> = async ({ values, words }, context) => {
  const conversation = await readConversation(words[0] ?? "", context);
  const { title, cwd, updatedMs, id } = conversation.session;
  const open = await openInGateway(context);
  const state = open ? [stateText(open.get(id))] : [];
  const questions = open?.get(id)?.questions ?? [];
  const about = [id, visibleLine(cwd), timeText(updatedMs), ...state].join("  ");
  const json = { ...conversationJson(conversation), ...(open ? { ...stateJson(open.get(id)), questions } : {}) };
  report(context, values.json, json, [
    context.palette.bold(visibleLine(title)),
    context.palette.dim(about),
    ...conversation.items.flatMap((item) => ["", ...itemLines(item, context)]),
    ...(questions.length === 0 ? [] : ["", ...questionLines(id, questions, context)]),
  ]);
  for (const problem of conversation.problems) warn(context, problem);
};

function questionLines(id: string, questions: readonly OpenQuestion[], { palette }: CommandContext): readonly string[] {
  const lines = questions.map((question) => `${palette.yellow("?")} ${visibleLine(questionWords(question))}`);
  return [...lines, palette.dim(`  tenon attach ${id} answers ${questions.length === 1 ? "it" : "them"}.`)];
}

function stateText(open: GatewayChange | undefined): string {
  const { state = "resting", questions = [] } = open ?? {};
  const count = questions.length === 0 ? "" : ` (${questions.length} open)`;
  return `${state === "resting" ? "stored" : state}${count}`;
}

function stateJson(open: GatewayChange | undefined): { readonly state: WireSessionState; readonly questions: number } {
  return { state: open?.state ?? "resting", questions: open?.questions?.length ?? 0 };
}

/** The sessions that the gateway of this machine has in memory, by id. Undefined: there is no gateway, or it says nothing. */
async function openInGateway(context: CommandContext): Promise<ReadonlyMap<string, GatewayChange> | undefined> {
  const { world } = context;
  const path = gatewaySocketPath(world, tenonPaths(world.env).stateDir);
  if ((await world.files.kindOf(path)) === undefined) return undefined;
  // Only where there is one: it brings the WebSocket client with it.
  const { askGateway } = await import("../gateway/control.js");
  try {
    const answer = await askGateway({ world, path }, "_tenon/gateway/watch", {});
    const { sessions } = answer ?? {};
    if (!Array.isArray(sessions)) return undefined;
    return new Map(sessions.filter(isChange).map((session) => [session.sessionId, session]));
  } catch (error) {
    warn(context, messageOf(error));
    return undefined;
  }
}

/** The gateway is of this user, and of this version or one it understands. */
function isChange(value: JsonValue): value is JsonValue & GatewayChange {
  return isJsonObject(value) && typeof value["sessionId"] === "string" && Array.isArray(value["questions"] ?? []);
}

function itemLines(item: ConversationItem, { palette, columns }: CommandContext): readonly string[] {
  const lines = item.text === "" ? [] : visible(item.text).split("\n");
  switch (item.kind) {
    case "prompt":
      return lines.map((line) => palette.bold(`> ${line}`));
    case "answer":
      return lines;
    case "thought":
    case "note":
      return lines.map((line) => palette.dim(line));
    case "call": {
      const given = item.arguments.replaceAll(/\s+/gu, " ");
      const cut = lines.length > RESULT_LINES ? [`… ${lines.length - RESULT_LINES} more lines`] : [];
      const below = [...lines.slice(0, RESULT_LINES), ...cut, ...(item.outcome === "done" ? [] : [item.outcome])];
      return [
        palette.cyan(clipToWidth(visibleLine(`• ${item.tool} ${given}`), columns)),
        ...below.map((line) => palette.dim(`  ${line}`)),
      ];
    }
  }
}

/** All are found before the first one is removed. Rejects with `session.busy` for one that is open here or elsewhere. */
export const runSessionDelete: Run<Values<"json">> = async ({ values, words }, context) => {
  const stored = storedSessions(context);
  const sessions: SessionSummary[] = [];
  for (const word of words) sessions.push(await sessionLike(word, context));
  for (const { id } of sessions) await stored.remove(id);
  const lines = sessions.map(({ id, title }) => `deleted: ${id} ${visibleLine(title)}`);
  report(context, values.json, { deleted: sessions.map(({ id }) => id) }, lines);
};

// What is stored of sessions.

function storedSessions({ world }: CommandContext): FileSessionStore {
  return new FileSessionStore(world, tenonPaths(world.env).stateDir);
}

export async function allSessions(context: CommandContext, cwd?: string): Promise<readonly SessionSummary[]> {
  const stored = storedSessions(context);
  const sessions: SessionSummary[] = [];
  let cursor: string | undefined;
  do {
    const page = await stored.list(defined({ cwd, cursor }));
    sessions.push(...page.sessions);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return sessions;
}

/** For a chat that goes on with it: the gateway of this machine may have it open. */
export async function findSession(
  text: string,
  context: CommandContext,
): Promise<{ readonly id: string; readonly isInGateway: boolean }> {
  const { id } = await sessionLike(text, context);
  return { id, isInGateway: (await openInGateway(context))?.has(id) === true };
}

/** By its id or the beginning of it. Throws `session.not_found`, or `usage.invalid` where several begin so. */
async function sessionLike(text: string, context: CommandContext): Promise<SessionSummary> {
  return beginningWith(text, await allSessions(context), ({ id }) => id);
}

interface NamedSession {
  readonly id: string;
  readonly title: string;
}

/** By its id, or the beginning of its id or title. Throws as `sessionLike`. */
export function sessionNamed<T extends NamedSession>(text: string, sessions: readonly T[]): T {
  const words = text.toLowerCase();
  const isId = sessions.some(({ id }) => id.startsWith(text));
  return isId
    ? beginningWith(text, sessions, ({ id }) => id)
    : beginningWith(words, sessions, ({ title }) => title.toLowerCase());
}

function beginningWith<T extends NamedSession>(
  text: string,
  sessions: readonly T[],
  nameOf: (session: T) => string,
): T {
  const found = text === "" ? [] : sessions.filter((session) => nameOf(session).startsWith(text));
  const exact = found.filter((session) => nameOf(session) === text);
  const [one] = exact.length === 1 ? exact : found;
  if (!one) {
    const hint = "See tenon sessions list --all.";
    throw new TenonError("session.not_found", `there is no session ${JSON.stringify(text)}`, { hint });
  }
  if (exact.length !== 1 && found.length > 1) {
    const shown = found
      .slice(0, 5)
      .map(({ id, title }) => (id.startsWith(text) ? id : `${id} (${visibleLine(title)})`));
    const hint = `One of: ${shown.join(", ")}${found.length > 5 ? ", …" : ""}`;
    throw new TenonError("usage.invalid", `${found.length} sessions begin with ${JSON.stringify(text)}`, { hint });
  }
  return one;
}

export type ConversationItem =
  /** `t`: when it was said, in milliseconds since the epoch. */
  { readonly kind: "prompt" | "answer" | "thought" | "note"; readonly text: string; readonly t?: number } | CallItem;

interface CallItem {
  readonly kind: "call";
  readonly tool: string;
  readonly arguments: string;
  readonly outcome: ToolOutcome["kind"] | "dropped" | "open";
  readonly text: string;
  readonly elapsedMs?: number;
  /** What it changed in a file, as a unified diff without a header. */
  readonly diff?: { readonly path: string; readonly text: string };
}

export interface StoredConversation {
  readonly session: SessionSummary;
  readonly items: readonly ConversationItem[];
  /** Of all its model calls; missing where there were none. */
  readonly usage?: ModelUsage;
  /** Faults of its journal. */
  readonly problems: readonly string[];
}

/** Reads only: a session that is open elsewhere can be read too. */
export async function readConversation(text: string, context: CommandContext): Promise<StoredConversation> {
  const session = sessionNamed(text, await allSessions(context));
  const history = new History();
  const stored = storedSessions(context);
  const owner = await stored.ownerOf(session.id);
  const promptTimes: number[] = [];
  const read = await stored.readAll(session.id, (record) => {
    if (record.kind === "prompt" && typeof record.t === "number") promptTimes.push(record.t);
    history.addStored(record);
  });
  const problems = [...read.problems, ...(owner === undefined ? history.problems : [])];
  if (owner === undefined) history.end(); // else what is open goes on there
  const events = [...history.events()];
  const usage = events.findLast((event) => event.kind === "turn" && event.sessionUsage !== undefined);
  const total = usage?.kind === "turn" ? usage.sessionUsage : undefined;
  return { session, items: withTimes(itemsOf(events), promptTimes), problems, ...defined({ usage: total }) };
}

/** Every prompt has a record, and is shown in the order of them. */
function withTimes(items: readonly ConversationItem[], times: readonly number[]): readonly ConversationItem[] {
  const left = [...times];
  return items.map((item) => (item.kind === "prompt" ? { ...item, ...defined({ t: left.shift() }) } : item));
}

/** `12,345 tokens in, 678 out, about $0.12`. */
export function usageText({ inputTokens, outputTokens, costUsd }: ModelUsage): string {
  const counts = `${inputTokens.toLocaleString("en")} tokens in, ${outputTokens.toLocaleString("en")} out`;
  return costUsd === undefined ? counts : `${counts}, about $${costUsd.toFixed(costUsd < 0.1 ? 4 : 2)}`;
}

export function conversationJson({ session, items, usage, problems }: StoredConversation): object {
  return { ...sessionJson(session), items, ...defined({ usage }), problems };
}

function sessionJson({ id, title, cwd, updatedMs }: SessionSummary): object {
  return { id, title, cwd, updated: new Date(updatedMs).toISOString() };
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}

export function itemsOf(events: Iterable<SessionEvent>): readonly ConversationItem[] {
  const items: ConversationItem[] = [];
  const calls = new Map<string, CallItem & { readonly at: number }>();
  const looks = new Map<string, BuiltinPresentation>();
  const end = (id: string, outcome: CallItem["outcome"], text: string, elapsedMs?: number) => {
    const call = calls.get(id);
    if (!call) return;
    const { at, ...item } = call;
    const diff = outcome === "done" ? changeOf(looks.get(id)) : undefined;
    items[at] = { ...item, outcome, text, ...defined({ elapsedMs, diff }) };
  };
  const addTurnEvent = (event: TurnEvent) => {
    switch (event.kind) {
      case "text":
        items.push({ kind: "answer", text: event.text });
        break;
      case "thought":
        items.push({ kind: "thought", text: event.text });
        break;
      case "call_started": {
        const { name, tool } = event.subject;
        const given = JSON.stringify(event.arguments, undefined, 2);
        const call = { kind: "call", tool: tool?.label ?? name, arguments: given, outcome: "open", text: "" } as const;
        calls.set(event.toolCallId, { ...call, at: items.length });
        items.push(call);
        break;
      }
      case "call_ended":
        end(event.toolCallId, event.outcome.kind, outcomeText(event.outcome), event.elapsedMs);
        break;
      case "call_dropped":
        end(event.toolCallId, "dropped", event.reason);
        break;
      case "stopped":
        items.push({ kind: "note", text: event.reason });
        break;
      case "compaction":
        if (event.phase === "done") items.push({ kind: "note", text: "The conversation was compacted here." });
        break;
      default:
        break; // of no use to a later reader
    }
  };
  for (const event of events) {
    if (event.kind === "user") items.push({ kind: "prompt", text: contentText(event.content) });
    else if (event.kind === "turn") {
      if (event.presentation?.diff && "toolCallId" in event.event)
        looks.set(event.event.toolCallId, event.presentation);
      addTurnEvent(event.event);
    } else if (event.kind === "turn_ended" && "error" in event) items.push({ kind: "note", text: event.error.message });
  }
  return items;
}

function changeOf(look: BuiltinPresentation | undefined): CallItem["diff"] {
  if (!look?.diff) return undefined;
  const { path, oldText = "", newText } = look.diff;
  return { path, text: unifiedDiff(oldText, newText).text };
}

function outcomeText(outcome: ToolOutcome): string {
  switch (outcome.kind) {
    case "done":
    case "failed":
      return contentText(outcome.content);
    case "refused":
    case "unknown":
      return outcome.reason;
    case "cancelled":
      return "";
    default:
      return unreachable(outcome);
  }
}

function contentText(content: readonly ContentBlock[]): string {
  const others = content.filter(({ type }) => type !== "text").map(({ type }) => `[${type}]`);
  return [plainText(content), ...others].filter((text) => text !== "").join("\n");
}
