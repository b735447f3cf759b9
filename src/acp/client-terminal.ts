// A terminal of the client over ACP: the command runs where the person can see it.
import {
  type AgentContext,
  type CreateTerminalRequest,
  methods,
  type TerminalOutputResponse,
  type WaitForTerminalExitRequest,
} from "@agentclientprotocol/sdk";
import { messageOf } from "../base/errors.js";
import type { World } from "../base/ports/world.js";
import type { SessionPorts } from "../session/index.js";
import { ACP_LIMITS } from "./limits.js";

type Terminal = NonNullable<SessionPorts["terminal"]>;
type Running = Awaited<ReturnType<Terminal["run"]>>;
type Exit = Awaited<Running["exited"]>;

export function clientTerminal(client: AgentContext, sessionId: string, world: Pick<World, "after">): Terminal {
  return {
    run: async ({ command, args, env, cwd, maxOutputBytes }, _onOutput, signal) => {
      signal.throwIfAborted();
      const request: CreateTerminalRequest = {
        sessionId,
        command,
        args: [...args],
        env: Object.entries(env).map(([name, value]) => ({ name, value })),
        cwd,
        outputByteLimit: maxOutputBytes,
      };
      const { terminalId } = await client.request(methods.client.terminal.create, request);
      const running = new ClientCommand(client, { sessionId, terminalId }, world);
      if (!signal.aborted) return running;
      await running.end();
      await running.release();
      throw signal.reason;
    },
  };
}

/** A client that neither ends a command nor says so must not hold up the turn, nor the end of the session. */
const SILENT: Exit = { kind: "cut_off", reason: "the client was asked to end it, and has not said that it did" };

interface Place {
  readonly sessionId: string;
  readonly terminalId: string;
}

class ClientCommand implements Running {
  readonly terminalId: string;
  readonly exited: Promise<Exit>;
  readonly #client: AgentContext;
  readonly #place: Place;
  readonly #world: Pick<World, "after">;
  /** Resolves when the client was asked to end it and has let the time for that pass. */
  readonly #givenUp: Promise<undefined>;
  #giveUp: () => void = () => undefined;
  #isEnded = false;
  #isReleased = false;

  constructor(client: AgentContext, place: Place, world: Pick<World, "after">) {
    this.#client = client;
    this.#place = place;
    this.#world = world;
    this.terminalId = place.terminalId;
    this.#givenUp = new Promise((resolve) => {
      this.#giveUp = () => resolve(undefined);
    });
    this.exited = Promise.race([this.#wait(), this.#givenUp.then(() => SILENT)]);
  }

  /** The client gives the whole output each time, and may have dropped its beginning. */
  async output(sinceChar: number): Promise<{ text: string; nextChar: number }> {
    const read = await Promise.race([this.#read(), this.#givenUp]);
    if (!read) return { text: "[the client does not say what it printed]", nextChar: sinceChar };
    const { output, truncated } = read;
    const nextChar = output.length;
    if (sinceChar === 0) return { text: truncated ? `[the beginning is not kept]\n${output}` : output, nextChar };
    if (truncated) return { text: `[some output may be missing or repeated here]\n${output}`, nextChar };
    return { text: output.slice(sinceChar), nextChar };
  }

  async end(): Promise<void> {
    if (this.#isEnded || this.#isReleased) return;
    this.#isEnded = true;
    const timer = this.#world.after(ACP_LIMITS.clientTerminalEndMs, this.#giveUp);
    const killed = this.#client.request(methods.client.terminal.kill, this.#place).catch(() => undefined); // gone already: fine
    const ended = Promise.race([this.exited, this.#givenUp]).finally(() => timer.clear());
    await Promise.race([killed, ended]);
  }

  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const released = this.#client.request(methods.client.terminal.release, this.#place).catch(() => undefined);
    await Promise.race([released, this.#givenUp]);
  }

  async #read(): Promise<TerminalOutputResponse> {
    return await this.#client.request(methods.client.terminal.output, this.#place);
  }

  async #wait(): Promise<Exit> {
    try {
      const request: WaitForTerminalExitRequest = { ...this.#place };
      const { exitCode, signal } = await this.#client.request(methods.client.terminal.waitForExit, request);
      return { kind: "exited", code: exitCode ?? null, signal: signal ?? null };
    } catch (error) {
      return { kind: "cut_off", reason: `the client's terminal failed: ${messageOf(error)}` };
    }
  }
}
