// Permission questions: asked one at a time, answered by the person, by `--yes`, or with a no when nobody can be asked.
import type {
  PermissionOption,
  PermissionOptionKind,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import type { Palette } from "../terminal/palette.js";
import type { Screen } from "../terminal/screen.js";
import { visibleLine } from "../terminal/visible.js";
import { fullArguments, preview } from "./describe.js";
import type { LineReader } from "./line-reader.js";

export type Consent = "ask" | "approve" | "deny";

export interface PermissionDeskOptions {
  readonly consent: Consent;
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
      case "ask":
        return await this.#ask(title, request, signal);
    }
  }

  async #ask(
    title: string,
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse> {
    const { screen, palette, reader } = this.#options;
    const choices = [ONCE, ALWAYS, NO].filter((choice) => choice === NO || select(request.options, choice));
    const resume = screen.hold();
    try {
      screen.line(`${palette.yellow("?")} Allow ${palette.bold(title)}?`);
      const lines = preview(fullArguments(request.toolCall.rawInput), {
        maxLines: ARGUMENT_LINES,
        columns: ARGUMENT_COLUMNS,
      });
      for (const line of lines) screen.line(`    ${line}`);
      const menu = choices.map((choice) => `[${choice.key}] ${choice.label}`).join("  ");
      for (;;) {
        const typed = await reader.question(`  ${menu} › `, { signal, isFresh: true });
        if (signal.aborted) return CANCELLED;
        const choice =
          typed === undefined ? NO : choices.find(({ words }) => words.includes(typed.trim().toLowerCase()));
        if (choice === NO) return this.#deny(request.options);
        if (choice) return select(request.options, choice) ?? CANCELLED;
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
