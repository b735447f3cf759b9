// Permission questions: asked one at a time, answered by the person, by `--yes`, or with a no when nobody can be asked.
// Whether a project is trusted is asked here too, and that only a person answers.
import type {
  PermissionOption,
  PermissionOptionKind,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import { isJsonObject } from "../../base/json.js";
import type { Palette } from "../terminal/palette.js";
import type { Screen } from "../terminal/screen.js";
import { visibleLine } from "../terminal/visible.js";
import { contentLines, fullArguments, preview } from "./describe.js";
import type { LineReader } from "./line-reader.js";

export type Consent = "ask" | "approve" | "deny";

export interface PermissionDeskOptions {
  readonly consent: Consent;
  /** A person can be asked, whatever the consent to tool calls is. */
  readonly isAttended: boolean;
  readonly screen: Screen;
  readonly palette: Palette;
  readonly reader: LineReader;
}

interface Choice {
  readonly key: string;
  readonly words: readonly string[];
  readonly label: string;
  readonly kinds: readonly PermissionOptionKind[];
}

const ONCE: Choice = { key: "y", words: ["y", "yes", "once"], label: "yes, once", kinds: ["allow_once"] };
const ALWAYS: Choice = { key: "a", words: ["a", "always"], label: "always in this session", kinds: ["allow_always"] };
const NO: Choice = { key: "n", words: ["n", "no"], label: "no", kinds: ["reject_once", "reject_always"] };

const TRUST: Choice = { key: "t", words: ["t", "trust"], label: "trust exactly this", kinds: ["allow_always"] };
const NOT_NOW: Choice = { key: "n", words: ["n", "no", "later"], label: "not now", kinds: ["reject_once"] };
const NEVER: Choice = { key: "never", words: ["never"], label: "do not ask again", kinds: ["reject_always"] };

/** Enough to read a real call; the rest is counted, so that nothing is hidden unsaid. */
const ARGUMENT_LINES = 30;
const ARGUMENT_COLUMNS = 2_000;

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

export class PermissionDesk {
  readonly #options: PermissionDeskOptions;
  #turn = new AbortController().signal;
  #last: Promise<unknown> = Promise.resolve();
  #wasDenied = false;

  constructor(options: PermissionDeskOptions) {
    this.#options = options;
  }

  /** True once a question of the current turn got a no. */
  get wasDenied(): boolean {
    return this.#wasDenied;
  }

  beginTurn(signal: AbortSignal): void {
    this.#turn = signal;
    this.#wasDenied = false;
  }

  /** Questions that come together wait for each other; those left when the turn is cancelled are answered so at once. */
  async answer(request: RequestPermissionRequest, requestSignal: AbortSignal): Promise<RequestPermissionResponse> {
    const signal = AbortSignal.any([this.#turn, requestSignal]);
    const answered = this.#last.then(async () => (signal.aborted ? CANCELLED : await this.#decide(request, signal)));
    this.#last = answered.catch(() => {});
    return await answered;
  }

  async #decide(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    const title = visibleLine(request.toolCall.title ?? request.toolCall.toolCallId);
    if (isAboutTrust(request)) return await this.#decideTrust(title, request, signal);
    switch (this.#options.consent) {
      case "approve":
        return select(request.options, ONCE) ?? select(request.options, ALWAYS) ?? CANCELLED;
      case "deny": {
        const { screen, palette } = this.#options;
        screen.line(
          palette.yellow(`Not allowed: ${title}. Nobody can be asked here; use --yes to approve every call.`),
        );
        return this.#deny(request.options);
      }
      case "ask": {
        const lines = preview(fullArguments(request.toolCall.rawInput), {
          maxLines: ARGUMENT_LINES,
          columns: ARGUMENT_COLUMNS,
        });
        const choices = [ONCE, ALWAYS, NO].filter((choice) => choice === NO || select(request.options, choice));
        const choice = await this.#ask(`Allow ${this.#options.palette.bold(title)}?`, lines, choices, signal);
        if (signal.aborted) return CANCELLED;
        return choice === undefined || choice === NO
          ? this.#deny(request.options)
          : (select(request.options, choice) ?? CANCELLED);
      }
    }
  }

  /** `--yes` is consent to the calls of what is trusted, not to whatever a project brings. Nothing of it is cut. */
  async #decideTrust(
    title: string,
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse> {
    const { screen, palette, isAttended } = this.#options;
    if (!isAttended) {
      screen.line(palette.yellow(`${title} Nobody can be asked here, so it is not used.`));
      const what = serverOf(request) ?? "--settings";
      screen.line(palette.dim(`  tenon trust shows it in full; tenon trust approve ${visibleLine(what)} approves it.`));
      return select(request.options, NOT_NOW) ?? CANCELLED;
    }
    const lines = contentLines(request.toolCall.content ?? []);
    const choice = await this.#ask(palette.bold(title), lines, [TRUST, NOT_NOW, NEVER], signal);
    return signal.aborted ? CANCELLED : (select(request.options, choice ?? NOT_NOW) ?? CANCELLED);
  }

  /** Undefined at the end of the input, and when the signal aborts. */
  async #ask(
    question: string,
    lines: readonly string[],
    choices: readonly Choice[],
    signal: AbortSignal,
  ): Promise<Choice | undefined> {
    const { screen, palette, reader } = this.#options;
    const resume = screen.hold();
    try {
      screen.line(`${palette.yellow("?")} ${question}`);
      for (const line of lines) screen.line(`    ${line}`);
      const menu = choices.map((choice) => `[${choice.key}] ${choice.label}`).join("  ");
      for (;;) {
        const typed = await reader.question(`  ${menu} › `, { signal, isFresh: true });
        if (typed === undefined || signal.aborted) return undefined;
        const choice = choices.find(({ words }) => words.includes(typed.trim().toLowerCase()));
        if (choice) return choice;
        screen.line(palette.dim(`  Please answer ${choices.map(({ key }) => key).join(", ")}.`));
      }
    } finally {
      resume();
    }
  }

  #deny(options: readonly PermissionOption[]): RequestPermissionResponse {
    this.#wasDenied = true;
    return select(options, NO) ?? CANCELLED;
  }
}

function select(options: readonly PermissionOption[], { kinds }: Choice): RequestPermissionResponse | undefined {
  const option = kinds
    .map((kind) => options.find((candidate) => candidate.kind === kind))
    .find((found) => found !== undefined);
  return option && { outcome: { outcome: "selected", optionId: option.optionId } };
}

function serverOf({ _meta }: RequestPermissionRequest): string | undefined {
  const tenon = _meta?.["tenon"];
  const server = isJsonObject(tenon) ? tenon["server"] : undefined;
  return typeof server === "string" ? server : undefined;
}

/** Tenon's agent marks what is asked about a project's files; another agent's questions are about calls. */
function isAboutTrust({ _meta }: RequestPermissionRequest): boolean {
  const tenon = _meta?.["tenon"];
  return isJsonObject(tenon) && tenon["trust"] === true;
}
