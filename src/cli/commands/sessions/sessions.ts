// `tenon sessions list|show|delete`: the conversations kept on this machine.
import type { SessionSummary } from "../../../session/index.js";
import { misused, type Run, type Values } from "../../command.js";
import { type CommandContext, report, tableLines, warn } from "../../context.js";
import { CLI_LIMITS } from "../../limits.js";
import { clipToWidth, visible, visibleLine } from "../../terminal/text.js";
import {
  allSessions,
  type ConversationItem,
  conversationJson,
  readConversation,
  sessionJson,
  sessionLike,
  storedSessions,
  timeText,
} from "./stored.js";

/** More of a tool's answer is in the export. */
const RESULT_LINES = 6;

/** The session used last comes first. */
export const runSessionList: Run<Values<"json" | "all", "limit">> = async ({ values }, context) => {
  const limit = values.limit === undefined ? CLI_LIMITS.sessionsListed : Number(values.limit);
  if (!Number.isInteger(limit) || limit < 1) throw misused("--limit takes a whole number above 0");
  const all = await allSessions(context, values.all === true ? undefined : context.cwd);
  const shown = all.slice(0, limit);
  const where = values.all ? (cwd: string) => [visibleLine(cwd)] : () => [];
  const rows = shown.map(({ id, cwd, title, updatedMs }) => [
    id,
    timeText(updatedMs),
    ...where(cwd),
    visibleLine(title),
  ]);
  const head = ["session", "used", ...(values.all ? ["directory"] : []), "title"];
  const none = values.all ? "No sessions." : "No sessions of this directory. --all shows those of others.";
  const more = all.length - shown.length;
  report(context, values.json, { sessions: shown.map(sessionJson), total: all.length }, [
    ...(rows.length === 0 ? [none] : tableLines(head, rows, context)),
    ...(more > 0 ? [context.palette.dim(`${more} more: --limit ${all.length}`)] : []),
  ]);
};

export const runSessionShow: Run<Values<"json">> = async ({ values, words }, context) => {
  const conversation = await readConversation(words[0] ?? "", context);
  const { title, cwd, updatedMs, id } = conversation.session;
  report(context, values.json, conversationJson(conversation), [
    context.palette.bold(visibleLine(title)),
    context.palette.dim(`${id}  ${visibleLine(cwd)}  ${timeText(updatedMs)}`),
    ...conversation.items.flatMap((item) => ["", ...itemLines(item, context)]),
  ]);
  for (const problem of conversation.problems) warn(context, problem);
};

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
  for (const { id } of sessions) {
    const lock = await stored.lock(id);
    try {
      await stored.remove(id);
    } finally {
      await lock.release();
    }
  }
  const lines = sessions.map(({ id, title }) => `deleted: ${id} ${visibleLine(title)}`);
  report(context, values.json, { deleted: sessions.map(({ id }) => id) }, lines);
};
