// Trust questions and decisions for people and for programs. Questions are never cut and never masked.
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import { questionLines, type TrustQuestion, type TrustRecord } from "../../config/index.js";
import type { Palette } from "../terminal/palette.js";
import { visibleLine } from "../terminal/visible.js";
import { placeJson } from "./server-report.js";
import type { TrustSubject } from "./trust-arguments.js";

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
