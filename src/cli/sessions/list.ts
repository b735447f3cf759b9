// `tenon sessions list`: the conversations on this machine, the one used last first.

import type { SessionSummary } from "../../session/index.js";
import { type CommandContext, print, printJson } from "../configuration/context.js";
import { EXIT } from "../exit.js";
import { CLI_LIMITS } from "../limits.js";
import type { Given } from "../table/command.js";
import { misused } from "../table/parse.js";
import { renderTable } from "../terminal/table.js";
import { visibleLine } from "../terminal/visible.js";
import { allSessions } from "./find.js";

interface Values {
  readonly json?: boolean | undefined;
  readonly all?: boolean | undefined;
  readonly limit?: string | undefined;
}

export async function runSessionList({ values }: Given<Values>, context: CommandContext): Promise<number> {
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
