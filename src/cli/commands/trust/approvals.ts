// `tenon trust approvals|forget|grant`: what was allowed or refused for good, how to be asked again, and grants for whole servers.

import { unreachable } from "../../../base/id.js";
import type { JsonObject } from "../../../base/json/json.js";
import { tenonPaths } from "../../../config/index.js";
import { programOf } from "../../../session/index.js";
import {
  type Decision,
  DecisionFiles,
  definitionData,
  definitionHash,
  grantLabel,
  type KeptDecision,
  type LoadedDecisions,
  type ToolGrant,
} from "../../../tools/index.js";
import { misused, type Run, refused, type Values } from "../../command.js";
import { type CommandContext, print, printJson, warn } from "../../context.js";
import { renderTable, visibleLine } from "../../terminal/text.js";
import { liveConfig, secondsToMs, serverNamed } from "../mcp/inspect.js";
import { listTools } from "../mcp/lock.js";

/** Enough of an id to tell one from another. */
const ID_CHARS = 8;

export function decisionFiles({ world }: CommandContext): DecisionFiles {
  return new DecisionFiles(world, tenonPaths(world.env).stateDir);
}

export const runApprovals: Run<Values<"json">> = async ({ values }, context) => {
  const loaded = await decisionFiles(context).load();
  if (values.json === true)
    printJson(context, { approvals: latestFirst(loaded).map(decisionJson), ...problemsJson(loaded) });
  else printDecisions(loaded, context);
};

export const runForget: Run<Values<"json" | "all">> = async ({ values, words }, context) => {
  const [which] = words;
  if ((which === undefined) === (values.all !== true)) throw misused("name what to forget, or give --all");
  const files = decisionFiles(context);
  const loaded = await files.load();
  const gone = latestFirst(loaded).filter((kept) => which === undefined || isMeant(kept, which));
  // A file that cannot be read can still be removed by its id.
  const broken = loaded.problems.flatMap(({ id }) =>
    id !== undefined && (which === undefined || isId(id, which)) ? [id] : [],
  );
  if (gone.length + broken.length === 0 && which !== undefined) {
    throw refused(`nothing is kept about ${JSON.stringify(which)}`, "See tenon trust approvals.");
  }
  for (const id of [...gone.map((kept) => kept.id), ...broken]) await files.remove(id);
  if (values.json === true) {
    return printJson(context, { forgotten: [...gone.map(decisionJson), ...broken.map((id) => ({ id }))] });
  }
  const lines = [...gone.map((kept) => `forgotten: ${lineOf(kept)}`), ...broken.map((id) => `forgotten: ${id}`)];
  print(context, lines.length === 0 ? ["There is nothing to forget."] : lines);
};

/** Every tool a server has now, in this project: shown first, and only by a person's word. */
export const runGrant: Run<Values<"json", "timeout">> = async ({ values, words }, context) => {
  const [name] = words;
  if (name === undefined) throw misused("name the server whose tools are to be allowed in this project");
  const timeoutMs = secondsToMs(values.timeout);
  const config = await liveConfig(context);
  const server = serverNamed(config, name);
  const [listed] = await listTools([name], config, context, timeoutMs);
  if (server.status !== "ready" || !listed?.tools) {
    const reason = listed?.error ?? server.status;
    throw refused(`the tools of "${name}" cannot be listed: ${reason}`, listed?.hint ?? "See tenon mcp list.");
  }
  const { world, cwd } = context;
  const program = await programOf(server.spec, { world, cwd });
  const project = (await world.files.find(cwd))?.realPath;
  if (program === undefined || project === undefined) {
    throw refused(`the program of "${name}" cannot be found`, `See tenon mcp test ${name}.`);
  }
  const { origin } = server.settings;
  const grants = listed.tools.map((tool): ToolGrant => {
    const definition = { definitionHash: definitionHash(tool), definition: definitionData(tool) };
    return { kind: "tool", tool: tool.name, ...definition, project, origin, server: name, program };
  });
  await confirm(name, grants, context);
  const files = decisionFiles(context);
  for (const grant of grants) await files.keep(grant);
  if (values.json === true) return printJson(context, { granted: grants.map(({ tool }) => `${name}/${tool}`) });
  const lines = grants.map((grant) => `granted: ${subjectOf(grant)}`);
  print(context, lines);
};

async function confirm(name: string, grants: readonly ToolGrant[], context: CommandContext): Promise<void> {
  if (!context.ask) {
    const hint = "Run it in a terminal, or answer the question of a session.";
    throw refused("tools are granted only by a person at a terminal", hint);
  }
  print(context, [
    `These ${grants.length} tools of ${visibleLine(name)}, as they are defined now, would be allowed in this project without asking:`,
    ...grants.map(({ tool }) => `  ${visibleLine(tool)}`),
  ]);
  const answer = await context.ask("Allow all of these? Type yes: ");
  if (answer?.trim().toLowerCase() !== "yes") {
    throw refused("nothing was granted", "Type yes to grant.");
  }
}

function latestFirst({ decisions }: LoadedDecisions): readonly KeptDecision[] {
  return [...decisions].sort((one, other) => (one.decidedAt < other.decidedAt ? 1 : -1));
}

function isMeant({ id, decision }: KeptDecision, which: string): boolean {
  if (isId(id, which)) return true;
  if (!("server" in decision)) return false;
  const { server, tool } = decision;
  return which === server || which === `${server}/${tool}`;
}

function isId(id: string, which: string): boolean {
  const digits = id.slice(id.indexOf("-") + 1);
  return which === id || (which.length >= ID_CHARS && (id.startsWith(which) || digits.startsWith(which)));
}

export function printDecisions(loaded: LoadedDecisions, context: CommandContext): void {
  const kept = latestFirst(loaded);
  if (kept.length === 0) print(context, ["Nothing was allowed or refused for good."]);
  else {
    const rows = kept.map(({ id, decision, decidedAt }) => [
      answerOf(decision),
      subjectOf(decision),
      "project" in decision ? visibleLine(decision.project) : "every project",
      decidedAt.slice(0, 16),
      id,
    ]);
    const [head = "", ...lines] = renderTable([["answer", "what", "where", "when", "id"], ...rows], context);
    print(context, [context.palette.dim(head), ...lines]);
  }
  for (const { file, reason } of loaded.problems) {
    warn(context, `${file} cannot be read (${reason}): its calls are asked about; make it readable, or remove it`);
  }
}

function answerOf({ kind }: Decision): string {
  if (kind === "never") return "never";
  return kind === "former" ? "to confirm" : "always";
}

function subjectOf(decision: Decision): string {
  switch (decision.kind) {
    case "never":
    case "former":
    case "tool":
      return visibleLine(`${decision.server}/${decision.tool}`);
    case "command":
      return visibleLine(`${decision.words.join(" ")}${decision.isExact ? "" : " [names and relative paths]"}`);
    case "site":
      return visibleLine(`pages of ${decision.site}`);
    default:
      return unreachable(decision);
  }
}

function lineOf({ decision, decidedAt }: KeptDecision): string {
  return `${answerOf(decision)} ${subjectOf(decision)} ${decidedAt.slice(0, 16)}`;
}

export function decisionJson({ id, decision, decidedAt }: KeptDecision): JsonObject {
  const { kind: _, ...about } = decision;
  if ("definition" in about) delete about.definition;
  const label = decision.kind === "never" || decision.kind === "former" ? {} : { label: grantLabel(decision) };
  return { id, decision: answerOf(decision), kind: decision.kind, ...about, ...label, decidedAt };
}

export function problemsJson({ problems }: LoadedDecisions): JsonObject {
  return problems.length === 0 ? {} : { problems: problems.map((problem) => ({ ...problem })) };
}
