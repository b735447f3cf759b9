// The prompts of a session's servers, as commands: listed when a server is ready, and again when it says that they changed.
import { Cell } from "../../../base/async/cell.js";
import { Scope } from "../../../base/async/scope.js";
import { messageOf } from "../../../base/errors.js";
import { isJsonObject } from "../../../base/json/json.js";
import { LIMITS } from "../../../base/limits.js";
import type { Timer, World } from "../../../base/ports/world.js";
import { type Link, listPrompts, type McpConnection, type McpPrompt } from "../../../mcp/index.js";
import { SESSION_LIMITS } from "../../limits.js";

/** What is needed of a connection. */
export type PromptServer = Pick<McpConnection, "spec" | "state" | "link">;

export interface PromptCommand {
  /** `server:prompt`, without white space: what is typed after the slash. */
  readonly name: string;
  readonly server: string;
  readonly prompt: McpPrompt;
  /** The live conversation; undefined while the server is not ready. */
  readonly link: () => Link | undefined;
}

interface Followed {
  readonly stop: () => void;
  /** The last link that was asked: a server that comes back is asked again. */
  link?: Link;
  prompts: readonly McpPrompt[];
  timer?: Timer;
}

const CHANGED = "notifications/prompts/list_changed";

export class ServerPrompts implements AsyncDisposable {
  readonly #world: World;
  readonly #scope: Scope;
  readonly #onChange: () => void;
  readonly #followed = new Map<PromptServer, Followed>();
  /** How many lists are being asked for. */
  readonly #asking = new Cell(0);
  #commands: readonly PromptCommand[] = [];

  /** `onChange`: the list of commands is another one. */
  constructor(world: World, onChange: () => void) {
    this.#world = world;
    this.#scope = new Scope(world.log);
    this.#onChange = onChange;
  }

  /** In the order of the servers; of two that would be typed the same way the first. */
  get commands(): readonly PromptCommand[] {
    return this.#commands;
  }

  find(name: string): PromptCommand | undefined {
    return this.#commands.find((command) => command.name === name);
  }

  /** Waits for lists that are on their way, but not for long: then what is known has to do. */
  async settled(signal: AbortSignal): Promise<void> {
    using deadline = this.#world.deadline(SESSION_LIMITS.promptListWaitMs, signal);
    await this.#asking.until((count) => count === 0, deadline.signal).catch(() => undefined);
  }

  /** Whether what stands before the colon is one of the servers. */
  hasServer(name: string): boolean {
    return [...this.#followed.keys()].some(({ spec }) => typed(spec.name) === name);
  }

  follow(servers: readonly PromptServer[]): void {
    for (const [server, followed] of this.#followed) {
      if (servers.includes(server)) continue;
      followed.stop();
      this.#followed.delete(server);
    }
    const before = [...this.#followed];
    this.#followed.clear();
    for (const server of servers) {
      const known = before.find(([one]) => one === server)?.[1];
      this.#followed.set(server, known ?? this.#start(server));
    }
    for (const server of servers) this.#look(server);
    this.#rename();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.follow([]);
    await this.#scope.close();
  }

  #start(server: PromptServer): Followed {
    const unsubscribe = server.state.subscribe(() => this.#look(server));
    const followed: Followed = {
      prompts: [],
      stop: () => {
        unsubscribe();
        followed.timer?.clear();
      },
    };
    return followed;
  }

  /** A server that is away keeps its commands: they say that it is. */
  #look(server: PromptServer): void {
    const followed = this.#followed.get(server);
    const { link } = server;
    if (!followed || !link || followed.link === link || !isJsonObject(link.capabilities["prompts"])) return;
    followed.link = link;
    link.onNotification((method) => {
      if (method === CHANGED && followed.link === link) this.#later(server, followed);
    });
    this.#list(server, followed, link);
  }

  /** A burst of notices is one: however often a server says so, it is asked once in a while. */
  #later(server: PromptServer, followed: Followed): void {
    if (followed.timer || this.#scope.isClosed) return;
    followed.timer = this.#world.after(SESSION_LIMITS.promptRelistMs, () => {
      delete followed.timer;
      const { link } = server;
      if (link && this.#followed.get(server) === followed) this.#list(server, followed, link);
    });
  }

  #list(server: PromptServer, followed: Followed, link: Link): void {
    if (this.#scope.isClosed) return;
    this.#asking.set(this.#asking.value + 1);
    this.#scope.run(`list prompts of ${server.spec.name}`, async (signal) => {
      using deadline = this.#world.deadline(LIMITS.connectTimeoutMs, signal);
      try {
        const { items } = await listPrompts(link, this.#world, deadline.signal);
        if (this.#followed.get(server) !== followed || followed.link !== link) return;
        followed.prompts = items.slice(0, SESSION_LIMITS.promptCommands);
        this.#rename();
      } catch (error) {
        if (signal.aborted) return;
        this.#world.log.warn("session.no_prompts", { server: server.spec.name, error: messageOf(error) });
      } finally {
        this.#asking.set(this.#asking.value - 1);
      }
    });
  }

  #rename(): void {
    const commands = new Map<string, PromptCommand>();
    for (const [server, { prompts }] of this.#followed) {
      for (const prompt of prompts) {
        const name = `${typed(server.spec.name)}:${typed(prompt.name)}`;
        if (commands.has(name)) continue;
        commands.set(name, { name, server: server.spec.name, prompt, link: () => server.link });
      }
    }
    const isSame =
      commands.size === this.#commands.length &&
      this.#commands.every(({ name, prompt }) => commands.get(name)?.prompt === prompt);
    if (isSame) return;
    this.#commands = [...commands.values()];
    this.#onChange();
  }
}

/** A name as it can be typed: in one word. */
function typed(name: string): string {
  return name.trim().replaceAll(/\s+/gu, "_");
}
