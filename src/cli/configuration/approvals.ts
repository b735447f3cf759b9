// `tenon trust approvals|forget`: which tools were allowed or refused for good, and how to be asked again.

import { join } from "node:path";
import { TenonError } from "../../base/errors.js";
import { tenonPaths } from "../../config/index.js";
import { ApprovalFiles, type KeptDecision } from "../../tools/index.js";
import { EXIT } from "../exit.js";
import type { Given } from "../table/command.js";
import { misused } from "../table/parse.js";
import { renderTable } from "../terminal/table.js";
import { visibleLine } from "../terminal/visible.js";
import { type CommandContext, print, printJson } from "./context.js";

interface ListValues {
  readonly json?: boolean | undefined;
}

interface ForgetValues extends ListValues {
  readonly all?: boolean | undefined;
}

/** Enough to tell one from another, and short enough to type. */
const ID_CHARS = 12;

export async function runApprovals({ values }: Given<ListValues>, context: CommandContext): Promise<number> {
  const kept = await filesOf(context).list();
  if (values.json === true) printJson(context, { approvals: kept.map(decisionJson) });
  else show(kept, context);
  return EXIT.done;
}

export async function runForget({ values, words }: Given<ForgetValues>, context: CommandContext): Promise<number> {
  const [which] = words;
  if ((which === undefined) === (values.all !== true)) throw misused("name what to forget, or give --all");
  const files = filesOf(context);
  const kept = await files.list();
  const gone = which === undefined ? kept : kept.filter((decision) => isMeant(decision, which));
  if (gone.length === 0 && which !== undefined) {
    throw new TenonError("config.invalid", `nothing is kept about ${JSON.stringify(which)}`, {
      hint: "See tenon trust approvals.",
    });
  }
  for (const { id } of gone) await files.forget(id);
  if (values.json === true) printJson(context, { forgotten: gone.map(decisionJson) });
  else
    print(
      context,
      gone.length === 0 ? ["There is nothing to forget."] : gone.map((one) => `forgotten: ${lineOf(one)}`),
    );
  return EXIT.done;
}

function filesOf({ world }: CommandContext): ApprovalFiles {
  return new ApprovalFiles(world, join(tenonPaths(world.env).stateDir, "approvals"));
}

function isMeant({ id, server, scope, tools }: KeptDecision, which: string): boolean {
  if (which.length >= ID_CHARS && shortId(id).startsWith(which)) return true;
  if (which === id || which === server) return true;
  return scope === "tool" && tools.some(({ name }) => `${server}/${name}` === which);
}

/** The part that differs: the first one is the server's. */
function shortId(id: string): string {
  return id.replace(/\.json$/u, "");
}

function show(kept: readonly KeptDecision[], context: CommandContext): void {
  if (kept.length === 0) return print(context, ["No tool was allowed or refused for good."]);
  const rows = kept.map((one) => [
    one.decision,
    subjectOf(one),
    one.origin,
    one.decidedAt.slice(0, 16),
    shortId(one.id),
  ]);
  const [head = "", ...lines] = renderTable([["answer", "tool", "layer", "when", "id"], ...rows], context);
  print(context, [context.palette.dim(head), ...lines]);
}

function subjectOf({ server, scope, tools }: KeptDecision): string {
  return visibleLine(
    scope === "server" ? `${server} (all ${tools.length} tools)` : `${server}/${tools[0]?.name ?? "?"}`,
  );
}

function lineOf(one: KeptDecision): string {
  return `${one.decision} ${subjectOf(one)} ${one.decidedAt.slice(0, 16)}`;
}

function decisionJson({ id, decision, scope, origin, server, decidedAt, tools }: KeptDecision): object {
  return { id: shortId(id), decision, scope, origin, server, tools: tools.map(({ name }) => name), decidedAt };
}
