// Puts a chat together: the terminal of its kind, the view, who answers questions, and the ACP client between them and the agent.
import { type AgentApp, client, methods, type Stream } from "@agentclientprotocol/sdk";
import { handled } from "../../base/async/scope.js";
import { defined } from "../../base/json/defined.js";
import { sharedLog } from "../../base/ports/world.js";
import type { LiveTerminal } from "../terminal/live/live-terminal.js";
import { Screen } from "../terminal/screen.js";
import { type Clock, createPalette, isTerminal, systemClock } from "../terminal/stream.js";
import { PermissionPrompter } from "./approvals.js";
import { ElicitationPrompter } from "./elicitation.js";
import { Interrupts } from "./interrupts.js";
import { LineReader } from "./line-reader.js";
import { LiveView } from "./live-view.js";
import { type NoticeLevel, Notifier } from "./notify.js";
import { type PictureProtocol, Pictures } from "./pictures.js";
import { PlainView } from "./plain-view.js";
import { ChatRecord } from "./record.js";
import { ChatSession, type JoinOptions } from "./session.js";
import { SharedTurns } from "./shared.js";
import { ChatStatus } from "./status.js";
import { type ChatTerminal, QuestionQueue } from "./terminal.js";
import { type ChatView, JsonView } from "./view.js";

export interface ChatOptions {
  /** The agent itself, or a stream to it. */
  readonly agent: AgentApp | Stream;
  /** A session of a gateway is joined, instead of a new one opened. */
  readonly join?: Pick<JoinOptions, "choose" | "isWatching">;
  /** An earlier session is gone on with: that of the id, the last one of the folder, or one that the person chooses. */
  readonly resume?: { readonly id: string } | "last" | "choose";
  /** Absolute. */
  readonly cwd: string;
  /** Servers that may take long to start: a prompt that cannot be repeated waits for them. */
  readonly slowServers?: readonly string[];
  /** Answer this once and end, instead of reading prompts from the input. */
  readonly prompt?: string;
  /** The first prompt of a chat that goes on after it. */
  readonly first?: string;
  /** Print the protocol's updates as NDJSON instead of text for people. */
  readonly json: boolean;
  /** Approve every tool call, but never servers or settings of a project's files. */
  readonly yes: boolean;
  /** A person sits at the input and can be asked. */
  readonly interactive: boolean;
  /** The terminal that is drawn on already; without it the chat is plain lines. */
  readonly live?: LiveTerminal;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly errorOutput: NodeJS.WritableStream;
  readonly color: boolean;
  /** Calls the listener at each SIGINT; returns the way to stop. */
  readonly onInterrupt: (listener: () => void) => () => void;
  readonly clock?: Clock;
  readonly env?: NodeJS.ProcessEnv;
  /** Where pictures are kept; how the terminal draws them. */
  readonly pictures?: { readonly folder: string; readonly protocol: PictureProtocol };
  readonly notices?: () => NoticeLevel;
  /** Writes a conversation of this machine into a file; its path. */
  readonly exportSession?: (id: string, file: string) => Promise<string>;
}

/** Everything of one chat. */
export interface Parts extends ChatTerminal {
  readonly options: ChatOptions;
  readonly interrupts: Interrupts;
  readonly view: ChatView;
  readonly permission: PermissionPrompter;
  readonly elicitation: ElicitationPrompter;
  readonly session: ChatSession;
  readonly record: ChatRecord;
  readonly pictures: Pictures;
  readonly notifier: Notifier | undefined;
  /** At a live terminal. */
  readonly liveView: LiveView | undefined;
  /** In plain mode. */
  readonly plainReader: LineReader | undefined;
}

export function composeParts(options: ChatOptions): Parts {
  const { json, yes, interactive, live, errorOutput, env = {} } = options;
  const clock = options.clock ?? systemClock;
  const interrupts = new Interrupts(clock);
  const shared = options.join && new SharedTurns();
  const record = new ChatRecord(new ChatStatus(options.cwd, env["HOME"]));
  const consent = yes ? "approve" : interactive ? "ask" : "deny";
  const pictures = new Pictures(options.pictures?.folder ?? "", options.pictures?.protocol ?? "none");
  const notifier = live && new Notifier(live, options.notices ?? (() => "off"));
  const base = { clock, interrupts, record, queue: new QuestionQueue(), ...defined({ shared, notifier }) };
  const shown = live && !json ? liveParts(live, { ...base, pictures }) : plainParts(options, { ...base, pictures });
  const isLeaving = shared && (() => interrupts.quit.aborted || shown.terminal.reader.hasEnded);
  const terminal: ChatTerminal = { ...shown.terminal, ...defined({ isLeaving }) };
  const permission = new PermissionPrompter(terminal, { consent, isAttended: interactive });
  const elicitation = new ElicitationPrompter(terminal);
  const view: ChatView = json
    ? new JsonView(options.output, errorOutput, { record, ...defined({ shared }) })
    : shown.view;
  const liveView = view instanceof LiveView ? view : undefined;
  permission.onDiffShown = (id) => liveView?.diffShown(id);
  if (liveView) permission.onLongCommand = (lines) => liveView.transcript.add(["? the whole command:", ...lines]);
  const app = view
    .listen(client({ name: "tenon-chat" }))
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
      if (consent === "ask") notifier?.tell(`asks: ${params.toolCall.title ?? "may it go on?"}`);
      const answer = await permission.answer(params, signal);
      if (shared && !signal.aborted) interrupts.disarm();
      return answer;
    })
    .onRequest(methods.client.elicitation.create, async ({ params, signal }) => {
      notifier?.tell(`asks: ${params.message}`);
      return await elicitation.answer(params, signal);
    })
    .onNotification(methods.client.elicitation.complete, () => {}); // the person knows
  const session = new ChatSession(app, options.agent, { canBeAsked: interactive });
  if (liveView) liveView.onServer = countingServers(session, record, () => live?.draw());
  return {
    ...terminal,
    options,
    interrupts,
    view,
    permission,
    elicitation,
    session,
    record,
    notifier,
    pictures,
    liveView,
    plainReader: shown.plainReader,
  };
}

/** Asks where all servers stand; once more when there was news in the meantime. */
function countingServers(session: ChatSession, { status }: ChatRecord, draw: () => void): () => void {
  let isAsking = false;
  let hasNews = false;
  const ask = async () => {
    do {
      hasNews = false;
      const { id } = session;
      // An agent at the other end of a gateway may be gone, or know no such question.
      const all = await session.status().catch(() => undefined);
      if (all && session.id === id) status.servers(all);
    } while (hasNews);
    isAsking = false;
    draw();
  };
  return () => {
    hasNews = true;
    if (isAsking) return;
    isAsking = true;
    handled(ask(), sharedLog(), "ask where the servers stand");
  };
}

type Base = Pick<ChatTerminal, "clock" | "queue" | "shared"> & {
  readonly record: ChatRecord;
  readonly notifier?: Notifier;
};

function liveParts(
  live: LiveTerminal,
  { pictures, record, notifier, ...base }: Base & { readonly pictures: Pictures },
) {
  const { clock, shared } = base;
  const view = new LiveView({
    ...{ terminal: live, clock, record, pictures, ...defined({ shared }) },
    onTitle: (title) => notifier?.title(title),
  });
  const terminal: ChatTerminal = {
    ...base,
    palette: live.palette,
    screen: {
      get columns() {
        return live.columns;
      },
      line: (styled) => {
        view.transcript.add([styled]);
        live.print(styled);
      },
      hold: () => {
        view.asking();
        return () => {};
      },
    },
    reader: {
      get hasEnded() {
        return live.hasEnded;
      },
      question: (prompt, given) => live.question(prompt, given),
      choose: (menu, { signal }) => live.choose(menu, signal),
      interject: (write) => write(),
    },
  };
  return { terminal, view, plainReader: undefined };
}

function plainParts(options: ChatOptions, { record, pictures, ...base }: Base & { readonly pictures: Pictures }) {
  const { json, interactive, prompt, output, errorOutput } = options;
  const isDialogue = interactive && prompt === undefined;
  const main = json ? errorOutput : output;
  const side = isDialogue ? main : errorOutput;
  const palette = createPalette(options.color && (side === output || isTerminal(side)));
  const screen = new Screen({ main, side });
  const { clock, shared } = base;
  const reader = new LineReader({ input: options.input, output: side, clock });
  const terminal: ChatTerminal = { ...base, screen, palette, reader };
  const view = new PlainView({
    screen,
    reader,
    clock,
    record,
    pictures,
    isTalkative: isDialogue,
    ...defined({ shared }),
  });
  return { terminal, view, plainReader: reader };
}
