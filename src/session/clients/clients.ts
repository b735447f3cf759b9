// The clients of one session: any number of them come and go, and the session asks and uses them as if they were one.
import { createDeadline, orAborted } from "../../base/async/deadline.js";
import { contained } from "../../base/async/scope.js";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { World } from "../../base/ports/world.js";
import type { ChannelAnswer, ChannelRequest, McpChannel } from "../../mcp/index.js";
import { SESSION_LIMITS } from "../limits.js";
import type { ClientName, SessionPorts, ToolCaller } from "../ports.js";
import { ELICITATION, PERMISSION, PERSON, SAMPLING, TRUST } from "./question-kinds.js";
import { type AskedClient, type QuestionChange, Questions, type QuestionsOptions } from "./questions.js";

/** An `observer` follows the session: it is asked nothing, and neither its files nor its terminal are used. */
export type ClientRole = "controller" | "observer";

export interface JoinRequest {
  /** A client that joins again under its id takes the place of its earlier attachment. */
  readonly client: ClientName;
  readonly role: ClientRole;
  /** Whether it may answer questions. */
  readonly mayApprove: boolean;
  /** It answers by itself: it is asked only in turns that it started. */
  readonly isUnattended: boolean;
  /** Its files and its terminal may be used in turns of others too; unless it says otherwise. */
  readonly sharesPlace?: boolean;
  readonly ports: SessionPorts;
}

export interface Attachment {
  /** What it was asked stays open for the others. Work goes on. One that closed the session is not waited for. */
  leave(cause?: "closed" | "lost"): void;
}

/** A client that is attached, for people. */
export interface AttachedClient extends ClientName {
  readonly role: ClientRole;
  readonly isUnattended: boolean;
}

export interface SessionClientsOptions extends Pick<QuestionsOptions, "record" | "mayWait" | "turn"> {
  readonly world: QuestionsOptions["world"] & Pick<World, "monotonicMs">;
  /** A question was asked or is over. */
  onQuestion(change: QuestionChange): void;
  /** A client joined or left; the id of one that joined. */
  onClients(joined?: string): void;
}

type ClientFiles = NonNullable<SessionPorts["fs"]>;

/** The one client of a session that has no gateway. */
export const LOCAL: ClientName = { client: "local", name: "the client" };

const UNABLE = { kind: "refused", message: "the client runs no tools" } as const;

/** In the place of a time: it is not waited for. */
const CLOSED = Number.NEGATIVE_INFINITY;

const MODES = ["form", "url"] as const;

class AttachedOne implements AskedClient {
  readonly client: ClientName;
  readonly role: ClientRole;
  readonly isUnattended: boolean;
  readonly ports: SessionPorts;
  readonly isShared: boolean;
  readonly sharesPlace: boolean;
  /** Aborts when it leaves. */
  readonly gone = new AbortController();
  readonly fs: SessionPorts["fs"];
  readonly #mayApprove: boolean;

  constructor(request: JoinRequest, world: Pick<World, "after">) {
    const { client, role, mayApprove, isUnattended, sharesPlace = true, ports } = request;
    this.client = client;
    this.role = role;
    this.isUnattended = isUnattended;
    this.ports = ports;
    this.isShared = client !== LOCAL;
    this.sharesPlace = sharesPlace;
    this.fs = this.isShared ? this.#bounded(ports.fs, world) : ports.fs;
    this.#mayApprove = mayApprove;
  }

  mayAnswer(starter: ClientName | undefined): boolean {
    if (this.role !== "controller" || !this.#mayApprove) return false;
    return !this.isUnattended || starter?.client === this.client.client;
  }

  /** A turn that others wait for does not wait for this client longer than that, and not for one that is gone. */
  #bounded(fs: SessionPorts["fs"], world: Pick<World, "after">): SessionPorts["fs"] {
    const within = async <T>(signal: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> => {
      const either = AbortSignal.any([signal, this.gone.signal]);
      using deadline = createDeadline((ms, run) => world.after(ms, run), SESSION_LIMITS.clients.fileMs, either);
      return await orAborted(ask(deadline.signal), deadline.signal);
    };
    if (!fs?.readText && !fs?.writeText) return undefined;
    const none = () => Promise.reject(new Error("the client has no files"));
    const readText: ClientFiles["readText"] = (path, range, signal) =>
      within(signal, (until) => fs.readText?.(path, range, until) ?? none());
    const writeText: ClientFiles["writeText"] = (path, text, signal) =>
      within(signal, (until) => fs.writeText?.(path, text, until) ?? none());
    return defined({
      readText: fs.readText ? readText : undefined,
      writeText: fs.writeText ? writeText : undefined,
    });
  }
}

export class SessionClients {
  readonly questions: Questions;
  readonly #options: SessionClientsOptions;
  /** The earliest first. */
  readonly #clients = new Set<AttachedOne>();
  /** Those that left, by id, the latest last: what people call them, and until when they are waited for. */
  readonly #left = new Map<string, { readonly name: string; readonly untilMs: number }>();
  /** Called with each client that joins. */
  readonly #arrivals = new Set<() => void>();

  constructor(options: SessionClientsOptions) {
    this.#options = options;
    const { world, mayWait } = options;
    this.questions = new Questions({
      world,
      mayWait,
      record: (entry) => options.record(entry),
      turn: () => options.turn(),
      clients: () => this.#clients,
      onChange: (change) => options.onQuestion(change),
    });
  }

  get list(): readonly AttachedClient[] {
    return [...this.#clients].map(({ client, role, isUnattended }) => ({ ...client, role, isUnattended }));
  }

  get count(): number {
    return this.#clients.size;
  }

  /** Throws `access.limited` when there are too many. */
  join(request: JoinRequest): Attachment {
    const joined = new AttachedOne(request, this.#options.world);
    const earlier = [...this.#clients].find(({ client }) => client.client === request.client.client);
    const { max } = SESSION_LIMITS.clients;
    if (!earlier && this.#clients.size >= max) {
      throw new TenonError("access.limited", `this session has ${max} clients, which is the most it may have`, {
        hint: "Close the session in another client first.",
      });
    }
    this.#clients.add(joined);
    this.questions.joined(joined);
    // Only now: a question must not count as one that nobody can answer in between.
    if (earlier) this.#leave(earlier);
    this.#left.delete(request.client.client);
    for (const arrived of this.#arrivals) arrived();
    this.#options.onClients(request.client.client);
    return { leave: (cause = "lost") => this.#leave(joined, cause) };
  }

  /** The one client of a session without a gateway, in the place of an earlier one. */
  attach(ports: SessionPorts): Attachment {
    return this.join({ client: LOCAL, role: "controller", mayApprove: true, isUnattended: false, ports });
  }

  /** The way to a client that runs tools of its own; undefined while it is not attached. */
  caller(client: string): ToolCaller | undefined {
    const one = [...this.#clients].findLast((attached) => attached.client.client === client);
    const { ports, gone } = one ?? {};
    if (!ports?.callTool || !gone) return undefined;
    return { call: async (call, signal) => (await ports.callTool?.(call, signal)) ?? UNABLE, gone: gone.signal };
  }

  /**
   * What the session may ask and use now; undefined when nobody is there and nobody is waited for. A question that none of
   * the clients can show is not among it: with nobody there, all are.
   */
  get ports(): SessionPorts | undefined {
    const { mayWait } = this.#options;
    if (this.#clients.size === 0 && !mayWait) return undefined;
    const starter = this.#options.turn()?.by;
    const asked = [...this.#clients].filter((one) => one.mayAnswer(starter)).map(({ ports }) => ports);
    const can = (name: keyof SessionPorts) => {
      return asked.length === 0 ? mayWait : asked.some((ports) => ports[name] !== undefined);
    };
    const able = asked.filter((ports) => ports.elicit !== undefined);
    const modes = MODES.filter((mode) => able.some(({ elicitModes = MODES }) => elicitModes.includes(mode)));
    const elicitModes = able.length > 0 ? modes : undefined;
    const forwardSampling = asked.find((ports) => ports.forwardSampling)?.forwardSampling;
    return {
      ...defined({ forwardSampling }),
      ...this.#questionPorts(can),
      ...defined({ elicitModes }),
      ...this.#placePorts(starter),
    };
  }

  #questionPorts(can: (name: keyof SessionPorts) => boolean): SessionPorts {
    const { questions } = this;
    const confirmTrust: SessionPorts["confirmTrust"] = (request, signal) => questions.ask(TRUST, request, signal);
    const approveSampling: SessionPorts["approveSampling"] = (request, signal) =>
      questions.ask(SAMPLING, request, signal);
    const elicit: SessionPorts["elicit"] = (question, signal) => questions.ask(ELICITATION, question, signal);
    const askPerson: SessionPorts["askPerson"] = (question, options, signal, toolCallId) =>
      questions.ask(PERSON, { question, options, ...defined({ toolCallId }) }, signal);
    return {
      ask: (question, signal) => questions.ask(PERMISSION, question, signal),
      ...defined({
        confirmTrust: can("confirmTrust") ? confirmTrust : undefined,
        approveSampling: can("approveSampling") ? approveSampling : undefined,
        elicit: can("elicit") ? elicit : undefined,
        askPerson: can("askPerson") ? askPerson : undefined,
      }),
      elicitationCompleted: (id) => {
        for (const { ports } of this.#clients) {
          contained(this.#options.world.log, "tell that a page is done", () => ports.elicitationCompleted?.(id));
        }
      },
    };
  }

  /** Of the client whose prompt runs, if it has them; else of the earliest controller that has and lets others use them. */
  #placePorts(starter: ClientName | undefined): Pick<SessionPorts, "fs" | "terminal" | "mcpChannel"> {
    const controllers = [...this.#clients].filter(({ role }) => role === "controller");
    const own = controllers.filter(({ client }) => client.client === starter?.client);
    const inOrder = [...own, ...controllers.filter(({ sharesPlace }) => sharesPlace)];
    return defined({
      fs: inOrder.find(({ fs }) => fs?.readText !== undefined || fs?.writeText !== undefined)?.fs,
      terminal: inOrder.find(({ ports }) => ports.terminal)?.ports.terminal,
      mcpChannel: this.#options.mayWait || this.#holder(undefined) ? this.#channel : undefined,
    });
  }

  readonly #channel: McpChannel = { request: (request) => this.#reach(request) };

  /** The one that has the server: the client that gave it, else the earliest that has any. */
  #holder(client: string | undefined): AttachedOne | undefined {
    return [...this.#clients].find((one) => {
      const isMeant = client === undefined || one.client.client === client;
      return isMeant && one.role === "controller" && one.ports.mcpChannel !== undefined;
    });
  }

  /** A request that is under way ends with the attachment it went out over: nobody would hear its answer. */
  async #reach(request: ChannelRequest): Promise<ChannelAnswer> {
    const { client } = request;
    const one = this.#holder(client) ?? (await this.#arrival(client, request.signal));
    const channel = one?.ports.mcpChannel;
    if (!one || !channel) return this.#unreachable(client, false);
    const answer = await orAborted(channel.request(request), one.gone.signal).catch(() => undefined);
    if (answer && (answer.kind !== "failed" || answer.code !== undefined || !one.isShared)) return answer;
    const { world } = this.#options;
    using patience = createDeadline(
      (ms, run) => world.after(ms, run),
      SESSION_LIMITS.clients.leaveGraceMs,
      one.gone.signal,
    );
    if (answer) await orAborted(new Promise<never>(() => {}), patience.signal).catch(() => undefined);
    const message = answer?.kind === "failed" ? answer.message : `${one.client.name} is gone`;
    // It has come back meanwhile over another connection, or never left.
    return this.#holder(client) ? { kind: "failed", message } : this.#unreachable(client, true);
  }

  #unreachable(client: string | undefined, wasSent: boolean): ChannelAnswer {
    if (client === undefined) return { kind: "failed", message: "no client is attached that has such servers" };
    const { awayMs } = SESSION_LIMITS.clients;
    const { name, untilMs = 0 } = this.#left.get(client) ?? {};
    const who = `the client that has this server${name === undefined ? "" : ` (${name})`}`;
    const returnsWithinMs = Math.max(0, untilMs - this.#options.world.monotonicMs());
    const seconds = `${awayMs / 1_000} s`;
    const over = untilMs === CLOSED ? "has closed the session" : `left, and did not return within ${seconds}`;
    const words = returnsWithinMs > 0 ? `is gone; it is waited for ${seconds}` : over;
    return { kind: "away", message: `${who} ${words}`, returnsWithinMs, wasSent };
  }

  /** A session is given the servers of a client a moment before the client has joined it. */
  async #arrival(client: string | undefined, signal: AbortSignal): Promise<AttachedOne | undefined> {
    if (client === undefined || this.#left.has(client)) return undefined;
    const { world } = this.#options;
    using patience = createDeadline((ms, run) => world.after(ms, run), SESSION_LIMITS.clients.arriveMs, signal);
    let arrived = () => {};
    const joined = new Promise<AttachedOne>((resolve) => {
      arrived = () => {
        const holder = this.#holder(client);
        if (holder) resolve(holder);
      };
    });
    this.#arrivals.add(arrived);
    try {
      return await orAborted(joined, patience.signal).catch(() => undefined);
    } finally {
      this.#arrivals.delete(arrived);
    }
  }

  #remember({ client, name }: ClientName, cause: "closed" | "lost"): void {
    const [oldest] = this.#left.keys();
    if (oldest !== undefined && this.#left.size >= SESSION_LIMITS.clients.max) this.#left.delete(oldest);
    this.#left.delete(client);
    const { awayMs } = SESSION_LIMITS.clients;
    const untilMs = cause === "closed" ? CLOSED : this.#options.world.monotonicMs() + awayMs;
    this.#left.set(client, { name, untilMs });
  }

  #leave(one: AttachedOne, cause: "closed" | "lost" = "lost"): void {
    if (!this.#clients.delete(one)) return;
    if (one.isShared && !this.#holder(one.client.client)) this.#remember(one.client, cause);
    one.gone.abort(new DOMException(`${one.client.name} is gone`, "AbortError"));
    this.questions.left(one);
    this.#options.onClients();
  }
}
