// Permission questions: asked one at a time, answered by the person, by `--yes`, or with a no when nobody can be asked.
// Whether a project is trusted is asked here too, and that only a person answers.
import type {
  PermissionOption,
  PermissionOptionKind,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import { visible, visibleLine } from "../terminal/text.js";
import { contentLines, fullArguments, preview } from "./describe.js";
import type { ChatTerminal } from "./line-reader.js";
import { tenonMeta } from "./shared.js";

interface PermissionOptions {
  readonly consent: "ask" | "approve" | "deny";
  /** A person can be asked, whatever the consent to tool calls is. */
  readonly isAttended: boolean;
}

interface Choice {
  readonly key: string;
  readonly words: readonly string[];
  readonly label: string;
  /** The first kind there is an option of. */
  readonly kinds: readonly PermissionOptionKind[];
}

const ONCE: Choice = { key: "y", words: ["y", "yes", "once"], label: "yes, once", kinds: ["allow_once"] };
const ALWAYS: Choice = { key: "a", words: ["a", "always"], label: "always", kinds: ["allow_always"] };
const NO: Choice = { key: "n", words: ["n", "no"], label: "no", kinds: ["reject_once", "reject_always"] };

const TRUST: Choice = { key: "t", words: ["t", "trust"], label: "trust exactly this", kinds: ["allow_always"] };
const NOT_NOW: Choice = { key: "n", words: ["n", "no", "later"], label: "not now", kinds: ["reject_once"] };
const NEVER: Choice = { key: "never", words: ["never"], label: "do not ask again", kinds: ["reject_always"] };

/** Enough to read a real call; the rest is counted, so that nothing is hidden unsaid. */
const ARGUMENT_LINES = 30;
const ARGUMENT_COLUMNS = 2_000;

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

export class PermissionPrompter {
  /** True once a question of the current turn got a no. */
  wasDenied = false;
  readonly #options: ChatTerminal & PermissionOptions;
  #turn = new AbortController().signal;

  constructor(terminal: ChatTerminal, options: PermissionOptions) {
    this.#options = { ...terminal, ...options };
  }

  /** Open questions are answered with "cancelled" when the signal aborts. */
  beginTurn(signal: AbortSignal): void {
    this.#turn = signal;
    this.wasDenied = false;
  }

  /**
   * Questions that come together wait for each other; those left when the turn is cancelled are answered so at once. Never
   * resolves where the person leaves the question to others.
   */
  async answer(request: RequestPermissionRequest, requestSignal: AbortSignal): Promise<RequestPermissionResponse> {
    const { queue, isLeaving } = this.#options;
    const signal = AbortSignal.any([this.#turn, requestSignal]);
    const decide = async () => (signal.aborted ? CANCELLED : await this.#decide(request, signal));
    const response = await queue.run(decide);
    return response === CANCELLED && isLeaving?.() ? await new Promise<never>(() => {}) : response;
  }

  async #decide(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    const { options, toolCall } = request;
    const { consent, isAttended, screen, palette } = this.#options;
    const title = visibleLine(toolCall.title ?? toolCall.toolCallId);
    if (tenonMeta(request)["trust"] === true) return await this.#decideTrust(title, request, signal);
    const { lock, protects } = tenonMeta(toolCall);
    const isLocked = lock === true;
    const isProtected = protects !== undefined;
    // `--yes` is consent to ordinary calls of tools as they were locked: the rest is for a person to look at.
    if (isLocked && !isAttended) {
      const text = `Held back: ${title}. Nobody can be asked here; tenon mcp diff shows the difference.`;
      screen.line(palette.yellow(text));
      if (toolCall.rawInput !== undefined) this.wasDenied = true; // a call, not only a look
      return select(options, NO) ?? CANCELLED;
    }
    if (isProtected && !isAttended) {
      const [reason = ""] = notesOf(request);
      const text = `Not allowed: ${title}. ${reason} Nobody can be asked here, and --yes does not cover it.`;
      screen.line(palette.yellow(text));
      return this.#deny(options);
    }
    if (consent === "ask" || isLocked || isProtected) return await this.#decideCall(title, request, signal);
    if (consent === "approve") return select(options, ONCE) ?? select(options, ALWAYS) ?? CANCELLED;
    screen.line(palette.yellow(`Not allowed: ${title}. Nobody can be asked here; use --yes to approve every call.`));
    return this.#deny(options);
  }

  async #decideCall(
    title: string,
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse> {
    const { options, toolCall } = request;
    const size = { maxLines: ARGUMENT_LINES, columns: ARGUMENT_COLUMNS };
    const given = preview(fullArguments(toolCall.rawInput), size);
    const choices = [ONCE, ALWAYS, NO, NEVER].filter((choice) => choice === NO || optionOf(options, choice));
    const lines = [...notesOf(request), ...given, ...choices.flatMap((choice) => meaningOf(choice, request))];
    const choice = await this.#ask(`Allow ${this.#options.palette.bold(title)}?`, lines, choices, signal);
    if (signal.aborted || (choice === undefined && this.#options.isLeaving?.())) return CANCELLED;
    const isNo = choice === undefined || choice === NO || choice === NEVER;
    return isNo ? this.#deny(options, choice) : (select(options, choice) ?? CANCELLED);
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
      const named = serversOf(request);
      const subjects = named.length === 0 ? ["--settings"] : named;
      const ways = subjects.map((subject) => `tenon trust approve ${visibleLine(subject)}`);
      const verb = ways.length === 1 ? "approves" : "approve";
      screen.line(palette.dim(`  tenon trust shows it in full; ${ways.join(", ")} ${verb} it.`));
      return select(request.options, NOT_NOW) ?? CANCELLED;
    }
    const lines = contentLines(request.toolCall.content ?? []);
    const choice = await this.#ask(palette.bold(title), lines, [TRUST, NOT_NOW, NEVER], signal);
    if (signal.aborted || (choice === undefined && this.#options.isLeaving?.())) return CANCELLED;
    return select(request.options, choice ?? NOT_NOW) ?? CANCELLED;
  }

  /** Undefined at the end of the input, and when the signal aborts. */
  async #ask(
    question: string,
    lines: readonly string[],
    choices: readonly Choice[],
    signal: AbortSignal,
  ): Promise<Choice | undefined> {
    const { screen, palette, reader, shared } = this.#options;
    const vanishes = shared !== undefined;
    const resume = screen.hold();
    try {
      screen.line(`${palette.yellow("?")} ${question}`);
      for (const line of lines) screen.line(`    ${line}`);
      const menu = choices.map((choice) => `[${choice.key}] ${choice.label}`).join("  ");
      for (;;) {
        const typed = await reader.question(`  ${menu} › `, { signal, isFresh: true, vanishes });
        if (typed === undefined || signal.aborted) return undefined;
        const choice = choices.find(({ words }) => words.includes(typed.trim().toLowerCase()));
        if (choice) return choice;
        screen.line(palette.dim(`  Please answer ${choices.map(({ key }) => key).join(", ")}.`));
      }
    } finally {
      resume();
    }
  }

  #deny(options: readonly PermissionOption[], choice: Choice = NO): RequestPermissionResponse {
    this.wasDenied = true;
    return select(options, choice) ?? CANCELLED;
  }
}

function optionOf(options: readonly PermissionOption[], { kinds }: Choice): PermissionOption | undefined {
  return kinds.flatMap((kind) => options.find((candidate) => candidate.kind === kind) ?? [])[0];
}

function select(options: readonly PermissionOption[], choice: Choice): RequestPermissionResponse | undefined {
  const option = optionOf(options, choice);
  return option && { outcome: { outcome: "selected", optionId: option.optionId } };
}

/** In the agent's own words where it grants or refuses more than one call: they say exactly what. */
function meaningOf(choice: Choice, { options }: RequestPermissionRequest): readonly string[] {
  const option = choice === ALWAYS || choice === NEVER ? optionOf(options, choice) : undefined;
  return option ? [`[${choice.key}] ${visibleLine(option.name)}`] : [];
}

/** What changed, and why it is asked: all of it, since the answer should depend on it. */
function notesOf({ toolCall }: RequestPermissionRequest): readonly string[] {
  const { notes } = tenonMeta(toolCall);
  return Array.isArray(notes) ? notes.filter((note) => typeof note === "string").map((note) => visible(note)) : [];
}

function serversOf(request: RequestPermissionRequest): readonly string[] {
  const { server, servers } = tenonMeta(request);
  if (Array.isArray(servers)) return servers.filter((name) => typeof name === "string");
  return typeof server === "string" ? [server] : [];
}
