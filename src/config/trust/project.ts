// Sorts a project's entries by what the person decided about them. Nothing of an entry is used here but its text.

import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { PinnedFile } from "../../mcp/index.js";
import type { LayerSet } from "../collect-layers.js";
import {
  type DisabledServer,
  disabledServer,
  emptyLayer,
  identityOf,
  isDisabled,
  isWritten,
  type Layer,
  type LayerServer,
  mergeLayers,
  type Place,
  type Problem,
  placeText,
  type ShadowedServer,
  shadowedBy,
  type WrittenServer,
  winnerOf,
} from "../layers/layer.js";
import {
  type CommandPlace,
  serverQuestion,
  settingsQuestion,
  type TrustQuestion,
  type UntrustedServer,
} from "./question.js";
import type { TrustStore } from "./store.js";

export interface ApprovedProgram {
  readonly command: string;
  /** What lies in the project, as it was approved. */
  readonly files: readonly PinnedFile[];
}

export interface JudgedProject {
  /** What was approved, as a layer: all that may take part in merging. */
  readonly approved: Layer;
  /** The program that was approved for each stdio server of it. */
  readonly programs: ReadonlyMap<string, ApprovedProgram>;
  readonly others: readonly (UntrustedServer | DisabledServer | ShadowedServer)[];
  /** Undecided. */
  readonly questions: readonly TrustQuestion[];
  /** About its settings, decided or not; undefined when it has none. */
  readonly settings?: TrustQuestion;
  readonly problems: readonly Problem[];
}

export async function judgeProject(
  layers: LayerSet,
  context: CommandPlace & { readonly store: TrustStore },
): Promise<JudgedProject> {
  const { projectPath: project, user, foreign } = layers;
  // A project is one authority: its own files replace each other before the person is asked.
  const own = mergeLayers(layers.project);
  const stronger = mergeLayers(layers.above).servers;
  const weaker = [user, ...foreign].flatMap(({ servers: ofLayer }) => ofLayer);
  const servers: LayerServer[] = [];
  const programs = new Map<string, ApprovedProgram>();
  const others: (UntrustedServer | DisabledServer | ShadowedServer)[] = [];
  const questions: TrustQuestion[] = [];
  const problems: Problem[] = [];

  const decide = async (asked: TrustQuestion, replaces?: Place) => {
    const { decision, isChanged, isOutdated, problems: found } = await context.store.verdictOn(asked);
    const more = defined({ isOutdated: isOutdated || undefined, replaces });
    const question: TrustQuestion = { ...asked, isChanged, ...more };
    problems.push(...found);
    if (decision === "undecided") questions.push(question);
    return { decision, question };
  };

  const judge = async (server: LayerServer<WrittenServer>): Promise<void> => {
    const { name, place } = server;
    if (isDisabled(server)) {
      // Not asked about and not merged: else a project could take a server of the user's away by naming it.
      others.push(disabledServer(server, `disabled in ${placeText(place)}`));
      return;
    }
    const replaces = weaker.find((replaced) => replaced.name === name)?.place;
    const { decision, question } = await decide(await serverQuestion(server, { ...context, project }), replaces);
    if (decision === "approved") {
      servers.push(server);
      const { resolvedCommand: command, files = [] } = question;
      if (command !== undefined) programs.set(name, { command, files });
    } else others.push({ status: "untrusted", ...identityOf(server), question, isDenied: decision === "denied" });
  };

  for (const stack of own.servers.values()) {
    const server = winnerOf(stack);
    const { name, place } = server;
    const above = stronger.get(name);
    const by = above ? winnerOf(above).place : place;
    for (const shadowed of above ? stack : shadowedBy(stack)) {
      others.push({ status: "shadowed", ...identityOf(shadowed), by });
    }
    if (above || !isWritten(server)) continue;
    // An entry that cannot be checked is left out; the others are not affected.
    await judge(server).catch((error: unknown) => {
      const reason = `it cannot be checked: ${messageOf(error)}`;
      others.push(disabledServer(server, reason));
      problems.push({ severity: "error", place, message: reason, server: name });
    });
  }
  const values = [...own.values.values()];
  const asked = settingsQuestion(values, project);
  const settings = asked && (await decide(asked));
  const approved = { ...emptyLayer("project"), servers, values: settings?.decision === "approved" ? values : [] };
  return { approved, programs, others, questions, problems, ...defined({ settings: settings?.question }) };
}
