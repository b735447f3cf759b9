// One tool call as editors show it: title, kind, places, diff or terminal, and what came of it.
import type * as acp from "@agentclientprotocol/sdk";
import { unreachable } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import type { JsonObject, JsonValue } from "../base/json/json.js";
import { type ContentBlock, plainText, text } from "../base/text/content.js";
import { skeleton } from "../base/text/look-alike.js";
import { markForeign, quoted } from "../base/text/marking.js";
import { isSecretVariable, REDACTED } from "../base/text/secrets.js";
import type { CallSubject } from "../engine/index.js";
import type { SessionEvent } from "../session/index.js";
import type { CatalogTool, ToolOutcome, ToolProgress } from "../tools/index.js";
import { ACP_LIMITS } from "./limits.js";

/** How a call of Tenon's own tools looks. */
export type Presentation = NonNullable<Extract<SessionEvent, { kind: "turn" }>["presentation"]>;

export interface Looks {
  readonly title: string;
  readonly kind: acp.ToolKind;
  readonly locations: acp.ToolCallLocation[];
  /** A diff or a terminal: it stays with the call to the end. */
  readonly content: acp.ToolCallContent[];
}

export function looksOf({ name, tool, trustsHints }: CallSubject, presentation: Presentation | undefined): Looks {
  if (!presentation) {
    const title = markForeign(tool?.label ?? onOneLine(name));
    return { title, kind: tool ? toolKind(tool, trustsHints) : "other", locations: [], content: [] };
  }
  const { title, kind } = presentation;
  return { title: markForeign(title), kind, locations: places(presentation), content: shownContent(presentation) };
}

const MAX_NAME_CHARS = 128;
const MAX_TITLE_CHARS = 80;
/** How much of a value is looked at: no key is longer. */
const MAX_SECRET_CHARS = 4_096;

/**
 * The title of a question, which is all that some clients show: `server / tool name="value"`; the server's own title only
 * in quotes, as its words, on the same line, and where it says more.
 */
export function questionTitle(tool: CatalogTool, args: JsonObject): string {
  const { name, title } = tool.definition;
  if (tool.origin === "builtin") return markForeign(tool.label);
  const call = toolName(tool) + shortArguments(args);
  if (title === undefined || skeleton(title) === skeleton(name)) return call;
  return `${call} — server's title: ${quoted(onOneLine(title), MAX_TITLE_CHARS)}`;
}

function shortArguments(args: JsonObject): string {
  let words = "";
  for (const [name, value] of Object.entries(args)) {
    const word = ` ${/^[\w.-]{1,40}$/u.test(name) ? name : quoted(onOneLine(name), 40)}=${shortValue(name, value)}`;
    if (words.length + word.length > ACP_LIMITS.questionTitle.argumentsChars) return `${words} …`;
    words += word;
  }
  return words;
}

/** Values that look like secrets are left out: titles end up in lists and logs of clients, the arguments beside them do not. */
function shortValue(name: string, value: JsonValue | undefined): string {
  const { valueChars } = ACP_LIMITS.questionTitle;
  const written = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  if (isSecretVariable(name, written.slice(0, MAX_SECRET_CHARS))) return REDACTED;
  if (typeof value === "string") return quoted(value, valueChars);
  return markForeign(written.length > valueChars ? `${written.slice(0, valueChars)}…` : written);
}

/** The names of the server and of the tool, and none of the server's other words. */
export function toolName({ source, definition: { name } }: CatalogTool): string {
  return `${oneLine(source)} / ${oneLine(name)}`;
}

function oneLine(text: string): string {
  const line = onOneLine(text);
  return markForeign(line.length > MAX_NAME_CHARS ? `${line.slice(0, MAX_NAME_CHARS)}…` : line);
}

function onOneLine(text: string): string {
  return text.replaceAll(/[\s\u0085]+/gu, " ").trim();
}

/** The folder of a command is no place to look at, and some clients show it instead of the command. */
function places({ kind, locations }: Presentation): acp.ToolCallLocation[] {
  return kind === "execute" ? [] : locations.map(({ path, line }) => ({ path, ...defined({ line }) }));
}

function shownContent({ diff, terminalId }: Presentation): acp.ToolCallContent[] {
  const content: acp.ToolCallContent[] = [];
  if (diff) content.push({ type: "diff", path: diff.path, oldText: diff.oldText ?? null, newText: diff.newText });
  if (terminalId !== undefined) content.push({ type: "terminal", terminalId });
  return content;
}

/** Clients pick an icon by it, and some approve reads by themselves: words of a server count only where the user trusts its hints. */
function toolKind({ origin, definition }: CatalogTool, trustsHints: boolean | undefined): acp.ToolKind {
  const { annotations, name } = definition;
  if (!trustsHints && origin !== "builtin" && origin !== "extra") return "other";
  if (annotations?.readOnlyHint) return /search|find|grep|query/i.test(name) ? "search" : "read";
  if (/^(fetch|download|http|crawl|browse)/i.test(name)) return "fetch";
  if (/delete|remove/i.test(name) && annotations?.destructiveHint !== false) return "delete";
  if (/^(move|rename)/i.test(name)) return "move";
  if (/^(edit|write|create|update|patch|append)_?file/i.test(name)) return "edit";
  if (/^(run|exec|execute|shell|bash)/i.test(name)) return "execute";
  return "other";
}

export function startUpdate(
  { toolCallId, subject, arguments: rawInput }: { toolCallId: string; subject: CallSubject; arguments: JsonObject },
  presentation: Presentation | undefined,
  { wasAnnounced }: { wasAnnounced: boolean },
): acp.SessionUpdate {
  const { title, kind, locations, content } = looksOf(subject, presentation);
  const call = {
    toolCallId,
    title,
    kind,
    rawInput,
    locations,
    ...defined({ content: content.length > 0 ? content : undefined }),
  };
  return wasAnnounced
    ? { sessionUpdate: "tool_call_update", ...call }
    : { sessionUpdate: "tool_call", status: "pending", ...call };
}

export function progressUpdate(
  toolCallId: string,
  told: ToolProgress,
  presentation: Presentation | undefined,
): acp.SessionUpdate {
  const base = { sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" } as const;
  if (!presentation) return { ...base, content: toolContent([text(markForeign(progressLines(told).join("\n")))]) };
  const { title, locations, content } = looksOf({ name: "" }, presentation);
  const shown = [...content, ...toolContent(newWords(told, presentation).map((words) => text(markForeign(words))))];
  return { ...base, title, locations, ...defined({ content: shown.length > 0 ? shown : undefined }) };
}

/** What Tenon's own tools tell while they run. A terminal shows it by itself, and a new look comes with its title only. */
function newWords({ message }: ToolProgress, { title, terminalId }: Presentation): readonly string[] {
  return message === undefined || message === title || terminalId !== undefined ? [] : [message];
}

/** Log lines above, how far it is below; a call that only logs, or says what it does, has not said how far it is. */
function progressLines({ progress, total, message, log = [] }: ToolProgress): readonly string[] {
  const isUncounted = progress === 0 && total === undefined;
  if (isUncounted && message !== undefined) return [...log, message];
  if (isUncounted && log.length > 0) return log;
  const count = total === undefined ? `${progress}` : `${progress}/${total}`;
  return [...log, message === undefined ? count : `${count} ${message}`];
}

export function endUpdate(
  toolCallId: string,
  outcome: ToolOutcome,
  presentation: Presentation | undefined,
): acp.SessionUpdate {
  const base = { sessionUpdate: "tool_call_update", toolCallId } as const;
  const shown = presentation ? shownContent(presentation) : [];
  switch (outcome.kind) {
    case "done":
    case "failed": {
      const { structured, warnings = [] } = outcome;
      const status = outcome.kind === "done" ? "completed" : "failed";
      // What a terminal shows need not be said again.
      const words = shown.some(({ type }) => type === "terminal") ? [] : toolContent(outcome.content);
      const notes = toolContent(warnings.map((warning) => text(`Note: ${markForeign(warning)}`)));
      return {
        ...base,
        status,
        content: [...shown, ...words, ...notes],
        ...defined({ rawOutput: structured }),
      };
    }
    case "refused":
      return { ...base, status: "failed", content: toolContent([text(`Refused: ${outcome.reason}`)]) };
    case "cancelled":
      return { ...base, status: "failed", content: [...shown, ...toolContent([text("Cancelled.")])] };
    case "unknown":
      return { ...base, status: "failed", content: toolContent([text(`Outcome unknown: ${outcome.reason}`)]) };
    default:
      return unreachable(outcome);
  }
}

export function toolContent(blocks: readonly ContentBlock[]): acp.ToolCallContent[] {
  return blocks.map((block) => ({ type: "content", content: toAcpBlock(block) }));
}

export function toAcpBlock(block: ContentBlock): acp.ContentBlock {
  switch (block.type) {
    case "text":
    case "image":
    case "audio":
    case "resource_link":
      return { ...block };
    case "resource": {
      const mimeType = block.mimeType === undefined ? {} : { mimeType: block.mimeType };
      const resource =
        block.text === undefined
          ? { uri: block.uri, blob: block.blob ?? "", ...mimeType }
          : { uri: block.uri, text: block.text, ...mimeType };
      return { type: "resource", resource };
    }
    case "spilled":
    case "unknown":
      return { type: "text", text: plainText([block]) };
    default:
      return unreachable(block);
  }
}
