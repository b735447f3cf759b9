// A session as one client of a gateway has it: what the client does is done in its name, within its role.

import type { SessionHandle } from "../../acp/index.js";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import {
  type AskedQuestion,
  type Attachment,
  type ClientName,
  type ClientRole,
  type Followed,
  type GivenServers,
  isLooser,
  type RejectedServer,
  remoteProblem,
  type SenderRights,
} from "../../session/index.js";
import { unanswered } from "./ending.js";
import type { Member, OpenSession, SharedSessions } from "./shared-sessions.js";

/** As the gateway knows a client. */
export interface JoinedClient extends ClientName {
  readonly role: ClientRole;
  readonly isUnattended: boolean;
  readonly may: SenderRights;
  /** Its files and its terminal are those of this machine, and it works here: turns of others may use them. */
  readonly sharesPlace: boolean;
  /** Ends its connection, so that it connects again. */
  readonly reconnect: (reason?: string) => void;
}

/**
 * The machine of a gateway is not that of its clients: what a client may start or reach there is not for it to say. Servers of
 * its own are reached through this client only: another one may use the same ids.
 */
export function allowedServers<T extends Partial<GivenServers>>(
  given: T,
  { client, may: { isLocal, onDenied } }: Pick<JoinedClient, "client" | "may">,
): T {
  const refused: RejectedServer[] = [];
  const servers = (given.servers ?? []).flatMap((spec) => {
    if (spec.kind === "acp") return { ...spec, client };
    const reason = isLocal ? undefined : remoteProblem(spec);
    if (reason === undefined) return "url" in spec && !isLocal ? { ...spec, mustBePublic: true } : spec;
    refused.push({ name: spec.name, reason, origin: "client" });
    return [];
  });
  if (refused.length > 0) onDenied?.("mcpServers");
  return { ...given, servers, ...defined({ rejected: isLocal ? undefined : [...(given.rejected ?? []), ...refused] }) };
}

/** Whole for those who may answer them. */
export function seenQuestions(open: readonly AskedQuestion[], mayAnswer: boolean): readonly AskedQuestion[] {
  return mayAnswer ? open : open.map((question) => ({ ...question, shown: question.summary }));
}

/** Without what only those who may answer questions are shown. */
async function* withoutSecrets(items: AsyncIterable<Followed>): AsyncGenerator<Followed, void, void> {
  for await (const item of items) {
    const isSecret = item.kind === "moment" && item.event.kind === "turn" && item.event.isForApprovers === true;
    if (!isSecret) yield item;
  }
}

type Handle<Name extends keyof SessionHandle> = SessionHandle[Name];

export class JoinedSession implements SessionHandle, Member {
  readonly open: OpenSession;
  readonly #sessions: SharedSessions;
  readonly #by: JoinedClient;
  #attachment: Attachment | undefined;

  constructor(sessions: SharedSessions, open: OpenSession, by: JoinedClient) {
    this.open = open;
    this.#sessions = sessions;
    this.#by = by;
  }

  get client(): string {
    return this.#by.client;
  }

  reconnect(reason?: string): void {
    this.#by.reconnect(reason);
  }

  get id(): string {
    return this.open.id;
  }

  get log(): Handle<"log"> {
    const { log } = this.open.session;
    if (this.#mayAnswer) return log;
    return {
      get lastSeq() {
        return log.lastSeq;
      },
      follow: (after, signal) => withoutSecrets(log.follow(after, signal)),
    };
  }

  get settings(): Handle<"settings"> {
    return this.open.session.settings;
  }

  get servers(): Handle<"servers"> {
    return this.open.session.servers;
  }

  /** Whoever may only look causes no cost: a search by meaning asks a provider. */
  get tools(): Handle<"tools"> {
    const { tools } = this.open.session;
    if (this.#by.role === "controller") return tools;
    return { ...tools, search: (request, signal) => tools.search({ ...request, isFree: true }, signal) };
  }

  get usage(): Handle<"usage"> {
    return this.open.session.usage;
  }

  get turnCount(): number {
    return this.open.session.turnCount;
  }

  get configured(): Promise<void> {
    return this.open.session.configured;
  }

  get current(): Handle<"current"> {
    return this.open.session.current;
  }

  get isAttached(): boolean {
    return this.#attachment !== undefined;
  }

  /** The one who answers is this client, whatever is given. */
  get questions(): Handle<"questions"> {
    const { questions } = this.open.session;
    const { client, name } = this.#by;
    return {
      open: seenQuestions(questions.open, this.#mayAnswer),
      answer: (id, answer) => {
        this.#mustControl("answer questions");
        return questions.answer(id, answer, { client, name });
      },
    };
  }

  view(): ReturnType<Handle<"view">> {
    const view = this.open.session.view();
    return { ...view, questions: seenQuestions(view.questions, this.#mayAnswer) };
  }

  events(): ReturnType<Handle<"events">> {
    return this.open.session.events();
  }

  attach(ports: Parameters<Handle<"attach">>[0]): () => void {
    const { client, name, role, may, isUnattended, sharesPlace } = this.#by;
    const about = { role, mayApprove: may.approve, isUnattended, sharesPlace };
    this.#attachment?.leave();
    const attachment = this.open.session.join({ client: { client, name }, ...about, ports });
    this.#attachment = attachment;
    return () => attachment.leave();
  }

  /** The turn goes on when the client is gone, and in the next gateway when this one stops: then it is answered there. */
  async prompt(...[content, signal, about]: Parameters<Handle<"prompt">>): ReturnType<Handle<"prompt">> {
    this.#mustControl("send prompts");
    const { client, name, may } = this.#by;
    const { promptId } = about ?? {};
    const by = { ...defined({ promptId }), by: { client, name }, may };
    return await this.#unlessLeft(() => this.open.session.prompt(content, signal, by));
  }

  /** What is left to the next owner of the session is answered there: the connection ends, and the client asks again. */
  async #unlessLeft<T>(run: () => Promise<T>): Promise<T> {
    if (this.#sessions.isDraining) return await unanswered();
    const isLost = () => this.open.session.owned.lost.aborted;
    try {
      const answer = await run();
      return isLost() ? await unanswered() : answer;
    } catch (error) {
      const isClosed = error instanceof TenonError && error.code === "session.closed";
      if (isLost() || (this.#sessions.isDraining && isClosed)) return await unanswered();
      throw error;
    }
  }

  set(...[name, value]: Parameters<Handle<"set">>): void {
    this.#mustControl("change settings");
    if (!this.#by.may.approve && isLooser(this.settings, name, value)) {
      this.#by.may.onDenied?.(`set ${name}`);
      const words = `changing the ${name} to ${JSON.stringify(value)} needs the scope "approve": it is looser than the one now`;
      throw new TenonError("access.denied", words, { hint: "Use a token with it, or choose a stricter one." });
    }
    this.open.session.set(name, value);
  }

  async restartServer(name: string): ReturnType<Handle<"restartServer">> {
    this.#mustControl("restart servers");
    return await this.open.session.restartServer(name);
  }

  async loginPage(name: string): ReturnType<Handle<"loginPage">> {
    this.#mustControl("log in to servers");
    if (!this.#by.may.approve) {
      this.#by.may.onDenied?.("_tenon/mcp/login");
      const words = 'the address of a log-in needs the scope "approve": whoever follows it can take the log-in over';
      throw new TenonError("access.denied", words, { hint: "Use a token with it." });
    }
    return await this.open.session.loginPage(name);
  }

  /** In the name of this client, whatever is given; goes on when the client is gone. */
  async callTool(...[call, signal]: Parameters<Handle<"callTool">>): ReturnType<Handle<"callTool">> {
    this.#mustControl("call tools");
    const { client, name, may } = this.#by;
    return await this.#unlessLeft(() => this.open.session.callTool(call, signal, { by: { client, name }, may }));
  }

  async setServers(given: Parameters<Handle<"setServers">>[0]): Promise<void> {
    this.#mustControl("change servers");
    await this.open.servers.replace(allowedServers(given, this.#by), this.client);
  }

  /** Whatever its role is: its token says whether it may. The tools are this client's. */
  setTools(request: Parameters<Handle<"setTools">>[0]): ReturnType<Handle<"setTools">> {
    const { client, name } = this.#by;
    const answer = this.open.session.setTools(request, { client, name });
    const { id: session, account } = this.open;
    this.#sessions.audit.write("tools.set", { session, account, client, name, key: request.key });
    return answer;
  }

  cancel(): void {
    if (this.#by.role === "controller") this.open.session.cancel(this.#by);
    else this.#by.may.onDenied?.("session/cancel");
  }

  notice(...about: Parameters<Handle<"notice">>): void {
    this.open.session.notice(...about);
  }

  /** Work goes on. */
  leave(cause: "closed" | "lost" = "lost"): void {
    if (cause === "closed") this.open.session.dropTools(this.#by);
    this.#attachment?.leave(cause);
    this.#attachment = undefined;
    this.#sessions.exit(this.open, this);
  }

  get #mayAnswer(): boolean {
    return this.#by.role === "controller" && this.#by.may.approve;
  }

  #mustControl(what: string): void {
    if (this.#by.role === "controller") return;
    this.#by.may.onDenied?.(`observer: ${what}`);
    throw new TenonError("access.denied", `an observer may not ${what}`, {
      hint: 'Join the session with the role "controller".',
    });
  }
}
