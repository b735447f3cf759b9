// `tenon trust`: shows in full the servers and settings of a project's files, and keeps what the person decides.
import type { TenonError } from "../../../base/errors.js";
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
import { misused, type Run, refused, type Values } from "../../command.js";
import { type CommandContext, print, printJson, readConfig, warn } from "../../context.js";
import { visibleLine } from "../../terminal/text.js";
import { placeJson } from "../mcp/list.js";
import { decisionFiles, decisionJson, printDecisions, problemsJson } from "./approvals.js";

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
  if (context.isJson) return printJson(context, { change: "revoked", decisions: gone.map(recordJson) });
  const lines = gone.map((record) => `revoked: ${decisionLine(record)}`);
  print(context, lines);
}

/** A denied server may be approved later, so it counts as open when it is named. */
function openQuestions(config: EffectiveConfig, subject: Subject): readonly TrustQuestion[] {
  const { questions, servers, project, projectSettings } = config;
  switch (subject.kind) {
    case "all":
      if (questions.length > 0) return questions;
      throw undecidable(`nothing of ${project} waits for a decision`);
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
      throw undecidable(`the project's ${subjectText(subject)} cannot be decided on: ${reason}`);
    }
  }
}

function undecidable(message: string): TenonError {
  return refused(message, "See tenon trust and tenon mcp list.");
}

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
  const answer = await context.ask(`Approve ${count === 1 ? "this" : `all ${count} of these`}? Type yes: `);
  if (answer?.trim().toLowerCase() !== "yes") throw refused("nothing was approved", "Type yes to approve.");
}

function printChange(
  change: "approved" | "denied" | "unchanged",
  questions: readonly TrustQuestion[],
  context: TrustContext,
): void {
  if (context.isJson) return printJson(context, { change, questions: questions.map(questionJson) });
  if (change === "unchanged") print(context, ["This is approved already."]);
  const lines = questions.map(({ server }) => `${change}: ${serverText(server)}`);
  print(context, lines);
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
