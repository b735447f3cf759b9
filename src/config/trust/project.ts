// Sorts a project's entries by what the person decided about them. Nothing of an entry is used here but its text.

import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { World } from "../../base/ports/world.js";
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
import { serverQuestion, settingsQuestion, type TrustQuestion, type UntrustedServer } from "./question.js";
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

export interface JudgeContext {
  readonly world: World;
  readonly env: World["env"];
  readonly cwd: string;
  readonly store: TrustStore;
}

export async function judgeProject(layers: LayerSet, context: JudgeContext): Promise<JudgedProject> {
  return await new Judge(layers, context).run();
}

class Judge {
  readonly #layers: LayerSet;
  readonly #context: JudgeContext;
  readonly #servers: LayerServer[] = [];
  readonly #programs = new Map<string, ApprovedProgram>();
  readonly #others: (UntrustedServer | DisabledServer | ShadowedServer)[] = [];
  readonly #questions: TrustQuestion[] = [];
  readonly #problems: Problem[] = [];

  constructor(layers: LayerSet, context: JudgeContext) {
    this.#layers = layers;
    this.#context = context;
  }

  async run(): Promise<JudgedProject> {
    // A project is one authority: its own files replace each other before the person is asked.
    const own = mergeLayers(this.#layers.project);
    const stronger = mergeLayers(this.#layers.above).servers;
    for (const stack of own.servers.values()) {
      const server = winnerOf(stack);
      const above = stronger.get(server.name);
      const by = above ? winnerOf(above).place : server.place;
      for (const shadowed of above ? stack : shadowedBy(stack)) {
        this.#others.push({ status: "shadowed", ...identityOf(shadowed), by });
      }
      if (!above && isWritten(server))
        await this.#judge(server).catch((error: unknown) => this.#leaveOut(server, error));
    }
    const { values, question } = await this.#settings([...own.values.values()]);
    return {
      approved: { ...emptyLayer("project"), servers: this.#servers, values },
      ...defined({ settings: question }),
      programs: this.#programs,
      others: this.#others,
      questions: this.#questions,
      problems: this.#problems,
    };
  }

  async #judge(server: LayerServer<WrittenServer>): Promise<void> {
    const { name, place } = server;
    if (isDisabled(server)) {
      // Not asked about and not merged: else a project could take a server of the user's away by naming it.
      this.#others.push(disabledServer(server, `disabled in ${placeText(place)}`));
      return;
    }
    const asked = await serverQuestion(server, { ...this.#context, project: this.#layers.projectPath });
    const { decision, question } = await this.#decide(asked, this.#replaced(name));
    if (decision === "approved") {
      this.#servers.push(server);
      const { resolvedCommand: command, files = [] } = question;
      if (command !== undefined) this.#programs.set(name, { command, files });
    } else this.#others.push({ status: "untrusted", ...identityOf(server), question, isDenied: decision === "denied" });
  }

  /** An entry that cannot be checked is left out; the others are not affected. */
  #leaveOut(server: LayerServer, error: unknown): void {
    const reason = `it cannot be checked: ${messageOf(error)}`;
    this.#others.push(disabledServer(server, reason));
    this.#problems.push({ severity: "error", place: server.place, message: reason, server: server.name });
  }

  async #settings(
    values: Layer["values"],
  ): Promise<{ readonly values: Layer["values"]; readonly question?: TrustQuestion }> {
    const asked = settingsQuestion(values, this.#layers.projectPath);
    if (!asked) return { values: [] };
    const { decision, question } = await this.#decide(asked);
    return { values: decision === "approved" ? values : [], question };
  }

  async #decide(asked: TrustQuestion, replaces?: Place) {
    const { decision, isChanged, isOutdated, problems } = await this.#context.store.verdictOn(asked);
    const question: TrustQuestion = {
      ...asked,
      isChanged,
      ...defined({ isOutdated: isOutdated || undefined, replaces }),
    };
    this.#problems.push(...problems);
    if (decision === "undecided") this.#questions.push(question);
    return { decision, question };
  }

  #replaced(name: string): Place | undefined {
    const { user, foreign } = this.#layers;
    return [user, ...foreign].flatMap(({ servers }) => servers).find((server) => server.name === name)?.place;
  }
}
