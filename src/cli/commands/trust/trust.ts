// `tenon trust`: shows in full what a project's files want to bring, and keeps what the person decides about it.
import { TenonError } from "../../../base/errors.js";
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
import { type Given, misused, type Run, type Values } from "../../command.js";
import { type CommandContext, print, printJson, readConfig, warn } from "../../context.js";
import { EXIT } from "../../exit.js";
import type { Palette } from "../../terminal/stream.js";
import { visibleLine } from "../../terminal/text.js";
import { placeJson } from "../mcp/list.js";
import { decisionFiles, decisionJson, problemsJson, showDecisions } from "./approvals.js";

interface Desk extends CommandContext {
  readonly store: TrustStore;
  readonly isJson: boolean;
}

type ListValues = Values<"json" | "yes">;

export async function runTrustList({ values }: Given<ListValues>, context: CommandContext): Promise<number> {
  await list(await readConfig(context), deskFor(values, context));
  return EXIT.done;
}

/** There is no way to approve something without naming it or looking at it. */
export function runDecision(verb: "approve" | "deny" | "revoke"): Run<Values<"json" | "yes" | "settings" | "all">> {
  return async ({ values, words }, context) => {
    const desk = deskFor(values, context);
    const subject = subjectOf(verb, words, values);
    const config = await readConfig(context);
    await { approve, deny, revoke }[verb](subject, config, desk);
    return EXIT.done;
  };
}

function deskFor({ json, yes }: ListValues, context: CommandContext): Desk {
  if (yes === true) throw misused("--yes approves nothing here: name the server");
  const { world } = context;
  return { ...context, store: new TrustStore(world, tenonPaths(world.env).trustDir), isJson: json === true };
}

async function list({ project, questions, problems }: EffectiveConfig, desk: Desk): Promise<void> {
  const kept = await desk.store.list();
  const decided = kept.records.filter((record) => record.project === project);
  const here = (await desk.world.files.find(desk.cwd).catch(() => undefined))?.realPath ?? desk.cwd;
  const approvals = await decisionFiles(desk).load(here);
  if (desk.isJson) {
    return printJson(desk, {
      project,
      questions: questions.map(questionJson),
      decisions: decided.map(recordJson),
      approvals: approvals.decisions.map(decisionJson),
      ...problemsJson(approvals),
    });
  }
  print(
    desk,
    questions.flatMap((question) => shownQuestion(question, desk.palette)),
  );
  const hint =
    "tenon trust approve <server> lets exactly this be used, deny <server> ends the question (--settings: settings).";
  print(desk, [
    questions.length === 0 ? "Nothing of this project waits for a decision." : desk.palette.dim(hint),
    ...decided.map(decisionLine),
  ]);
  showDecisions(approvals, desk);
  for (const problem of [...kept.problems, ...problems]) warn(desk, problemText(problem));
}

async function approve(subject: TrustSubject, config: EffectiveConfig, desk: Desk): Promise<void> {
  if (isInForce(config, subject)) return report("unchanged", [], desk);
  const questions = asked(config, subject);
  const shown = questions.flatMap((question) => shownQuestion(question, desk.palette));
  if (subject.kind === "all") await confirm(shown, questions.length, desk);
  else if (!desk.isJson) print(desk, shown);
  for (const question of questions) await desk.store.approve(question);
  report("approved", questions, desk);
}

async function deny(subject: TrustSubject, config: EffectiveConfig, desk: Desk): Promise<void> {
  let open = config;
  if (subject.kind === "server" && isInForce(config, subject)) {
    // What was approved is no question any more; taken back, it is one again.
    await desk.store.revoke(config.project, { server: subject.name });
    open = await readConfig(desk);
  }
  const questions = asked(open, subject);
  for (const question of questions) await desk.store.deny(question);
  report("denied", questions, desk);
}

async function revoke(subject: TrustSubject, { project }: EffectiveConfig, desk: Desk): Promise<void> {
  const of = subject.kind === "all" ? undefined : { server: subject.kind === "server" ? subject.name : undefined };
  const gone = await desk.store.revoke(project, of);
  if (gone.length === 0) {
    throw refusal(`nothing was decided about ${subjectText(subject)} in ${project}`, "See tenon trust.");
  }
  if (desk.isJson) return printJson(desk, { change: "revoked", decisions: gone.map(recordJson) });
  print(
    desk,
    gone.map((record) => `revoked: ${decisionLine(record)}`),
  );
}

/** What was denied may be approved after all, so it counts as open when it is named. */
function asked(config: EffectiveConfig, subject: TrustSubject): readonly TrustQuestion[] {
  const { questions, servers, project, projectSettings } = config;
  switch (subject.kind) {
    case "all":
      if (questions.length > 0) return questions;
      throw refusal(`nothing of ${project} waits for a decision`);
    case "settings":
      if (projectSettings) return [projectSettings];
      throw refusal(`the project ${project} brings no settings besides servers`, "See tenon trust.");
    case "server": {
      const named = servers.filter((server) => server.name === subject.name && isDecidable(server));
      const found = named.flatMap((server) => (server.status === "untrusted" ? [server.question] : []));
      if (found.length > 0) return found;
      const [other] = named;
      if (!other) throw refusal(`the project ${project} brings no ${subjectText(subject)}`, "See tenon trust.");
      throw refusal(
        `the project's ${subjectText(subject)} cannot be decided on: ${whyNotReady(other) ?? "it is in use"}`,
      );
    }
  }
}

function isInForce({ servers, values }: EffectiveConfig, subject: TrustSubject): boolean {
  if (subject.kind === "settings") return values.some(({ place }) => place.layer === "project");
  return servers.some(
    (server) =>
      subject.kind === "server" && server.name === subject.name && isDecidable(server) && server.status === "ready",
  );
}

/** The project's own servers, and others that may run what the folder has only if somebody says so. */
function isDecidable(server: EffectiveServer): boolean {
  if (server.place.layer === "project" || server.status === "untrusted") return true;
  return server.status === "ready" && server.spec.kind === "stdio" && server.spec.approved !== undefined;
}

/** Everything at once is approved only by a person who has it before them. */
async function confirm(shown: readonly string[], count: number, desk: Desk): Promise<void> {
  if (!desk.ask || desk.isJson) {
    throw refusal("--all needs a person at a terminal", "Name each server: tenon trust approve <server>.");
  }
  print(desk, shown);
  const answer = await desk.ask(`Approve ${count === 1 ? "this" : `all ${count} of these`}? Type yes: `);
  if (answer?.trim().toLowerCase() !== "yes") throw refusal("nothing was approved", "Type yes to approve.");
}

function report(change: "approved" | "denied" | "unchanged", questions: readonly TrustQuestion[], desk: Desk): void {
  if (desk.isJson) return printJson(desk, { change, questions: questions.map(questionJson) });
  if (change === "unchanged") print(desk, ["This is approved already."]);
  print(
    desk,
    questions.map(
      ({ server }) =>
        `${change}: ${subjectText(server === undefined ? { kind: "settings" } : { kind: "server", name: server })}`,
    ),
  );
}

function refusal(message: string, hint = "See tenon trust and tenon mcp list."): TenonError {
  return new TenonError("config.invalid", message, { hint });
}

// Trust questions and decisions for people and for programs. Questions are never cut and never masked.

export function shownQuestion(question: TrustQuestion, palette: Palette): readonly string[] {
  const [first = "", ...rest] = questionLines(question);
  return [`${palette.yellow("?")} ${palette.bold(first)}`, ...rest.map((line) => `    ${line}`)];
}

export function questionJson(question: TrustQuestion): JsonObject {
  const { server, hash, place, written, resolvedCommand, references, isChanged, replaces } = question;
  const { program, files, reasons, isOutdated } = question;
  return {
    ...defined({ server }),
    hash,
    source: placeJson(place),
    written,
    ...defined({
      resolvedCommand,
      program,
      files: files ? files.map(({ path, hash: content }) => ({ path, content })) : undefined,
      reasons,
    }),
    references,
    isChanged,
    ...defined({ isOutdated: isOutdated || undefined, replaces: replaces ? placeJson(replaces) : undefined }),
  };
}

export function recordJson({ decision, hash, project, server, decidedAt }: TrustRecord): JsonObject {
  return { decision, hash, project, ...defined({ server }), decidedAt };
}

export function decisionLine({ decision, server, decidedAt, hash }: TrustRecord): string {
  const subject = subjectText(server === undefined ? { kind: "settings" } : { kind: "server", name: server });
  return `${subject} ${decision} ${visibleLine(decidedAt)} (${hash.slice(0, 12)})`;
}

export function subjectText(subject: TrustSubject): string {
  switch (subject.kind) {
    case "server":
      return visibleLine(`server ${JSON.stringify(subject.name)}`);
    case "settings":
      return "settings";
    case "all":
      return "anything";
  }
}

// What a decision of `tenon trust` is about.

/** One server, the project's settings, or everything that is open. */
export type TrustSubject =
  | { readonly kind: "server"; readonly name: string }
  | { readonly kind: "settings" }
  | { readonly kind: "all" };

export function subjectOf(
  verb: string,
  [name]: readonly string[],
  { all = false, settings = false }: Values<"all" | "settings">,
): TrustSubject {
  if (Number(name !== undefined) + Number(all) + Number(settings) > 1) {
    throw misused(`${verb} takes one server, --settings or --all`);
  }
  if (name !== undefined) return { kind: "server", name };
  if (settings) return { kind: "settings" };
  if (all) return { kind: "all" };
  throw misused(`name the server to ${verb} (or --settings for the project's settings)`);
}
