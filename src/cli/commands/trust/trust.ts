// `tenon trust`: shows in full the servers and settings of a project's files, and keeps what the person decides; also
// what was allowed or refused for good, how to be asked again, and grants for whole servers.
import { unreachable } from "../../../base/id.js";
import { defined } from "../../../base/json/defined.js";
import type { JsonObject } from "../../../base/json/json.js";
import {
  type EffectiveConfig,
  type EffectiveServer,
  problemText,
  questionLines,
  type TrustQuestion,
  type TrustRecord,
  TrustStore,
  tenonPaths,
  whyNotReady,
} from "../../../config/index.js";
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
import { type CommandContext, print, printJson, readConfig, report, saysYes, tableLines, warn } from "../../context.js";
import { visibleLine } from "../../terminal/text.js";
import { placeJson } from "../mcp/configured.js";
import { liveConfig, secondsToMs, serverNamed } from "../mcp/inspect.js";
import { listTools } from "../mcp/lock.js";

type DecisionValues = Values<"json" | "yes" | "settings" | "all">;

interface TrustContext extends CommandContext {
  readonly store: TrustStore;
  readonly isJson: boolean;
}

/** One server, the project's settings, or everything that is open. */
type Subject =
  | { readonly kind: "server"; readonly name: string }
  | { readonly kind: "settings" }
  | { readonly kind: "all" };

export const runTrustList: Run<Values<"json" | "yes">> = async ({ values }, given) => {
  const context = trustContext(values, given);
  const { project, questions, problems } = await readConfig(context);
  const { records, problems: unread } = await context.store.list();
  const decided = records.filter((record) => record.project === project);
  const here = (await context.world.files.find(context.cwd).catch(() => undefined))?.realPath ?? context.cwd;
  const approvals = await decisionFiles(context).load(here);
  if (context.isJson) {
    return printJson(context, {
      project,
      questions: questions.map(questionJson),
      decisions: decided.map(recordJson),
      approvals: approvals.decisions.map(decisionJson),
      ...problemsJson(approvals),
    });
  }
  const hint =
    "tenon trust approve <server> lets exactly this be used, deny <server> ends the question (--settings: settings).";
  print(context, [
    ...questions.flatMap((question) => shownQuestion(question, context)),
    questions.length === 0 ? "Nothing of this project waits for a decision." : context.palette.dim(hint),
    ...decided.map(decisionLine),
  ]);
  printDecisions(approvals, context);
  for (const problem of [...unread, ...problems]) warn(context, problemText(problem));
};

/** Nothing is approved without being named or shown. */
export function runDecision(verb: "approve" | "deny" | "revoke"): Run<DecisionValues> {
  return async ({ values, words }, given) => {
    const context = trustContext(values, given);
    const subject = subjectOf(verb, words, values);
    const config = await readConfig(context);
    await { approve, deny, revoke }[verb](subject, config, context);
  };
}

function trustContext({ json, yes }: Values<"json" | "yes">, context: CommandContext): TrustContext {
  if (yes === true) throw misused("--yes approves nothing here: name the server");
  const { world } = context;
  return { ...context, store: new TrustStore(world, tenonPaths(world.env).trustDir), isJson: json === true };
}

function subjectOf(verb: string, [name]: readonly string[], { all, settings }: DecisionValues): Subject {
  const given: readonly Subject[] = [
    ...(name === undefined ? [] : [{ kind: "server", name } as const]),
    ...(settings === true ? [{ kind: "settings" } as const] : []),
    ...(all === true ? [{ kind: "all" } as const] : []),
  ];
  const [subject] = given;
  if (!subject) throw misused(`name the server to ${verb} (or --settings for the project's settings)`);
  if (given.length > 1) throw misused(`${verb} takes one server, --settings or --all`);
  return subject;
}

async function approve(subject: Subject, config: EffectiveConfig, context: TrustContext): Promise<void> {
  if (isInForce(config, subject)) return printChange("unchanged", [], context);
  const questions = openQuestions(config, subject);
  const shown = questions.flatMap((question) => shownQuestion(question, context));
  if (subject.kind === "all") await confirm(shown, questions.length, context);
  else if (!context.isJson) print(context, shown);
  for (const question of questions) await context.store.approve(question);
  printChange("approved", questions, context);
}

async function deny(subject: Subject, config: EffectiveConfig, context: TrustContext): Promise<void> {
  let current = config;
  if (subject.kind === "server" && isInForce(config, subject)) {
    // An approved server is no open question; revoked, it is one again.
    await context.store.revoke(config.project, { server: subject.name });
    current = await readConfig(context);
  }
  const questions = openQuestions(current, subject);
  for (const question of questions) await context.store.deny(question);
  printChange("denied", questions, context);
}

async function revoke(subject: Subject, { project }: EffectiveConfig, context: TrustContext): Promise<void> {
  const of = subject.kind === "all" ? undefined : { server: subject.kind === "server" ? subject.name : undefined };
  const gone = await context.store.revoke(project, of);
  if (gone.length === 0) {
    throw refused(`nothing was decided about ${subjectText(subject)} in ${project}`, "See tenon trust.");
  }
  const lines = gone.map((record) => `revoked: ${decisionLine(record)}`);
  report(context, context.isJson, { change: "revoked", decisions: gone.map(recordJson) }, lines);
}

/** A denied server may be approved later, so it counts as open when it is named. */
function openQuestions(config: EffectiveConfig, subject: Subject): readonly TrustQuestion[] {
  const { questions, servers, project, projectSettings } = config;
  switch (subject.kind) {
    case "all":
      if (questions.length > 0) return questions;
      throw refused(`nothing of ${project} waits for a decision`, UNDECIDABLE);
    case "settings":
      if (projectSettings) return [projectSettings];
      throw refused(`the project ${project} has no settings besides servers`, "See tenon trust.");
    case "server": {
      const named = servers.filter((server) => server.name === subject.name && isDecidable(server));
      const found = named.flatMap((server) => (server.status === "untrusted" ? [server.question] : []));
      if (found.length > 0) return found;
      const [other] = named;
      if (!other) throw refused(`the project ${project} has no ${subjectText(subject)}`, "See tenon trust.");
      const reason = whyNotReady(other) ?? "it is in use";
      throw refused(`the project's ${subjectText(subject)} cannot be decided on: ${reason}`, UNDECIDABLE);
    }
  }
}

const UNDECIDABLE = "See tenon trust and tenon mcp list.";

function isInForce({ servers, values }: EffectiveConfig, subject: Subject): boolean {
  if (subject.kind === "settings") return values.some(({ place }) => place.layer === "project");
  if (subject.kind === "all") return false;
  return servers.some((server) => server.name === subject.name && isDecidable(server) && server.status === "ready");
}

/** The project's own servers, and others whose program the folder could replace. */
function isDecidable(server: EffectiveServer): boolean {
  if (server.place.layer === "project" || server.status === "untrusted") return true;
  return server.status === "ready" && server.spec.kind === "stdio" && server.spec.approved !== undefined;
}

/** Everything at once is approved only by a person who has seen it. */
async function confirm(shown: readonly string[], count: number, context: TrustContext): Promise<void> {
  if (!context.ask || context.isJson) {
    throw refused("--all needs a person at a terminal", "Name each server: tenon trust approve <server>.");
  }
  print(context, shown);
  const isSure = await saysYes(context, `Approve ${count === 1 ? "this" : `all ${count} of these`}? Type yes: `);
  if (!isSure) throw refused("nothing was approved", "Type yes to approve.");
}

function printChange(
  change: "approved" | "denied" | "unchanged",
  questions: readonly TrustQuestion[],
  context: TrustContext,
): void {
  const lines = questions.map(({ server }) => `${change}: ${serverText(server)}`);
  const said = change === "unchanged" ? ["This is approved already."] : lines;
  report(context, context.isJson, { change, questions: questions.map(questionJson) }, said);
}

/** Questions are never cut and never masked. */
function shownQuestion(question: TrustQuestion, { palette }: CommandContext): readonly string[] {
  const [first = "", ...rest] = questionLines(question);
  return [`${palette.yellow("?")} ${palette.bold(first)}`, ...rest.map((line) => `    ${line}`)];
}

function questionJson(question: TrustQuestion): JsonObject {
  const { server, hash, place, written, resolvedCommand, references, isChanged, replaces } = question;
  const { program, reasons, isOutdated } = question;
  const files = question.files?.map(({ path, hash: content }) => ({ path, content }));
  return {
    ...defined({ server }),
    hash,
    source: placeJson(place),
    written,
    ...defined({ resolvedCommand, program, files, reasons }),
    references,
    isChanged,
    ...defined({ isOutdated: isOutdated || undefined, replaces: replaces && placeJson(replaces) }),
  };
}

function recordJson({ decision, hash, project, server, decidedAt }: TrustRecord): JsonObject {
  return { decision, hash, project, ...defined({ server }), decidedAt };
}

function decisionLine({ decision, server, decidedAt, hash }: TrustRecord): string {
  return `${serverText(server)} ${decision} ${visibleLine(decidedAt)} (${hash.slice(0, 12)})`;
}

function subjectText(subject: Subject): string {
  return subject.kind === "all" ? "anything" : serverText(subject.kind === "server" ? subject.name : undefined);
}

function serverText(name: string | undefined): string {
  return name === undefined ? "settings" : visibleLine(`server ${JSON.stringify(name)}`);
}

// What was allowed or refused for good.

/** Enough of an id to tell one from another. */
const ID_CHARS = 8;

function decisionFiles({ world }: CommandContext): DecisionFiles {
  return new DecisionFiles(world, tenonPaths(world.env).stateDir);
}

export const runApprovals: Run<Values<"json">> = async ({ values }, context) => {
  const loaded = await decisionFiles(context).load();
  if (!values.json) return printDecisions(loaded, context);
  printJson(context, { approvals: latestFirst(loaded).map(decisionJson), ...problemsJson(loaded) });
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
  const forgotten = [...gone.map(decisionJson), ...broken.map((id) => ({ id }))];
  const lines = [...gone.map((kept) => `forgotten: ${lineOf(kept)}`), ...broken.map((id) => `forgotten: ${id}`)];
  report(context, values.json, { forgotten }, lines.length === 0 ? ["There is nothing to forget."] : lines);
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
  if (!context.ask) {
    const hint = "Run it in a terminal, or answer the question of a session.";
    throw refused("tools are granted only by a person at a terminal", hint);
  }
  print(context, [
    `These ${grants.length} tools of ${visibleLine(name)}, as they are defined now, would be allowed in this project without asking:`,
    ...grants.map(({ tool }) => `  ${visibleLine(tool)}`),
  ]);
  if (!(await saysYes(context, "Allow all of these? Type yes: "))) {
    throw refused("nothing was granted", "Type yes to grant.");
  }
  const files = decisionFiles(context);
  for (const grant of grants) await files.keep(grant);
  const granted = grants.map(({ tool }) => `${name}/${tool}`);
  const lines = grants.map((grant) => `granted: ${decisionSubject(grant)}`);
  report(context, values.json, { granted }, lines);
};

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

function printDecisions(loaded: LoadedDecisions, context: CommandContext): void {
  const kept = latestFirst(loaded);
  if (kept.length === 0) print(context, ["Nothing was allowed or refused for good."]);
  else {
    const rows = kept.map(({ id, decision, decidedAt }) => [
      answerOf(decision),
      decisionSubject(decision),
      "project" in decision ? visibleLine(decision.project) : "every project",
      decidedAt.slice(0, 16),
      id,
    ]);
    print(context, tableLines(["answer", "what", "where", "when", "id"], rows, context));
  }
  for (const { file, reason } of loaded.problems) {
    warn(context, `${file} cannot be read (${reason}): its calls are asked about; make it readable, or remove it`);
  }
}

function answerOf({ kind }: Decision): string {
  if (kind === "never") return "never";
  return kind === "former" ? "to confirm" : "always";
}

function decisionSubject(decision: Decision): string {
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
  return `${answerOf(decision)} ${decisionSubject(decision)} ${decidedAt.slice(0, 16)}`;
}

function decisionJson({ id, decision, decidedAt }: KeptDecision): JsonObject {
  const { kind: _, ...about } = decision;
  if ("definition" in about) delete about.definition;
  const label = decision.kind === "never" || decision.kind === "former" ? {} : { label: grantLabel(decision) };
  return { id, decision: answerOf(decision), kind: decision.kind, ...about, ...label, decidedAt };
}

function problemsJson({ problems }: LoadedDecisions): JsonObject {
  return problems.length === 0 ? {} : { problems: problems.map((problem) => ({ ...problem })) };
}
