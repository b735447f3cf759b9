// `tenon sessions list`: the conversations on this machine, the one used last first.

import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { tenonPaths } from "../../../config/index.js";
import { listSessions, type SessionSummary, StoredSessions } from "../../../session/index.js";
import { type Given, misused, type Values } from "../../command.js";
import { type CommandContext, print, printJson, warn } from "../../context.js";
import { EXIT } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import type { Palette } from "../../terminal/stream.js";
import { clipToWidth, renderTable, visible, visibleLine } from "../../terminal/text.js";
import { readTalk, type Talk, type TalkItem } from "./talk.js";

export async function runSessionList(
  { values }: Given<Values<"json" | "all", "limit">>,
  context: CommandContext,
): Promise<number> {
  const limit = values.limit === undefined ? CLI_LIMITS.sessionsListed : Number(values.limit);
  if (!Number.isInteger(limit) || limit < 1) throw misused("--limit takes a whole number above 0");
  const all = await allSessions(context, values.all === true ? undefined : context.cwd);
  const shown = all.slice(0, limit);
  if (values.json === true) printJson(context, { sessions: shown.map(sessionJson), total: all.length });
  else show(shown, all.length, values.all === true, context);
  return EXIT.done;
}

function show(sessions: readonly SessionSummary[], total: number, isAll: boolean, context: CommandContext): void {
  const { palette } = context;
  if (sessions.length === 0) {
    return print(context, [isAll ? "No sessions." : "No sessions of this directory. --all shows those of others."]);
  }
  const head = ["session", "used", ...(isAll ? ["directory"] : []), "title"];
  const rows = sessions.map(({ id, cwd, title, updatedMs }) => [
    id,
    timeText(updatedMs),
    ...(isAll ? [visibleLine(cwd)] : []),
    visibleLine(title),
  ]);
  const [first = "", ...lines] = renderTable([head, ...rows], context);
  print(context, [palette.dim(first), ...lines]);
  if (total > sessions.length) print(context, [palette.dim(`${total - sessions.length} more: --limit ${total}`)]);
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}

function sessionJson({ id, cwd, title, updatedMs }: SessionSummary): object {
  return { id, title, cwd, updated: new Date(updatedMs).toISOString() };
}

// Finds stored sessions by their id or the beginning of it.

export function storedSessions({ world }: CommandContext): StoredSessions {
  return new StoredSessions(world, tenonPaths(world.env).stateDir);
}

export async function allSessions(context: CommandContext, cwd?: string): Promise<readonly SessionSummary[]> {
  const { folder } = storedSessions(context);
  const sessions: SessionSummary[] = [];
  let cursor: string | undefined;
  do {
    const request = defined({ cwd, cursor });
    const page = await listSessions(context.world, folder, request);
    sessions.push(...page.sessions);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return sessions;
}

/** Throws `session.not_found`, or `usage.invalid` where several begin so. */
export async function sessionLike(text: string, context: CommandContext): Promise<SessionSummary> {
  const found = (await allSessions(context)).filter(({ id }) => id.startsWith(text));
  const exact = found.find(({ id }) => id === text) ?? found[0];
  if (!exact) {
    throw new TenonError("session.not_found", `there is no session ${JSON.stringify(text)}`, {
      hint: "See tenon sessions list --all.",
    });
  }
  if (exact.id !== text && found.length > 1) {
    throw new TenonError("usage.invalid", `${found.length} sessions begin with ${JSON.stringify(text)}`, {
      hint: `One of: ${found
        .slice(0, 5)
        .map(({ id }) => id)
        .join(", ")}${found.length > 5 ? ", …" : ""}`,
    });
  }
  return exact;
}

// `tenon sessions show`: one conversation, read in the terminal.

/** More of a tool's answer is in the export. */
const RESULT_LINES = 6;

export async function runSessionShow(
  { values, words }: Given<Values<"json">>,
  context: CommandContext,
): Promise<number> {
  const talk = await readTalk(words[0] ?? "", context);
  if (values.json === true) printJson(context, talkJson(talk));
  else {
    const { title, cwd, updatedMs, id } = talk.session;
    const { palette } = context;
    print(context, [
      palette.bold(visibleLine(title)),
      palette.dim(`${id}  ${visibleLine(cwd)}  ${timeText(updatedMs)}`),
      ...talk.items.flatMap((item) => ["", ...itemLines(item, context)]),
    ]);
  }
  for (const problem of talk.problems) warn(context, problem);
  return EXIT.done;
}

export function talkJson({ session, items, problems }: Talk): object {
  const { id, title, cwd, updatedMs } = session;
  return { id, title, cwd, updated: new Date(updatedMs).toISOString(), items, problems };
}

function itemLines(item: TalkItem, style: { readonly columns: number; readonly palette: Palette }): readonly string[] {
  const { palette, columns } = style;
  switch (item.kind) {
    case "prompt":
      return visible(item.text)
        .split("\n")
        .map((line) => palette.bold(`> ${line}`));
    case "answer":
      return visible(item.text).split("\n");
    case "thought":
    case "note":
      return visible(item.text)
        .split("\n")
        .map((line) => palette.dim(line));
    case "call": {
      const given = item.arguments.replaceAll(/\s+/gu, " ");
      const head = clipToWidth(visibleLine(`• ${item.tool} ${given}`), columns);
      const lines = item.text === "" ? [] : visible(item.text).split("\n");
      const cut = lines.length > RESULT_LINES ? [`… ${lines.length - RESULT_LINES} more lines`] : [];
      return [
        palette.cyan(head),
        ...[...lines.slice(0, RESULT_LINES), ...cut, ...(item.outcome === "done" ? [] : [item.outcome])].map((line) =>
          palette.dim(`  ${line}`),
        ),
      ];
    }
  }
}

// `tenon sessions delete`: removes all there is of stored sessions, except of one that is open.

/** All are found before the first one is removed. Rejects with `session.busy` for one that is open here or elsewhere. */
export async function runSessionDelete(
  { values, words }: Given<Values<"json">>,
  context: CommandContext,
): Promise<number> {
  const stored = storedSessions(context);
  const sessions = [];
  for (const word of words) sessions.push(await sessionLike(word, context));
  for (const { id } of sessions) {
    const lock = await stored.lock(id);
    try {
      await stored.remove(id);
    } finally {
      await lock.release();
    }
  }
  if (values.json === true) printJson(context, { deleted: sessions.map(({ id }) => id) });
  else
    print(
      context,
      sessions.map(({ id, title }) => `deleted: ${id} ${visibleLine(title)}`),
    );
  return EXIT.done;
}
