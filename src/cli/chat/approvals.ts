// Permission questions: asked one at a time, answered by the person, by `--yes`, or with a no when nobody can be asked.
// Whether a project is trusted is asked here too, and that only a person answers.
import type {
  PermissionOption,
  PermissionOptionKind,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import { defined } from "../../base/json/defined.js";
import { renderDiff } from "../terminal/diff.js";
import type { MenuChoice } from "../terminal/live/menu.js";
import { visible, visibleLine } from "../terminal/text.js";
import { contentLines, fullArguments, preview, previewEnds } from "./describe.js";
import { tenonMeta } from "./shared.js";
import type { ChatTerminal } from "./terminal.js";

interface PermissionOptions {
  readonly consent: "ask" | "approve" | "deny";
  /** A person can be asked, whatever the consent to tool calls is. */
  readonly isAttended: boolean;
}

interface Choice {
  /** A key that chooses it. */
  readonly key?: string;
  readonly label: string;
  /** The first kind there is an option of. */
  readonly kinds: readonly PermissionOptionKind[];
  /** The person says what to do instead, to the model. */
  readonly hasWords?: boolean;
}

const ONCE: Choice = { key: "y", label: "Allow once", kinds: ["allow_once"] };
const ALWAYS: Choice = { label: "Always", kinds: ["allow_always"] };
const NO: Choice = { key: "n", label: "No", kinds: ["reject_once", "reject_always"] };
const NO_BUT: Choice = {
  label: "No, and say what to do instead",
  kinds: ["reject_once", "reject_always"],
  hasWords: true,
};
const NEVER: Choice = { label: "Never", kinds: ["reject_always"] };

/** Enough to read a real call; the rest is counted, so that nothing is hidden unsaid. */
const ARGUMENT_LINES = 30;
const ARGUMENT_COLUMNS = 2_000;
/** Where a command that is longer can be seen nowhere else. */
const COMMAND_LINES = 300;

/** The whole of an ordinary change; of a long one the beginning, with what is left out counted. */
const DIFF_SIZE = { maxLines: 300, columns: 2_000 } as const;

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

export class PermissionPrompter {
  /** True once a question of the current turn got a no. */
  wasDenied = false;
  /** Called with the id of a call whose change the person has seen. */
  onDiffShown: (toolCallId: string) => void = () => {};
  /** Takes all of a command that is too long for the question, to be looked at with Ctrl-O. */
  onLongCommand: ((lines: readonly string[]) => void) | undefined;
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
      return this.#denyUnasked(options);
    }
    if (consent === "ask" || isLocked || isProtected) return await this.#decideCall(title, request, signal);
    if (consent === "approve") return select(options, ONCE) ?? select(options, ALWAYS) ?? CANCELLED;
    screen.line(palette.yellow(`Not allowed: ${title}. Nobody can be asked here; use --yes to approve every call.`));
    return this.#denyUnasked(options);
  }

  async #decideCall(
    title: string,
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse> {
    const { options } = request;
    // Words are for the model, which waits for the outcome of its call.
    const isCall = request.toolCall.rawInput !== undefined && tenonMeta(request.toolCall)["sampling"] !== true;
    const all = [ONCE, ALWAYS, NO, ...(isCall ? [NO_BUT] : []), NEVER];
    const choices = all.filter((choice) => choice === NO || optionOf(options, choice));
    const answer = await this.#ask(
      `Allow ${this.#options.palette.bold(title)}?`,
      this.#shownBefore(request),
      { request, choices },
      signal,
    );
    if (signal.aborted || (answer === undefined && this.#options.isLeaving?.())) return CANCELLED;
    const { choice = NO, words } = answer ?? {};
    const isYes = choice === ONCE || choice === ALWAYS;
    return isYes ? (select(options, choice) ?? CANCELLED) : this.#deny(options, choice, words);
  }

  /** What the answer should depend on: notes, then the change, the command or every argument. */
  #shownBefore(request: RequestPermissionRequest): readonly string[] {
    const { palette } = this.#options;
    const { toolCall } = request;
    const notes = notesOf(request).map((note) => palette.yellow(note));
    const diffs = (toolCall.content ?? []).flatMap((content) =>
      content.type === "diff" ? [renderDiff(content, palette)] : [],
    );
    if (diffs.length > 0) {
      this.onDiffShown(toolCall.toolCallId);
      return [...notes, ...diffs.flatMap(({ title, lines }) => [title, ...preview(lines, DIFF_SIZE)])];
    }
    const all = fullArguments(toolCall.rawInput);
    if (toolCall.kind === "execute") return [...notes, ...this.#command(all).map((line) => palette.cyan(line))];
    return [...notes, ...preview(all, { maxLines: ARGUMENT_LINES, columns: ARGUMENT_COLUMNS })];
  }

  /** Beginning and end of a long one: what it does may stand in its last line. */
  #command(all: readonly string[]): readonly string[] {
    const keep = this.onLongCommand;
    const size = { maxLines: keep ? ARGUMENT_LINES : COMMAND_LINES, maxChars: ARGUMENT_COLUMNS };
    const { shown, isWhole } = previewEnds(all, { ...size, where: keep ? " (Ctrl-O)" : "" });
    if (!isWhole) keep?.(all);
    return shown;
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
      return select(request.options, NO) ?? CANCELLED;
    }
    const lines = contentLines(request.toolCall.content ?? []);
    const answer = await this.#ask(palette.bold(title), lines, { request, choices: [ALWAYS, NO, NEVER] }, signal);
    if (signal.aborted || (answer === undefined && this.#options.isLeaving?.())) return CANCELLED;
    return select(request.options, answer?.choice ?? NO) ?? CANCELLED;
  }

  /** Undefined at the end of the input, and when the signal aborts. */
  async #ask(
    question: string,
    lines: readonly string[],
    { request, choices }: { readonly request: RequestPermissionRequest; readonly choices: readonly Choice[] },
    signal: AbortSignal,
  ): Promise<{ readonly choice: Choice; readonly words?: string } | undefined> {
    const { screen, palette, reader, shared } = this.#options;
    const vanishes = shared !== undefined;
    const resume = screen.hold();
    try {
      screen.line(`${palette.yellow("?")} ${question}`);
      for (const line of lines) screen.line(`    ${line}`);
      const menu = { title: "Your answer:", choices: choices.map((choice) => shownChoice(choice, request)) };
      for (;;) {
        const chosen = await reader.choose(menu, { signal, isFresh: true, vanishes });
        const choice = chosen === undefined ? undefined : choices[chosen];
        if (!choice || signal.aborted) return undefined;
        if (!choice.hasWords) {
          screen.line(palette.dim(`  ${shownChoice(choice, request).label}`));
          return { choice };
        }
        const options = { signal, isFresh: true, isNext: true, vanishes };
        const words = await reader.question("  What should it do instead? › ", options);
        if (words === undefined || signal.aborted) return undefined;
        if (words.trim() === "") continue;
        screen.line(palette.dim(`  No: ${visibleLine(words)}`));
        return { choice, words: words.trim() };
      }
    } finally {
      resume();
    }
  }

  /** The model is told that nobody was there, not that somebody said no. */
  #denyUnasked(options: readonly PermissionOption[]): RequestPermissionResponse {
    return { ...this.#deny(options), _meta: { tenon: { unattended: true } } };
  }

  /** `words` go to the model with the refusal. */
  #deny(options: readonly PermissionOption[], choice: Choice = NO, words?: string): RequestPermissionResponse {
    this.wasDenied = true;
    const answer = select(options, choice) ?? CANCELLED;
    return words === undefined ? answer : { ...answer, _meta: { tenon: { words } } };
  }
}

/** In the agent's own words: they say exactly what is granted or refused. */
function shownChoice(choice: Choice, { options }: RequestPermissionRequest): MenuChoice {
  const option = choice.hasWords ? undefined : optionOf(options, choice);
  const label = option ? visibleLine(option.name) : choice.label;
  return { label, ...defined({ key: choice.key }) };
}

function optionOf(options: readonly PermissionOption[], { kinds }: Choice): PermissionOption | undefined {
  return kinds.flatMap((kind) => options.find((candidate) => candidate.kind === kind) ?? [])[0];
}

function select(options: readonly PermissionOption[], choice: Choice): RequestPermissionResponse | undefined {
  const option = optionOf(options, choice);
  return option && { outcome: { outcome: "selected", optionId: option.optionId } };
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
